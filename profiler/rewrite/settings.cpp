#include "profiler/rewrite/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>

namespace tapelens::rewrite {
namespace {

std::string variable(const char* name) {
  const char* text = getenv(name);
  return text != nullptr ? text : "";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<PlannedSite> read_plan(const std::string& path) {
  std::vector<PlannedSite> plan;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> parts = split(line, '\t');
    parts.resize(6);
    PlannedSite site{parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]};
    if (const size_t colon = site.file.rfind(':'); colon != std::string::npos) {
      std::from_chars(site.file.data() + colon + 1, site.file.data() + site.file.size(), site.line);
      site.file.resize(colon);
    }
    if (!site.rewrite.empty()) plan.push_back(std::move(site));
  }
  return plan;
}

Settings read() {
  Settings made;
  made.on = !variable("TAPELENS_REWRITE").empty();
  if (!made.on) return made;
  made.poison = !variable("TAPELENS_POISON").empty();
  const std::string apply = variable("TAPELENS_APPLY");
  made.highest = apply == "bitwise" ? 2 : apply == "lossless" ? 1 : -1;
  made.allowed = split(variable("TAPELENS_ALLOW"), ',');
  if (const std::string plan = variable("TAPELENS_PLAN"); !plan.empty()) made.plan = read_plan(plan);
  if (const std::string bytes = variable("TAPELENS_REWRITE_MIN_BYTES"); !bytes.empty()) {
    made.min_bytes = strtoull(bytes.c_str(), nullptr, 10);
  }
  if (const std::string budget = variable("TAPELENS_RECOMPUTE_BUDGET"); !budget.empty()) {
    made.recompute_budget = strtod(budget.c_str(), nullptr);
  }
  made.plugins = split(variable("TAPELENS_REWRITE_PLUGINS"), ':');
  made.tally = variable("TAPELENS_TALLY");
  return made;
}

}  // namespace

const Settings& settings() {
  static const auto* made = new Settings(read());
  return *made;
}

bool wants(std::string_view rewrite, Level level) {
  const Settings& s = settings();
  return s.on && (static_cast<int>(level) <= s.highest || std::ranges::find(s.allowed, rewrite) != s.allowed.end() ||
                  std::ranges::any_of(s.plan, [&](const PlannedSite& site) { return site.rewrite == rewrite; }));
}

}  // namespace tapelens::rewrite
