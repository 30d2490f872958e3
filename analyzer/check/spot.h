// The statement of a recorded frame, in a file of the repository that has not changed since the recording.
#pragma once

#include <optional>
#include <string>

#include "analyzer/check/check.h"
#include "analyzer/check/python_source.h"

namespace tapelens::check {

struct Spot {
  std::string path;  // below the root of the repository
  PythonSource source;
  size_t statement = 0;
  FrameId frame{};

  const Statement& here() const { return source.statements()[statement]; }
};

// None: the file does not exist or has changed, or the line has several statements.
std::optional<Spot> spot_of(const Context& context, FrameId frame);

}  // namespace tapelens::check
