#include <algorithm>

#include "analyzer/export/export.h"

namespace tapelens::exporting {

// Each format is defined in the file that writes it.
extern const Format kPerfetto, kSnapshot, kSpeedscope, kSqlite;

namespace {

constexpr const Format* kFormats[] = {&kPerfetto, &kSnapshot, &kSpeedscope, &kSqlite};

}  // namespace

std::span<const Format* const> formats() { return kFormats; }

const Format* format_of(std::string_view name) {
  const auto at =
      std::ranges::find(kFormats, name, [](const Format* format) { return std::string_view(format->name); });
  return at == std::end(kFormats) ? nullptr : *at;
}

}  // namespace tapelens::exporting
