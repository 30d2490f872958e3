#include "policy/wire.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "policy/variables.h"

namespace tapelens::policy {

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

std::string joined(const std::vector<std::string>& words, char separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

// The number at the start of a text; `number` stays unchanged without one.
template <class Number>
void take_number(const std::string& text, Number& number) {
  Number read{};
  if (std::from_chars(text.data(), text.data() + text.size(), read).ec == std::errc()) number = read;
}

}  // namespace

Environment environment_of(const RewriteSettings& s, const std::string& sites) {
  Environment environment;
  for (const char* name :
       {TAPELENS_REWRITE, TAPELENS_APPLY, TAPELENS_ALLOW, TAPELENS_PLAN, TAPELENS_POISON, TAPELENS_RECOMPUTE_BUDGET,
        TAPELENS_HOST_MEMORY, TAPELENS_REWRITE_MIN_BYTES, TAPELENS_REWRITE_PLUGINS, TAPELENS_TALLY}) {
    environment.emplace_back(name, "");
  }
  if (!s.on) return environment;
  return {{TAPELENS_REWRITE, "1"},
          {TAPELENS_APPLY, s.level},
          {TAPELENS_ALLOW, joined(s.allowed, ',')},
          {TAPELENS_PLAN, s.sites.empty() ? std::string() : sites},
          {TAPELENS_POISON, s.poison ? "1" : ""},
          {TAPELENS_RECOMPUTE_BUDGET, s.budget ? std::to_string(*s.budget) : ""},
          {TAPELENS_HOST_MEMORY, s.host_memory ? std::to_string(*s.host_memory) : ""},
          {TAPELENS_REWRITE_MIN_BYTES, std::to_string(s.min_bytes)},
          {TAPELENS_REWRITE_PLUGINS, joined(s.plugins, ':')},
          {TAPELENS_TALLY, s.tally}};
}

RewriteSettings settings_of_environment() {
  RewriteSettings s;
  s.on = !variable(TAPELENS_REWRITE).empty();
  if (!s.on) return s;
  s.level = variable(TAPELENS_APPLY);
  s.allowed = split(variable(TAPELENS_ALLOW), ',');
  if (const std::string path = variable(TAPELENS_PLAN); !path.empty()) {
    std::ifstream file(path);
    s.sites = sites_of(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  s.poison = !variable(TAPELENS_POISON).empty();
  if (const std::string share = variable(TAPELENS_RECOMPUTE_BUDGET); !share.empty()) {
    double read = s.recompute_budget();
    take_number(share, read);
    s.budget = read;
  }
  constexpr uint64_t kUnread = UINT64_MAX;
  uint64_t most = kUnread;
  take_number(variable(TAPELENS_HOST_MEMORY), most);
  if (most != kUnread) s.host_memory = most;
  take_number(variable(TAPELENS_REWRITE_MIN_BYTES), s.min_bytes);
  s.plugins = split(variable(TAPELENS_REWRITE_PLUGINS), ':');
  s.tally = variable(TAPELENS_TALLY);
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

}  // namespace tapelens::policy
