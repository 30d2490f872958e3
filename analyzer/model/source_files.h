// Whether a source file is still the one that a recorded program was read from.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"
#include "trace/recording.h"

namespace tapelens::model {

struct Text;

// What a file held when the program was read from it.
struct SourceFile {
  StringId path;  // as frames name it
  uint64_t bytes = 0, hash = 0;

  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

// Whether `content`, the whole of what it holds now, is that.
bool is_same(const SourceFile& recorded, std::string_view content);

// Whether `content`, the whole of what the file at `path` (as frames name it) holds now, is what the program was read
// from. False where that is not known: older recordings have no contents at all, a file may have changed while the
// program ran, or not be the same one in all processes.
bool is_as_recorded(const Text& text, std::string_view path, std::string_view content);

// Whether the recording has what a file held.
bool has_content(const Text& text, std::string_view path);

// Fills `text.sources`: of all processes, in the order of paths; without those that two processes read different
// contents of. A table of them that cannot be read is noted in `text.left_out`.
void load_source_files(const trace::Recording& recording, Text& text);

}  // namespace tapelens::model
