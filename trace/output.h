// Writes a file that a user names, and never overwrites an input of the command, a file that Tapelens did not write, or
// a device. The file gets its name only when it is complete: a full disk leaves the older file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/result.h"

namespace tapelens::trace {

// A kind of file that Tapelens writes. `begins`, `ends` and `is_ours` distinguish it from a user's file, as far as they
// are set. If none of them is set, no file is of this kind.
struct OutputKind {
  std::string name = "file";  // the noun in messages about a file of another kind
  std::string begins = {}, ends = {};
  std::function<bool(std::string_view content)> is_ours = {};
  size_t looks_at = size_t{1} << 30;  // bytes from the start of the file that `is_ours` needs
  // The last line of regular files that have no other distinguishing content: text, Markdown, patches. Not written to
  // streams.
  std::string mark = {};
};

// A kind whose mark identifies it.
OutputKind marked_kind(std::string name, const std::string& mark);
// Sealed files.
const OutputKind& recording_kind();
// Whether a file is of a kind. False if the file cannot be read.
bool is_of_kind(const std::string& path, const OutputKind& kind);

struct OutputOptions {
  std::string path;  // "-": standard output
  OutputKind kind = {};
  // Files that the command reads. None of them is written, under any name, even with --force.
  std::vector<std::string> inputs = {};
  bool is_forced = false;         // --force
  bool needs_file = false;        // the writer seeks: a stream receives the bytes once all are written
  bool takes_streams = true;      // false: only a regular file is accepted
  bool needs_reader = false;      // a closed reader of a stream is an error: the bytes exist nowhere else
  uint32_t mode = 0;              // mode of a new file; 0: the user's umask decides
  bool sets_mode = false;         // also set the mode of a replaced file, which otherwise keeps its own
  bool is_new = false;            // replace no file, not even an earlier one of this kind
  std::string option = "-o";      // the option that sets another name, for errors
  std::string spare_folder = {};  // for bytes that go to a stream; empty: $TMPDIR, or /tmp
  // Called with the path of the incomplete file, and with an empty path once that file is gone.
  std::function<void(const std::string& path)> unfinished = {};
};

// Errors are of kind usage if the output is not allowed, and unreadable if it cannot be written.
class Output {
 public:
  // Whether the output is allowed and can be written, before the work starts. Changes no file and never blocks.
  static Status check(const OutputOptions& options);
  static Result<Output> open(OutputOptions options);
  Output(Output&& other) noexcept;
  Output& operator=(Output&& other) noexcept;
  ~Output();  // removes an unfinished file; the older file stays

  std::string name() const;  // as errors name it
  // True for a file, which gets its name in finish(). False for a stream.
  bool is_file() const { return is_file_; }
  // The unfinished file, for writers that open it by name or replace it. Empty for a stream.
  const std::string& unfinished_path() const { return part_; }
  int descriptor() const { return descriptor_; }
  Status write(std::string_view bytes);
  // Moves the complete file to its place.
  Status finish();
  // The error for a failed write.
  Error failed(int error) const;
  Error failed(const std::string& why) const;

 private:
  Output() = default;
  void drop();
  Status put_in_place();
  Status copy_to_stream();

  OutputOptions options_;
  std::string part_;
  int descriptor_ = -1;
  bool is_file_ = false, is_owned_ = false;  // owned: `descriptor_` is closed here
};

// The descriptor of this process that a name such as "-", /dev/stdout or /dev/fd/3 refers to. -1: none.
int descriptor_of(const std::string& path);

// Whether two names are, or would be, the same file.
bool is_same_file(const std::string& a, const std::string& b);

// The mode for a file derived from `files`: the permissions that all of them share, at least 0600. A missing file
// counts as 0600.
uint32_t mode_of_made(const std::vector<std::string>& files);

}  // namespace tapelens::trace
