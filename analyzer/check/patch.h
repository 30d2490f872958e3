// Changes of source files as edits of whole lines, and as the unified diff that `git apply` takes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/output.h"
#include "trace/result.h"

namespace tapelens::check {

// Replaces the lines [first, first + removed) by `added`. Line numbers start at 0; lines include their line breaks.
struct Edit {
  uint32_t first = 0, removed = 0;
  std::vector<std::string> added;

  uint32_t end() const { return first + removed; }
  friend bool operator==(const Edit&, const Edit&) = default;
};

// The changes of one file. Edits are in the order of lines and do not overlap.
struct FileEdit {
  std::string path;                       // below the root of the repository
  std::map<uint32_t, std::string> lines;  // the current removed lines, and a diff's context of each edit
  std::vector<Edit> edits;
};

using FileEdits = std::vector<FileEdit>;

// `lines`: the whole file. Edits may have any order and must not overlap; adjacent edits become one.
FileEdit file_edit(std::string path, std::span<const std::string_view> lines, std::vector<Edit> edits);

// Shows three lines of context around each edit, where known. Files keep their order.
std::string unified_diff(const FileEdit& file);
std::string unified_diff(std::span<const FileEdit> files);

// Such a diff as an output file, with the signature of `git format-patch`, which git apply and patch(1) ignore.
trace::OutputKind patch_kind();

// Reads a unified diff of git or `diff -u`. An error names the first line that is invalid. Deleted, renamed and binary
// files are errors, and also paths outside the repository.
trace::Result<FileEdits> read_unified_diff(std::string_view diff);
// The file with its edits. Each edit must match exactly; the error names the first different line.
trace::Result<std::string> applied(const FileEdit& file, std::string_view content);

}  // namespace tapelens::check
