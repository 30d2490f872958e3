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

// Lines [first, first + removed) go, `added` come in their place. Lines are counted from 0 and have their line breaks.
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

// `lines` are all of the file. Edits may come in any order, and do not overlap; those that touch become one.
FileEdit file_edit(std::string path, std::span<const std::string_view> lines, std::vector<Edit> edits);

// With three lines around each edit where they are known. The files in their order, one after the other.
std::string unified_diff(const FileEdit& file);
std::string unified_diff(std::span<const FileEdit> files);

// A file of such a diff: signed as `git format-patch` signs, which git apply and patch(1) leave out.
trace::OutputKind patch_kind();

// Reads a unified diff of git or `diff -u`. An error names the first line that is invalid. Deleted, renamed and binary
// files are errors, and also paths outside the repository.
trace::Result<FileEdits> read_unified_diff(std::string_view diff);
// The file with its edits, which fit exactly or not at all; the error names the first line that is another one.
trace::Result<std::string> applied(const FileEdit& file, std::string_view content);

}  // namespace tapelens::check
