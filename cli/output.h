// The destination and the style of a command's result.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"
#include "analyzer/text/layout.h"
#include "trace/output.h"

namespace tapelens::cli {

struct ApplyingOptions;

// -o and --force of a command.
struct OutputPlace {
  std::string path;  // empty, or "-": standard output
  bool is_forced = false;
  bool is_standard() const { return path.empty() || path == "-"; }
};

// The width of the terminal at a descriptor; without a terminal COLUMNS, or 100.
unsigned terminal_width(int descriptor);
// Whether text on the terminal at a descriptor has colors by default.
bool is_color_wanted(int descriptor);
// The style of text for `place`. `color`: auto, always or never.
text::Style style_of(const OutputPlace& place, const std::string& color);

// Options for a rendering of the recordings `made_of`. It gets their mode; `inputs` are further files that the command
// reads.
trace::OutputOptions rendering(const OutputPlace& place, trace::OutputKind kind,
                               const std::vector<std::string>& made_of, const std::vector<std::string>& inputs = {});
// Options for a further output of the same command, which the option `name` requests.
trace::OutputOptions also(const trace::OutputOptions& first, const std::string& name, const std::string& path,
                          trace::OutputKind kind);
// Options for a recording. `mode`: of --mode; `is_mode_given`: set by the user.
trace::OutputOptions recording_output(const OutputPlace& place, const std::string& mode, bool is_mode_given,
                                      std::vector<std::string> inputs);

// Checks before any work that all outputs can be written and differ from each other. Prints the error; returns an exit
// code.
int check_outputs(std::initializer_list<trace::OutputOptions> outputs);

// Returns an exit code, and prints why if it is not kFine. A reader that closes early (`| head`) is not an error.
int write_output(std::string_view text, const trace::OutputOptions& options);
// The same, within `max_bytes` if given. The text is then a JSON document (text/shortened_json.h).
int write_within(std::optional<uint64_t> max_bytes, const std::string& text, const trace::OutputOptions& options);
// The same for bytes to standard output, which must not be a terminal.
int check_recording_output(const trace::OutputOptions& output);
// ". Next: tapelens report FILE", if that command can read the file.
std::string next_of(const OutputPlace& place);
// Writes to standard output.
int print_output(std::string_view text);

// Removes an incomplete file when a signal ends this process: trace::OutputOptions::unfinished.
void watch_unfinished(const std::string& path);

// ---- the kinds of files that commands write, and how to distinguish each from a user's own file (trace/output.h)

// The output of `command` in `format`: "report", "html".
trace::OutputKind result_kind(std::string_view command, std::string_view format);
trace::OutputKind baseline_kind();                        // check --write-baseline
trace::OutputKind plan_kind();                            // advise --write-plan
trace::OutputKind manual_kind(const std::string& title);  // man --all
// The log of a run that --keep keeps. The recording is beside it; otherwise the log says that the run left none.
trace::OutputKind log_kind(const std::string& log, const std::string& recording);
inline constexpr std::string_view kNoRecording = "\ntapelens: this run left no recording\n";

// ---- the files that a command line names; outputs never replace them

// The program, and each word of the command, or part of one ("--config=a.yaml", a script of `sh -c`), that names a
// file.
std::vector<std::string> files_in_command(const std::vector<std::string>& command);
// The files of --apply and --rewrite-plugin.
std::vector<std::string> files_in(const ApplyingOptions& options);

}  // namespace tapelens::cli
