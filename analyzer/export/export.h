// Exports recordings to the formats of other tools. The file that writes a format defines it as `constinit extern const
// Format kName`; export.cpp lists it. No other code knows its name.
//
// Output is streamed: memory holds a buffer and the columns of one process at a time. Names from the recording are
// well-formed UTF-8 without terminal control characters (text::printable).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/export/exported_processes.h"
#include "analyzer/export/sink.h"
#include "trace/result.h"

namespace tapelens::exporting {

struct Format {
  const char* name;
  const char* suffix;  // the default file for run.tapelens is "run" and this suffix
  const char* what;    // the program that opens it, for --help
  // Whether a file with this head, its first kHeadBytes, was written by this format and may be replaced.
  bool (*is_ours)(std::string_view head);
  // Exactly one is set: writes a stream, or fills an existing empty file.
  void (*stream)(ExportedProcesses& processes, ByteSink& sink) = nullptr;
  void (*file)(ExportedProcesses& processes, const std::string& path) = nullptr;
};
inline constexpr size_t kHeadBytes = 512;

// In the order of --help.
std::span<const Format* const> formats();
const Format* format_of(std::string_view name);  // null if no format has that name

struct Target {
  std::string path;         // "-": standard output, for streamed formats
  bool is_forced = false;   // may replace any other file
  std::string recording{};  // the exported file, which is never replaced
};

// Follows the rules of trace/output.h: a failed export keeps the previous file, and the new file has the mode of the
// recording. Calls `making` with the path of the unfinished file, and with an empty path once that file is gone.
//
// Errors: kind usage if the process or device does not exist or the target may not be replaced. Kind unreadable if
// tables of the recording contradict each other (the rest would not show what happened), or if the target is not
// writable.
trace::Status export_recording(const run::Run& run, const ExportSelection& wanted, const Format& format,
                               const Target& target, const std::function<void(const std::string&)>& making = {});

}  // namespace tapelens::exporting
