// Where a command's result goes and how it looks there; what its options may be.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/formats.h"
#include "trace/output.h"

namespace tapelens::cli {

// -o and --force of a command.
struct OutputPlace {
  std::string path;  // empty, or "-": standard output
  bool is_forced = false;
  bool is_standard() const { return path.empty() || path == "-"; }
};

// For the text that goes to `place`. `color`: auto, always or never.
report::Style style_of(const OutputPlace& place, const std::string& color);

// A rendering of the recordings `made_of`, whose mode it gets, by a command that reads `inputs` besides.
trace::OutputOptions rendering(const OutputPlace& place, trace::OutputKind kind,
                               const std::vector<std::string>& made_of, const std::vector<std::string>& inputs = {});
// Another one of the same command, which the option `name` asks for.
trace::OutputOptions also(const trace::OutputOptions& first, const std::string& name, const std::string& path,
                          trace::OutputKind kind);
// A recording. `mode`: of --mode; `is_mode_given`: by the user.
trace::OutputOptions recording_output(const OutputPlace& place, const std::string& mode, bool is_mode_given,
                                      std::vector<std::string> inputs);

// Whether all of them may be written and none is another, before any work; else says why. An exit code.
int check_outputs(std::initializer_list<trace::OutputOptions> outputs);

// An exit code; says why it is not kFine. A reader that has seen enough (`| head`) is no error.
int write_output(std::string_view text, const trace::OutputOptions& options);
// Likewise where bytes, not text, would go to standard output: not to a terminal.
int check_recording_output(const trace::OutputOptions& output);
// ". Next: tapelens report FILE", if there is a file that it can read.
std::string next_of(const OutputPlace& place);
// To standard output.
int print_output(std::string_view text);

// A file that is not whole does not outlive us: trace::OutputOptions::unfinished.
void watch_unfinished(const std::string& path);

// --mode: who may read the recording that is written.
void add_mode_option(CLI::App& sub, std::string& mode);

// -o and --force, --top and --color, which mean the same in every command that has them. `top_help`: what is listed.
void add_output_option(CLI::App& sub, OutputPlace& place);
// The same of a recording.
CLI::Option* add_recording_output_option(CLI::App& sub, OutputPlace& place);
void add_force_option(CLI::App& sub, bool& is_forced);
void add_top_option(CLI::App& sub, int64_t& top, const std::string& top_help);
void add_color_option(CLI::App& sub, std::string& color);

// A check of an option's value that names what there is, and what was probably meant.
std::function<std::string(const std::string&)> one_of(std::vector<std::string> words);

// --format: one of `names`.
void add_format_option(CLI::App& sub, std::string& format, const std::string& help,
                       const std::vector<std::string>& names);
// Those that have a report, or findings.
void add_format_option(CLI::App& sub, std::string& format, const std::string& help,
                       report::Render report::Format::*has);

}  // namespace tapelens::cli
