// One screen of `tapelens top`, as lines of text.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analyzer/live/figures.h"
#include "analyzer/text/layout.h"

namespace tapelens::live {

struct ScreenOptions {
  std::string title;   // the recording: "run.tapelens"
  text::Style style;   // a width of at least 80 shows every column
  size_t rows = 40;    // the lines of the screen
  size_t process = 0;  // the shown one, an index
  size_t device = 0;   // the shown one of its devices, likewise; larger: the last
  std::string keys;    // the last line; may be empty
};

std::string screen(std::span<const std::unique_ptr<Followed>> processes, const ScreenOptions& options);

// "peak 1.2 GiB on cpu in step 3, 12 steps": the line that remains.
std::string summary(const Followed& process);

}  // namespace tapelens::live
