#include "trace/recording_options.h"

#include <charconv>

#include "trace/variables.h"

namespace tapelens::trace {

namespace {

// The only list of the fields and their variables. A structured binding does not compile for another number of fields.
template <class Options, class Field>
void each_field(Options& options, const Field& field) {
  auto& [spool, epoch_ns, steps, marked, last, max_bytes, stacks, cupti, checksums, values, float64, activation_budget,
         referrers, quiet] = options;
  field(TAPELENS_SPOOL, spool);
  field(TAPELENS_EPOCH_NS, epoch_ns);
  field(TAPELENS_STEPS, steps);
  field(TAPELENS_MARKED, marked);
  field(TAPELENS_LAST, last);
  field(TAPELENS_MAX_BYTES, max_bytes);
  field(TAPELENS_STACKS, stacks);
  field(TAPELENS_CUPTI, cupti);
  field(TAPELENS_CHECKSUMS, checksums);
  field(TAPELENS_VALUES, values);
  field(TAPELENS_FLOAT64, float64);
  field(TAPELENS_ACTIVATION_BUDGET, activation_budget);
  field(TAPELENS_REFERRERS, referrers);
  field(TAPELENS_QUIET, quiet);
}

// ---- writing; an empty text removes the variable, which reads as the default

std::string text_of(const std::string& text) { return text; }
std::string text_of(bool is_set) { return is_set ? "1" : ""; }
std::string text_of(uint64_t number) { return number != 0 ? std::to_string(number) : ""; }
std::string text_of(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}
std::string text_of(const StackKinds& stacks) {
  if (stacks.python) return stacks.cpp ? "python,cpp" : "python";
  return stacks.cpp ? "cpp" : "none";
}

// ---- reading

// The whole text is a number; false and unchanged if not.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  number = value;
  return true;
}
void take(std::string_view text, std::string& to) { to = text; }
void take(std::string_view, bool& to) { to = true; }
void take(std::string_view text, uint64_t& to) { read_number(text, to); }
void take(std::string_view text, std::optional<double>& to) {
  if (double number = 0; read_number(text, number)) to = number;
}
void take(std::string_view text, std::optional<StepWindow>& to) { to = step_window_of(text); }
void take(std::string_view text, StackKinds& to) {
  to.python = text.find("python") != std::string_view::npos;
  to.cpp = text.find("cpp") != std::string_view::npos;
}

template <class Value>
std::string text_of(const std::optional<Value>& value) {
  return value ? text_of(*value) : std::string();
}

}  // namespace

std::string text_of(const StepWindow& steps) {
  return std::to_string(steps.first) + ":" + (steps.end == UINT64_MAX ? "" : std::to_string(steps.end));
}

std::optional<StepWindow> step_window_of(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, colon), after = text.substr(colon + 1);
  StepWindow steps;
  if (!before.empty() && !read_number(before, steps.first)) return std::nullopt;
  if (!after.empty() && !read_number(after, steps.end)) return std::nullopt;
  return steps;
}

Environment environment_of(const RecordingOptions& options) {
  Environment environment;
  each_field(options, [&](const char* name, const auto& value) { environment.emplace_back(name, text_of(value)); });
  return environment;
}

RecordingOptions recording_options_of(const char* (*setting)(const char* name)) {
  RecordingOptions options;
  each_field(options, [&](const char* name, auto& value) {
    if (const char* text = setting(name); text != nullptr && *text != '\0') take(text, value);
  });
  return options;
}

}  // namespace tapelens::trace
