#include "cli/plan_file.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/text/json.h"
#include "cli/text.h"
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
  if (!at->is_string()) return std::string("'") + key + "' is no text";
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
  if (!json.is_object()) return "it is no object";
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
    return "there is no rewrite '" + site.rewrite + "'" + (meant ? "; did you mean '" + *meant + "'?" : "");
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

}  // namespace

trace::Result<std::vector<policy::Site>> read_plan(const std::string& path, const std::vector<std::string>& known) {
  const auto failed = [&](const std::string& what) { return trace::Error{path + ": " + what}; };
  const auto text = trace::read_regular_file(path, kMostPlanBytes);
  if (!text) return failed("cannot be read: " + text.error().message);
  Json plan;
  try {
    plan = text::parse_bounded<Json>(*text);
  } catch (const Json::parse_error&) {
    return failed("it is no JSON: write a plan with tapelens advise --write-plan");
  } catch (const Json::exception&) {
    return failed("it is no plan: its JSON is too deep: write one with tapelens advise --write-plan");
  }
  const auto version = plan.is_object() ? plan.find("tapelens_plan") : plan.end();
  if (version == plan.end() || !version->is_number_integer()) {
    return failed("it is no plan: 'tapelens_plan' is missing: write one with tapelens advise --write-plan");
  }
  if (*version != policy::kPlanVersion) {
    return failed("a plan of version " + version->dump() + ", this tapelens reads " +
                  std::to_string(policy::kPlanVersion) + ": write it again with tapelens advise --write-plan");
  }
  const auto sites = plan.find("sites");
  if (sites == plan.end() || !sites->is_array()) return failed("'sites' is missing, or no list");
  std::vector<Site> chosen;
  for (size_t i = 0; i < sites->size(); ++i) {
    Site site;
    const Json& json = (*sites)[i];
    if (const std::string wrong = take_site(json, site, known); !wrong.empty()) {
      return failed(name_of(i + 1, site) + ": " + wrong);
    }
    const auto enabled = json.find("enabled");
    if (enabled != json.end() && !enabled->is_boolean()) {
      return failed(name_of(i + 1, site) + ": 'enabled' is neither true nor false");
    }
    if (enabled == json.end() || enabled->get<bool>()) chosen.push_back(std::move(site));
  }
  return chosen;
}

}  // namespace tapelens::cli
