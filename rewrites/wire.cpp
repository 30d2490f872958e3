#include "rewrites/wire.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace tapelens::rewrites {

namespace {

constexpr const char* kOn = "TAPELENS_REWRITE";
constexpr const char* kLevel = "TAPELENS_APPLY";
constexpr const char* kAllowed = "TAPELENS_ALLOW";
constexpr const char* kSites = "TAPELENS_PLAN";  // a path
constexpr const char* kPoison = "TAPELENS_POISON";
constexpr const char* kBudget = "TAPELENS_RECOMPUTE_BUDGET";
constexpr const char* kMinBytes = "TAPELENS_REWRITE_MIN_BYTES";
constexpr const char* kPlugins = "TAPELENS_REWRITE_PLUGINS";
constexpr const char* kTally = "TAPELENS_TALLY";

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

std::string joined(const std::vector<std::string>& words, char separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

// The number at the begin of a text; nothing where there is none.
template <class Number>
void take_number(const std::string& text, Number& number) {
  Number read{};
  if (std::from_chars(text.data(), text.data() + text.size(), read).ec == std::errc()) number = read;
}

}  // namespace

Environment environment_of(const Settings& s, const std::string& sites) {
  Environment environment;
  for (const char* name : {kOn, kLevel, kAllowed, kSites, kPoison, kBudget, kMinBytes, kPlugins, kTally}) {
    environment.emplace_back(name, "");
  }
  if (!s.on) return environment;
  return {{kOn, "1"},
          {kLevel, s.level},
          {kAllowed, joined(s.allowed, ',')},
          {kSites, s.sites.empty() ? std::string() : sites},
          {kPoison, s.poison ? "1" : ""},
          {kBudget, std::to_string(s.recompute_budget)},
          {kMinBytes, std::to_string(s.min_bytes)},
          {kPlugins, joined(s.plugins, ':')},
          {kTally, s.tally}};
}

Settings settings_of_environment() {
  Settings s;
  s.on = !variable(kOn).empty();
  if (!s.on) return s;
  s.level = variable(kLevel);
  s.allowed = split(variable(kAllowed), ',');
  if (const std::string path = variable(kSites); !path.empty()) {
    std::ifstream file(path);
    s.sites = sites_of(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  s.poison = !variable(kPoison).empty();
  take_number(variable(kBudget), s.recompute_budget);
  take_number(variable(kMinBytes), s.min_bytes);
  s.plugins = split(variable(kPlugins), ':');
  s.tally = variable(kTally);
  return s;
}

std::string flat(const std::vector<Site>& sites) {
  std::string text;
  for (const Site& site : sites) {
    text += site.rewrite + '\t' + site.module + '\t' + site.op + '\t' + site.node + '\t' + site.field + '\t';
    if (!site.file.empty()) text += site.file + ':' + std::to_string(site.line);
    text += '\n';
  }
  return text;
}

std::vector<Site> sites_of(std::string_view flat) {
  std::vector<Site> sites;
  for (const std::string& line : split(flat, '\n')) {
    std::vector<std::string> parts = split(line, '\t');
    parts.resize(6);
    Site site;
    site.rewrite = parts[0];
    site.module = parts[1];
    site.op = parts[2];
    site.node = parts[3];
    site.field = parts[4];
    site.file = parts[5];
    if (const size_t colon = site.file.rfind(':'); colon != std::string::npos) {
      take_number(site.file.substr(colon + 1), site.line);
      site.file.resize(colon);
    }
    if (!site.rewrite.empty()) sites.push_back(std::move(site));
  }
  return sites;
}

}  // namespace tapelens::rewrites
