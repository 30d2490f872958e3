#include "analyzer/report/formats.h"

#include <algorithm>

namespace tapelens::report {

// The file that renders a format defines it.
extern const Format kText, kJson, kMarkdown, kHtml, kSarif;

namespace {

constexpr const Format* kFormats[] = {&kText, &kJson, &kMarkdown, &kHtml, &kSarif};

}  // namespace

std::span<const Format* const> formats() { return kFormats; }

const Format* format_of(std::string_view name) {
  const auto at =
      std::ranges::find(kFormats, name, [](const Format* format) { return std::string_view(format->name); });
  return at == std::end(kFormats) ? nullptr : *at;
}

std::vector<std::string> format_names(Render Format::*render) {
  std::vector<std::string> names;
  for (const Format* format : kFormats) {
    if (format->*render != nullptr) names.emplace_back(format->name);
  }
  return names;
}

}  // namespace tapelens::report
