// A synthetic recording (testing/synthetic.h) in a folder that is removed when the test's process ends.
#pragma once

#include <gtest/gtest.h>

#include <QString>
#include <map>

#include "testing/synthetic.h"

namespace tapelens::gui::testing {

// The recording's path. Each size is made once. A step has about 3,500 events. On failure the path is empty, and the
// test fails.
inline QString synthetic_recording(uint64_t events = 20'000) {
  static std::map<uint64_t, tapelens::testing::SyntheticRecording> made;
  auto at = made.find(events);
  if (at == made.end()) {
    auto recording = tapelens::testing::SyntheticRecording::make({.events = events});
    if (!recording) {
      ADD_FAILURE() << recording.error().message;
      return {};
    }
    at = made.emplace(events, std::move(*recording)).first;
  }
  return QString::fromStdString(at->second.path());
}

}  // namespace tapelens::gui::testing
