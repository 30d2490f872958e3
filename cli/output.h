// Where a command's result goes and how it looks there; what its options may be.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/report/formats.h"

namespace tapelens::cli {

// For the text that goes to `output`, standard output if that is empty. `color`: auto, always or never.
report::Style style_of(const std::string& output, const std::string& color);

// kFine, or kUnreadable after a line that says why. A reader that has seen enough (`| head`) is no error.
int write_output(const std::string& text, const std::string& output);

// --mode: who may read the recording that is written.
void add_mode_option(CLI::App& sub, std::string& mode);

// -o, --top and --color, which mean the same in every command that has them. `top_help`: what is listed.
void add_output_option(CLI::App& sub, std::string& output);
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
