#include "cli/applying.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/explanation.h"
#include "cli/options.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

std::string all_of(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

// Reads "5%" and "0.05" as the same share.
double read_share(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  const double share = unit == "%" ? number / 100 : number;
  if (error != std::errc() || (!unit.empty() && unit != "%") || !(share >= 0 && share <= 1)) {
    throw CLI::ValidationError("--recompute-budget", "'" + text + "' is not a share of a step, like 5% or 0.05");
  }
  return share;
}

void check_id(const std::string& id) {
  const std::vector<std::string>& known = known_rewrites();
  if (std::ranges::find(known, id) != known.end()) return;
  const auto meant = nearest(id, known);
  throw CLI::ValidationError("--allow", "unknown rewrite '" + id + "': the rewrites are " + all_of(known) +
                                            (meant ? "; did you mean '" + *meant + "'?" : ""));
}

void set_level(const std::string& level, policy::RewriteSettings& applying) {
  if (!applying.level.empty() && applying.level != level) {
    throw CLI::ValidationError(
        "--apply", applying.level + " and " + level + " were both given: each level contains the one before it");
  }
  applying.level = level;
}

void read_plan_into(const std::string& path, const std::vector<std::string>& known, policy::RewriteSettings& applying) {
  auto plan = read_plan(path, known);
  if (!plan) throw CLI::ValidationError("--apply", plan.error().message);
  if (!plan->level.empty()) set_level(plan->level, applying);
  if (plan->budget) applying.budget = plan->budget;
  if (plan->host_memory) applying.host_memory = plan->host_memory;
  std::ranges::move(plan->allowed, std::back_inserter(applying.allowed));
  std::ranges::move(plan->sites, std::back_inserter(applying.sites));
}

std::vector<std::string> level_names() {
  std::vector<std::string> names;
  for (const policy::Preset& group : policy::kPresets) names.emplace_back(group.name);
  return names;
}

void read_apply(const std::string& text, const std::vector<std::string>& known, policy::RewriteSettings& applying) {
  if (policy::highest_level(text) != policy::kNone) {
    set_level(text, applying);
    return;
  }
  std::error_code error;
  if (!fs::exists(text, error) && text.find_first_of("./") == std::string::npos) {
    const auto meant = nearest(text, level_names());
    throw CLI::ValidationError("--apply", "'" + text + "' is neither " + joined(level_names(), ", ") + " nor a plan" +
                                              (meant ? "; did you mean '" + *meant + "'?" : ""));
  }
  read_plan_into(text, known, applying);
}

std::string plugin_path(const std::string& text) {
  std::error_code error;
  const fs::path path = fs::absolute(text, error);
  if (access(path.c_str(), R_OK) != 0) {
    throw CLI::ValidationError("--rewrite-plugin", text + ": cannot be read: " + std::strerror(errno));
  }
  if (path.string().find(':') != std::string::npos) {
    throw CLI::ValidationError("--rewrite-plugin", text + ": its path has a colon, which separates several");
  }
  return path.string();
}

}  // namespace

const std::vector<std::string>& known_rewrites() {
  static const std::vector<std::string> ids = [] {
    std::vector<std::string> made;
    for (const policy::RewriteInfo& entry : policy::catalog()) made.emplace_back(entry.id);
    return made;
  }();
  return ids;
}

void add_choosing_options(CLI::App& sub, ApplyingOptions& options) {
  sub.add_option("--apply", options.apply,
                 "Apply rewrites: all of a level, or those at the sites of a plan; may be given more than once")
      ->type_name("{" + joined(level_names(), ",") + "}|PLAN");
  sub.add_option("--allow", options.allow, "Also apply this rewrite at all sites; may be given more than once")
      ->type_name("REWRITE");
  sub.add_option("--recompute-budget", options.budget, "Share of a step's estimated cost that recomputation may take")
      ->type_name("SHARE")
      ->default_str("5%; 34% with --apply recompute");
  sub.add_option("--host-memory", options.host_memory, "Limit of host memory for offloaded saves")
      ->type_name("SIZE")
      ->default_str("half of the free memory");
  sub.add_option("--rewrite-min-bytes", options.min_bytes, "Do not rewrite smaller storages")
      ->type_name("SIZE")
      ->capture_default_str();
  for (const char* repeated : {"--apply", "--allow"}) repeatable(sub.get_option(repeated));
}

