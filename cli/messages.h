// The messages of a command besides its result: progress, one line when a recording is sealed, errors.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/child.h"
#include "trace/result.h"
#include "trace/seal.h"

namespace tapelens::cli {

// Writes to standard error if that is a terminal, from the first second on. Empty otherwise.
std::function<void(double)> progress_line();
// The same for work whose parts have names.
std::function<void(std::string_view, double)> progress_of_parts();
// For work that formats its own line: if has_progress_line(), show_progress_line() shows it.
bool has_progress_line();
void show_progress_line(std::string_view text);
void clear_progress_line();

// "peak 92.1 MiB on cpu (rank 1), 1,234 events, run.tapelens (4.2 MiB)", and the data that was lost. `living`:
// processes that still run, which do not count as killed or crashed.
std::string describe(const trace::SealSummary& summary, const std::string& output, size_t living);

// Whether the recording lacks data that it should have. Forked children, which are never recorded, do not count.
bool lost_data(const trace::SealSummary& summary);

// Whether the recording lacks events that were to be recorded, so that it gives no valid figures.
bool lacks_events(const trace::SealSummary& summary);

// The end of a command's output file, to show why it failed; empty if it wrote nothing.
std::string end_of_file(const std::string& path);

// Prints one line on standard error; a closed stream does not end the process.
void say(const std::string& line);

// Prints why a command was not started, if so; returns its exit code.
int say_end(const ChildEnd& end);

// Prints an error and returns its exit code. Only this function maps kinds of errors to exit codes.
int fail(const trace::Error& error);

}  // namespace tapelens::cli
