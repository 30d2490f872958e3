#include "policy/plan.h"

#include <algorithm>

namespace tapelens::policy {

namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

bool is_module(std::string_view path, std::string_view named) {
  while (!named.empty()) {
    if (named.front() == '*') {
      const auto digits = static_cast<size_t>(std::ranges::find_if_not(path, is_digit) - path.begin());
      if (digits == 0) return false;
      path.remove_prefix(digits);
    } else {
      if (path.empty() || path.front() != named.front()) return false;
      path.remove_prefix(1);
    }
    named.remove_prefix(1);
  }
  return path.empty();
}

std::string describe(const Site& site) {
  std::string text = site.rewrite;
  if (!site.node.empty()) text += " " + site.node + (site.field.empty() ? "" : "." + site.field);
  if (!site.op.empty()) text += " of " + site.op;
  if (!site.module.empty()) text += " in " + site.module;
  if (!site.file.empty()) text += ", " + site.file + ":" + std::to_string(site.line);
  return text;
}

bool RewriteSelection::has(std::string_view rewrite, int level_of_it) const {
  return level_of_it <= highest_level(level) || std::ranges::find(allowed, rewrite) != allowed.end();
}

bool RewriteSelection::may_have(std::string_view rewrite, int level_of_it) const {
  return has(rewrite, level_of_it) || std::ranges::find(sites, rewrite, &Site::rewrite) != sites.end();
}

}  // namespace tapelens::policy
