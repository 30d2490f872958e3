// Recordings in the formats of other tools. A format is defined in the file that writes it, as
// `constinit extern const Format kName`, and listed in formats.cpp; nothing else knows its name.
//
// What is written is streamed: beside the columns of one process at a time there is a buffer. Names of a recording are
// text in all of them: well-formed UTF-8, without characters that act upon a terminal (report::printable).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/export/sink.h"
#include "analyzer/export/subjects.h"
#include "trace/recording.h"
#include "trace/result.h"

namespace tapelens::exporting {

struct Format {
  const char* name;
  const char* suffix;  // of the file that is made of run.tapelens if no other is asked for: "run" and this
  const char* what;    // what opens it, for --help
  // Whether a file whose first kHeadBytes these are is one that it wrote, and may be replaced.
  bool (*is_ours)(std::string_view head);
  // One of them: in order, or into a file that is there and empty.
  void (*stream)(Subjects& subjects, Sink& sink) = nullptr;
  void (*file)(Subjects& subjects, const std::string& path) = nullptr;
};
inline constexpr size_t kHeadBytes = 512;

// In the order in which --help names them.
std::span<const Format* const> formats();
const Format* format_of(std::string_view name);  // null: there is none of that name

struct Target {
  std::string path;         // "-": standard output, of formats that are streamed
  bool is_forced = false;   // replaces a file of somebody else
  std::string recording{};  // the file that is exported: it is never replaced
};

// As trace/output.h has it: an export that fails leaves what was there, and has the mode of the recording. `making` is
// called with the path of the unfinished file, and with an empty one once there is none any more.
//
// Errors: of kind usage where there is no such process or device or the target may not be replaced; unreadable where
// tables of the recording contradict each other, for what is left of it is not what happened, or the target cannot be
// written.
trace::Status export_recording(const trace::Recording& recording, const Wanted& wanted, const Format& format,
                               const Target& target, const std::function<void(const std::string&)>& making = {});

}  // namespace tapelens::exporting
