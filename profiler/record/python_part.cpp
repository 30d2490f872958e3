// Python code that the recording runs in addition to that of observe.
#include <charconv>
#include <string>
#include <string_view>

#include "profiler/observe/observers.h"
#include "profiler/record/activation_budget.py.h"
#include "profiler/record/float64.py.h"
#include "profiler/record/recorder.h"
#include "profiler/record/referrers.py.h"

namespace tapelens::record {

namespace {

// A literal of Python's bytes.
std::string bytes_literal(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string literal = "b'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    literal += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return literal + "'";
}

std::string number_literal(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

std::string make_python_part() {
  const trace::RecordingOptions& wanted = options();
  std::string parts;
  if (!wanted.values.empty()) {
    parts += "VALUES = " + bytes_literal(wanted.values) + "\nFLOAT64 = " + (wanted.float64 ? "True" : "False") + "\n" +
             std::string(kFloat64);
  }
  if (wanted.activation_budget) {
    parts += "BUDGET = " + number_literal(*wanted.activation_budget) + "\n" + std::string(kActivationBudget);
  }
  if (wanted.referrers) parts += kReferrers;
  return parts;
}

}  // namespace

const char* python_part() {
  static const std::string code = make_python_part();
  return code.empty() ? nullptr : code.c_str();
}

}  // namespace tapelens::record