void add_applying_options(CLI::App& sub, ApplyingOptions& options) {
  add_choosing_options(sub, options);
  sub.add_flag("--poison", options.poison, "Fill dropped tensors with NaN, to expose wrong reads");
  repeatable(sub.add_option("--rewrite-plugin", options.plugins,
                            "Load further rewrites from this shared library; may be given more than once")
                 ->type_name("PATH"));
}

policy::RewriteSettings read_applying(const CLI::App& sub, const ApplyingOptions& options) {
  policy::RewriteSettings applying;
  applying.on = !options.apply.empty() || !options.allow.empty();
  const CLI::Option* fit = sub.get_option_no_throw("--fit");
  const bool plans = fit != nullptr && fit->count() > 0;
  for (const char* dependent :
       {"--poison", "--recompute-budget", "--host-memory", "--rewrite-min-bytes", "--rewrite-plugin"}) {
    const CLI::Option* option = sub.get_option_no_throw(dependent);
    if (plans && std::string_view(dependent) == "--host-memory") continue;
    if (!applying.on && option != nullptr && option->count() > 0) {
      throw CLI::ValidationError(dependent, "nothing is rewritten without --apply or --allow");
    }
  }
  for (const std::string& plugin : options.plugins) applying.plugins.push_back(plugin_path(plugin));
  // A shared library may add rewrites of any name, which only the probe can check.
  const bool any = !applying.plugins.empty();
  for (const std::string& id : options.allow) {
    if (!any) check_id(id);
    applying.allowed.push_back(id);
  }
  const std::vector<std::string> known = any ? std::vector<std::string>() : known_rewrites();
  for (const std::string& text : options.apply) read_apply(text, known, applying);
  const auto bytes = parse_bytes(options.min_bytes);
  if (!bytes) {
    throw CLI::ValidationError("--rewrite-min-bytes", "'" + options.min_bytes + "' is not a size, like 64KiB");
  }
  applying.min_bytes = *bytes;
  if (!options.host_memory.empty()) {
    applying.host_memory = parse_bytes(options.host_memory);
    if (!applying.host_memory)
      throw CLI::ValidationError("--host-memory", "'" + options.host_memory + "' is not a size, like 32GiB");
  }
  if (!options.budget.empty()) applying.budget = read_share(options.budget);
  applying.poison = options.poison;
  return applying;
}

Rewriting::Rewriting(policy::RewriteSettings settings) : environment_(policy::environment_of({}, "")) {
  if (!settings.on) return;
  if (!folder_.emplace()) {
    reason_ = folder_->reason();
    return;
  }
  write(std::move(settings));
}

void Rewriting::write(policy::RewriteSettings settings) {
  const std::string plan = folder_->path() + "/plan";
  if (!settings.sites.empty()) {
    std::ofstream file(plan);
    if (!(file << policy::flat(settings.sites)).flush()) {
      reason_ = plan + ": " + std::strerror(errno);
      return;
    }
  }
  settings.tally = folder_->path() + "/tally";
  std::error_code error;
  if (fs::create_directory(settings.tally, error); error) {
    reason_ = settings.tally + ": " + error.message();
    return;
  }
  make_explanation(settings.tally);
  environment_ = policy::environment_of(settings, plan);
}

TallySums Rewriting::tally() const {
  return folder_ && *folder_ ? read_tally(folder_->path() + "/tally") : TallySums();
}

}  // namespace tapelens::cli
