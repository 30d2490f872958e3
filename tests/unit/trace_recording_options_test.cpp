// The options of a recording, from the command line to a process: each option arrives.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "trace/recording_options.h"
#include "trace/variables.h"

namespace tapelens::trace {
namespace {

// Every field with another value than its default.
RecordingOptions all_options() {
  return {.spool = "/some folder/run.spool",
          .epoch_ns = 123'456'789,
          .steps = StepWindow{2, 4},
          .marked = true,
          .last = 3,
          .max_bytes = 1 << 20,
          .stacks = {.python = false, .cpp = true},
          .cupti = true,
          .checksums = true,
          .values = "/values",
          .float64 = true,
          .activation_budget = 0.4,
          .referrers = true,
          .quiet = true};
}

template <class A, class B>
void expect_different(const A& a, const B& b, int field) {
  EXPECT_FALSE(a == b) << "all_options() has the default of field " << field;
}

const char* variable(const char* name) { return getenv(name); }

class RecordingWire : public testing::Test {
 protected:
  ~RecordingWire() override { clear(); }
  static void clear() {
    for (const auto& [name, value] : environment_of({})) unsetenv(name.c_str());
  }
  // Reads the options as a child process does.
  static RecordingOptions read(const RecordingOptions& options) {
    for (const auto& [name, value] : environment_of(options)) {
      value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
    }
    return recording_options_of(&variable);
  }
};

TEST_F(RecordingWire, EveryFieldArrives) {
  // Does not compile when a field is added, until it has a value here.
  const auto& [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13] = all_options();
  const auto& [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13] = RecordingOptions();
  int field = 0;
  const auto both = [&](const auto& a, const auto& b) { expect_different(a, b, field++); };
  both(a0, b0), both(a1, b1), both(a2, b2), both(a3, b3), both(a4, b4), both(a5, b5), both(a6, b6), both(a7, b7);
  both(a8, b8), both(a9, b9), both(a10, b10), both(a11, b11), both(a12, b12), both(a13, b13);
  EXPECT_TRUE(read(all_options()) == all_options());
}

TEST_F(RecordingWire, EveryFieldHasAVariableOfItsOwn) {
  std::set<std::string> names;
  for (const auto& [name, value] : environment_of(all_options())) {
    EXPECT_FALSE(value.empty()) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(names.size(), 14U);
}

TEST_F(RecordingWire, OptionsOfARecordingAroundItDoNotArrive) {
  read(all_options());
  EXPECT_TRUE(read({}) == RecordingOptions());
}

TEST_F(RecordingWire, StepsAndStacksHaveEachForm) {
  for (const StepWindow steps : {StepWindow{0, 4}, StepWindow{3, UINT64_MAX}, StepWindow{2, 4}}) {
    EXPECT_TRUE(read({.steps = steps}).steps == steps) << text_of(steps);
  }
  EXPECT_EQ(text_of(StepWindow{3}), "3:");
  EXPECT_TRUE(step_window_of(":4") == StepWindow(0, 4));
  for (const char* text : {"", "4", "a:4", "4:b", "-1:4"}) EXPECT_FALSE(step_window_of(text)) << text;
  for (const bool python : {false, true}) {
    for (const bool cpp : {false, true}) {
      const StackKinds kinds{python, cpp};
      EXPECT_TRUE(read({.stacks = kinds}).stacks == kinds);
    }
  }
}

TEST_F(RecordingWire, UnreadableValuesCountAsNotSet) {
  clear();
  setenv(TAPELENS_SPOOL, "", 1);
  setenv(TAPELENS_QUIET, "", 1);
  setenv(TAPELENS_EPOCH_NS, "now", 1);
  setenv(TAPELENS_STEPS, "all", 1);
  setenv(TAPELENS_LAST, "-3", 1);
  setenv(TAPELENS_MAX_BYTES, "8GiB", 1);
  setenv(TAPELENS_ACTIVATION_BUDGET, "half", 1);
  EXPECT_TRUE(recording_options_of(&variable) == RecordingOptions());
}

}  // namespace
}  // namespace tapelens::trace
