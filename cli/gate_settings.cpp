#include "cli/gate_settings.h"

#include <charconv>
#include <filesystem>
#include <stdexcept>

namespace tapelens::cli {
namespace {
[[noreturn]] void no_toml() { throw std::logic_error("it is no TOML: a key or a value is expected"); }
}  // namespace
}  // namespace tapelens::cli

// What toml++ takes for granted does not hold of every text: `[ .a]`. Without assertions it is undefined then, so each is
// an error that is caught.
#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : tapelens::cli::no_toml())
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "cli/toml_depth.h"
#include "trace/regular_file.h"

namespace tapelens::cli {

namespace {

constexpr uint64_t kMostSettingsBytes = 1 << 20;

trace::Error wrong(const std::string& file, const toml::node& node, const std::string& why) {
  return {file + ":" + std::to_string(node.source().begin.line) + ": " + why, trace::ErrorKind::usage};
}

}  // namespace

trace::Result<GateSettings> read_settings(const std::string& file) {
  const auto content = trace::read_regular_file(file, kMostSettingsBytes);
  if (!content) return trace::Error{file + ": cannot be read: " + content.error().message};
  if (const size_t line = too_deep_toml_line(*content); line > 0) {
    return trace::Error{file + ":" + std::to_string(line) + ": more than " + std::to_string(kDeepestToml) +
                            " tables or lists within one another: [check] has none",
                        trace::ErrorKind::usage};
  }
  toml::table all;
  try {
    all = toml::parse(*content, file);
  } catch (const toml::parse_error& error) {
    return trace::Error{
        file + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()),
        trace::ErrorKind::usage};
  } catch (const std::logic_error& error) {
    return trace::Error{file + ": " + error.what(), trace::ErrorKind::usage};
  }
  GateSettings out;
  const toml::node* of_check = all.get("check");
  if (of_check == nullptr) return out;
  const toml::table* check = of_check->as_table();
  if (check == nullptr) return wrong(file, *of_check, "check is to be a table, [check]");
  for (const auto& [name, node] : *check) {
    const std::string key(name.str());
    const toml::value<std::string>* text = node.as_string();
    if (key == "budgets") {
      const toml::array* list = node.as_array();
      if (list == nullptr) return wrong(file, node, "budgets is to be a list, like [\"peak<=6GiB\"]");
      for (const toml::node& one : *list) {
        if (one.as_string() == nullptr) return wrong(file, one, "a budget is to be a string, like \"peak<=6GiB\"");
        out.budgets.push_back(one.as_string()->get());
      }
      continue;
    }
    if (key != "baseline" && key != "tolerance" && key != "fail-on") {
      return wrong(file, node, "[check] has no key '" + key + "': there are baseline, budgets, fail-on, tolerance");
    }
    if (text == nullptr) return wrong(file, node, key + " is to be a string, in quotes");
    if (key == "tolerance") out.tolerance = text->get();
    if (key == "fail-on") out.fail_on = text->get();
    if (key == "baseline") {
      const std::filesystem::path path(text->get());
      out.baseline = path.is_absolute() ? path.string() : (std::filesystem::path(file).parent_path() / path).string();
    }
  }
  return out;
}

std::optional<double> parse_tolerance(std::string_view text) {
  double share = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), share, std::chars_format::fixed);
  if (error != std::errc() || !(share >= 0) || share > 1000) return std::nullopt;
  std::string_view unit(rest, text.data() + text.size());
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit == "%") return share / 100;
  return unit.empty() && share == 0 ? std::optional(0.0) : std::nullopt;
}

}  // namespace tapelens::cli
