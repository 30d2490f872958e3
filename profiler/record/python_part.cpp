// Python code that the recording runs in addition to that of observe.
#include <charconv>
#include <string>

#include "base/python_literal.h"
#include "profiler/observe/observers.h"
#include "profiler/record/activation_budget.py.h"
#include "profiler/record/float64.py.h"
#include "profiler/record/recorder.h"
#include "profiler/record/referrers.py.h"

namespace tapelens::record {

namespace {

std::string number_literal(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

std::string make_python_part() {
  const trace::RecordingOptions& wanted = options();
  std::string parts;
  if (!wanted.values.empty()) {
    parts += "VALUES = " + base::bytes_literal(wanted.values) + "\nFLOAT64 = " + (wanted.float64 ? "True" : "False") +
             "\n" + std::string(kFloat64);
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
