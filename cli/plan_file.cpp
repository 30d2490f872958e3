#include "cli/plan_file.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/text/json.h"
#include "cli/text.h"
#include "policy/level.h"
#include "trace/regular_file.h"

namespace tapelens::cli {
namespace {

using Json = nlohmann::json;
using policy::Site;

constexpr uint64_t kMostPlanBytes = 64 << 20;

// Returns the error in one sentence; empty if none.
std::string take_text(const Json& site, const char* key, std::string& text) {
  const auto at = site.find(key);
  if (at == site.end() || at->is_null()) return {};
  if (!at->is_string()) return std::string("'") + key + "' is not a string";
  text = at->get<std::string>();
  // The probe reads one site a line, separated by tabs.
  if (text.find_first_of("\t\n\r") != std::string::npos) return std::string("'") + key + "' has a tab or a line break";
  return {};
}

// Splits "train.py:27 Net.forward" into file and line. A file's name may contain spaces and colons.
bool take_source(std::string_view source, Site& site) {
  for (size_t colon = source.find(':'); colon != std::string_view::npos; colon = source.find(':', colon + 1)) {
    const char* const begin = source.data() + colon + 1;
    const auto [end, error] = std::from_chars(begin, source.data() + source.size(), site.line);
    if (error != std::errc() || (end != source.data() + source.size() && *end != ' ')) continue;
    const std::string_view file = source.substr(0, colon);
    site.file = file.substr(file.rfind('/') + 1);
    return !site.file.empty();
  }
  return false;
}

std::string take_site(const Json& json, Site& site, const std::vector<std::string>& known) {
  if (!json.is_object()) return "it is not an object";
  std::string source;
  for (const auto& [key, text] :
       {std::pair{"finding", &site.finding}, std::pair{"rewrite", &site.rewrite}, std::pair{"module", &site.module},
        std::pair{"operator", &site.op}, std::pair{"node", &site.node}, std::pair{"field", &site.field},
        std::pair{"source", &source}}) {
    if (std::string wrong = take_text(json, key, *text); !wrong.empty()) return wrong;
  }
  if (site.rewrite.empty()) return "'rewrite' is missing";
  if (!known.empty() && std::ranges::find(known, site.rewrite) == known.end()) {
    const auto meant = nearest(site.rewrite, known);
    return "unknown rewrite '" + site.rewrite + "'" + (meant ? "; did you mean '" + *meant + "'?" : "");
  }
  if (!source.empty() && !take_source(source, site)) {
    return "'source' is '" + source + "', not FILE:LINE FUNCTION";
  }
  return {};
}

// "site 3 (unneeded-save at train.py:27)"
std::string name_of(size_t number, const Site& site) {
  std::string name = "site " + std::to_string(number);
  if (!site.finding.empty()) name += " (finding " + site.finding + ")";
  return name;
}

// The level and the budget. Returns the error in one sentence; empty if none.
std::string take_level(const Json& plan, policy::RewriteSelection& selection) {
  if (std::string wrong = take_text(plan, "level", selection.level); !wrong.empty()) return wrong;
  if (!selection.level.empty() && policy::highest_level(selection.level) == policy::kNone) {
    return "unknown level '" + selection.level + "'";
  }
  const auto budget = plan.find("recompute_budget");
  if (budget == plan.end() || budget->is_null()) return {};
  if (!budget->is_number() || !(*budget >= 0 && *budget <= 1)) return "'recompute_budget' is not a share from 0 to 1";
  selection.budget = budget->get<double>();
  return {};
}

// The limit of the memory of the host. Returns the error in one sentence; empty if none.
std::string take_host_memory(const Json& plan, policy::RewriteSelection& selection) {
  const auto bytes = plan.find("host_memory_bytes");
  if (bytes == plan.end() || bytes->is_null()) return {};
  if (!bytes->is_number_unsigned()) return "'host_memory_bytes' is not a number of bytes";
  selection.host_memory = bytes->get<uint64_t>();
  return {};
}

// The rewrites that are allowed at all sites. Returns the error in one sentence; empty if none.
std::string take_allowed(const Json& plan, const std::vector<std::string>& known, policy::RewriteSelection& selection) {
  const auto allow = plan.find("allow");
  if (allow == plan.end() || allow->is_null()) return {};
  if (!allow->is_array()) return "'allow' is not a list";
  for (const Json& json : *allow) {
    if (!json.is_string()) return "an entry of 'allow' is not a string";
    auto id = json.get<std::string>();
    // The probe reads them separated by commas.
    if (id.empty() || id.find_first_of(",\t\n\r") != std::string::npos ||
        (!known.empty() && std::ranges::find(known, id) == known.end()))
      return "unknown rewrite '" + id + "'";
    selection.allowed.push_back(std::move(id));
  }
  return {};
}

// The error in one sentence; empty if none.
std::string take_sites(const Json& sites, const std::vector<std::string>& known, policy::RewriteSelection& selection) {
  for (size_t i = 0; i < sites.size(); ++i) {
    Site site;
    const Json& json = sites[i];
    if (const std::string wrong = take_site(json, site, known); !wrong.empty()) {
      return name_of(i + 1, site) + ": " + wrong;
    }
    const auto enabled = json.find("enabled");
    if (enabled != json.end() && !enabled->is_boolean()) {
      return name_of(i + 1, site) + ": 'enabled' is neither true nor false";
    }
    if (enabled == json.end() || enabled->get<bool>()) selection.sites.push_back(std::move(site));
  }
  return {};
}

constexpr const char* kWriteOne =
    ": write one with tapelens advise --write-plan, "
    "or with tapelens run --fit --write-plan";

// The error in one sentence; empty if it is a plan of a known version.
std::string check_version(const Json& plan) {
  const auto version = plan.is_object() ? plan.find("tapelens_plan") : plan.end();
  if (version == plan.end() || !version->is_number_integer()) {
    return std::string("it is not a plan: 'tapelens_plan' is missing") + kWriteOne;
  }
  if (*version < 1 || *version > policy::kPlanVersion) {
    return "a plan of version " + version->dump() + ", this tapelens reads 1 to " +
           std::to_string(policy::kPlanVersion) + kWriteOne;
  }
  return {};
}

}  // namespace

trace::Result<policy::RewriteSelection> read_plan(const std::string& path, const std::vector<std::string>& known) {
  const auto failed = [&](const std::string& what) { return trace::Error{path + ": " + what}; };
  const auto text = trace::read_regular_file(path, kMostPlanBytes);
  if (!text) return failed("cannot be read: " + text.error().message);
  Json plan;
  try {
    plan = text::parse_bounded<Json>(*text);
  } catch (const Json::parse_error&) {
    return failed(std::string("it is not JSON") + kWriteOne);
  } catch (const Json::exception&) {
    return failed(std::string("it is not a plan: its JSON is nested too deeply") + kWriteOne);
  }
  if (const std::string wrong = check_version(plan); !wrong.empty()) return failed(wrong);
  policy::RewriteSelection selection;
  if (const std::string wrong = take_level(plan, selection); !wrong.empty()) return failed(wrong);
  if (const std::string wrong = take_allowed(plan, known, selection); !wrong.empty()) return failed(wrong);
  if (const std::string wrong = take_host_memory(plan, selection); !wrong.empty()) return failed(wrong);
  const auto sites = plan.find("sites");
  if (sites == plan.end() || !sites->is_array()) return failed("'sites' is missing, or no list");
  if (const std::string wrong = take_sites(*sites, known, selection); !wrong.empty()) return failed(wrong);
  return selection;
}

}  // namespace tapelens::cli
