// The options that several commands declare alike, and the checks of their values. The error of a check is one sentence
// that names the value.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/formats.h"
#include "cli/output.h"

namespace tapelens::cli {

using ValueCheck = std::function<std::string(const std::string&)>;
// A check that lists the valid words and suggests the nearest one.
ValueCheck one_of(std::vector<std::string> words);
// A whole number in a range. Unlike CLI::Range, the check does not add its range to the option's type in --help.
ValueCheck whole_number(int64_t least, int64_t most = std::numeric_limits<int64_t>::max());

// Makes an option accept only these words, and --help and completion list them.
CLI::Option* with_choices(CLI::Option* option, const std::vector<std::string>& words);
// Makes an option one that may be given more than once, each time with one value. Unlike CLI11's lists, it leaves the
// next word to the arguments: --check CHECK FILE.
CLI::Option* repeatable(CLI::Option* option);
// "info", "warning", "error"
std::vector<std::string> severity_names();

// -o and --force.
void add_output_option(CLI::App& sub, OutputPlace& place);
// The same for a recording.
CLI::Option* add_recording_output_option(CLI::App& sub, OutputPlace& place);
void add_force_option(CLI::App& sub, bool& is_forced);
// --mode: the permissions of the recording.
void add_mode_option(CLI::App& sub, std::string& mode);
// --top; `top_help`: the listed items.
void add_top_option(CLI::App& sub, int64_t& top, const std::string& top_help);
void add_color_option(CLI::App& sub, std::string& color);
// --max-bytes: the limit of the output as JSON.
void add_max_bytes_option(CLI::App& sub, std::string& max_bytes);
// Its value; none if it is empty. Throws a CLI::ValidationError.
std::optional<uint64_t> read_max_bytes(const std::string& max_bytes, const std::string& format);
// --process: a pid.
CLI::Option* add_process_option(CLI::App& sub, int64_t& process, const std::string& help);

// --format: one of `names`.
CLI::Option* add_format_option(CLI::App& sub, std::string& format, const std::string& help,
                               const std::vector<std::string>& names);
// The formats that have a report, or findings.
CLI::Option* add_format_option(CLI::App& sub, std::string& format, const std::string& help,
                               report::Render report::Format::*has);

// ---- the memory limit of commands that read unverified files

// Limits allocations to the memory of the machine and of the process's control group. A larger allocation fails, and
// main() reports it; without the limit, the system would kill other programs too. Not for commands that start the
// user's program, which would inherit the limit.
void stay_within_memory();

}  // namespace tapelens::cli
