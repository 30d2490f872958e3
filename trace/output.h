// Writes a file that a user names, and destroys nothing: not an input of the command, not a file that Tapelens did not
// write, not a device. What is written is whole before it has its name: a full disk leaves the older file.
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

// A kind of file that Tapelens writes, and how one is told from a user's own: by its begin, its end and `is_ours`, as
// far as they are given. Of a kind that has none of them, no file is.
struct OutputKind {
  std::string name = "file";  // in "notes.txt: exists, and is no NAME of Tapelens"
  std::string begins = {}, ends = {};
  std::function<bool(std::string_view content)> is_ours = {};
  size_t looks_at = size_t{1} << 30;  // bytes from the begin of the file that `is_ours` needs
  // Ends each regular file of a kind that nothing else tells from a user's: text, Markdown, patches. Streams have none.
  std::string mark = {};
};

// Of a kind that its mark tells.
OutputKind marked_kind(std::string name, const std::string& mark);
// Sealed files.
const OutputKind& recording_kind();
// Whether a file is of a kind; false of what cannot be read.
bool is_of_kind(const std::string& path, const OutputKind& kind);

struct OutputOptions {
  std::string path;  // "-": standard output
  OutputKind kind = {};
  // Files that the command reads. None of them is written, by whatever name, with --force neither.
  std::vector<std::string> inputs = {};
  bool is_forced = false;         // --force
  bool needs_file = false;        // the writer seeks: a stream gets its bytes when all are there
  bool takes_streams = true;      // false: only a regular file will do
  bool needs_reader = false;      // a stream whose reader went away is an error: the bytes are nowhere else
  uint32_t mode = 0;              // of a new file; 0: what the user's mask leaves
  bool sets_mode = false;         // of a file that is replaced, too, which otherwise keeps its own
  std::string option = "-o";      // by which another name is given
  std::string spare_folder = {};  // for bytes on their way to a stream; empty: $TMPDIR, or /tmp
  // Called with the path of a file that is not whole, and with an empty one once there is none.
  std::function<void(const std::string& path)> unfinished = {};
};

// Errors are of kind usage where the output may not be what it is asked to be, unreadable where it cannot be written.
class Output {
 public:
  // Whether it may and can be written, before the work that makes it. Makes and changes nothing, waits for nothing.
  static Status check(const OutputOptions& options);
  static Result<Output> open(OutputOptions options);
  Output(Output&& other) noexcept;
  Output& operator=(Output&& other) noexcept;
  ~Output();  // what was not finished is removed; the older file stays

  std::string name() const;  // as errors call it
  // A file that gets its name when it is finished, not a stream.
  bool is_file() const { return is_file_; }
  // The unfinished file, for writers that open it by name, or put another one in its place. Empty: a stream.
  const std::string& unfinished_path() const { return part_; }
  int descriptor() const { return descriptor_; }
  Status write(std::string_view bytes);
  // All is written: puts it in its place.
  Status finish();
  // What a failed write is called.
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

// The number of the descriptor of this process that a name leads to: of "-", /dev/stdout, /dev/fd/3; -1: to none.
int descriptor_of(const std::string& path);

// Whether two names are, or would be, the same file.
bool is_same_file(const std::string& a, const std::string& b);

// The mode of what is made of these files: what all of them allow, and at least 0600. Files that are not there: 0600.
uint32_t mode_of_made(const std::vector<std::string>& files);

}  // namespace tapelens::trace
