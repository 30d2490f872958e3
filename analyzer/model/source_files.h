// Finds whether a source file has changed since the recorded program was loaded from it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"
#include "trace/recording.h"

namespace tapelens::model {

struct Text;

// The content of a source file when the program was loaded from it.
struct SourceFile {
  StringId path;  // as in frames
  uint64_t bytes = 0, hash = 0;

  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

// Whether `content`, all that the file holds now, equals the recorded content.
bool is_same(const SourceFile& recorded, std::string_view content);

// Whether `content`, all that the file at `path` (as in frames) holds now, equals the recorded content. False if
// unknown: older recordings have no contents, the file may have changed while the program ran, or processes read
// different files.
bool is_as_recorded(const Text& text, std::string_view path, std::string_view content);

// Whether the recording has the content of a file.
bool has_content(const Text& text, std::string_view path);

// Fills `text.sources` from all processes, in the order of paths. A path for which two processes read different
// contents is omitted. An unreadable table is noted in `text.left_out`.
void load_source_files(const trace::Recording& recording, Text& text);

}  // namespace tapelens::model
