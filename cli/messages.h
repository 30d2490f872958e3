// What a command says besides its result: progress while it runs, one line when a recording is sealed, errors.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/child.h"
#include "trace/result.h"
#include "trace/seal.h"

namespace tapelens::cli {

// Writes to standard error if that is a terminal, and only once it has taken a second. Empty otherwise.
std::function<void(double)> progress_line();
// The same for work that says what it is doing.
std::function<void(std::string_view, double)> progress_of_parts();
// The same for work that says so itself: where `has_progress_line()`, this in its place.
bool has_progress_line();
void show_progress_line(std::string_view text);
void clear_progress_line();

// "peak 92.1 MiB on cpu (rank 1), 1,234 events, run.tapelens (4.2 MiB)", and what was lost. `living` of the processes
// still run: they are not among those that were killed or crashed.
std::string describe(const trace::SealSummary& summary, const std::string& output, size_t living);

// Data that the recording should hold and does not; forked children, which are never recorded, aside.
bool lost_data(const trace::SealSummary& summary);

// Whether what is lost so is events that were to be recorded.
bool leaves_events_out(trace::Loss kind);

// The end of what a command wrote into a file, for the user to see why it failed; empty: nothing.
std::string end_of_file(const std::string& path);

// One line on standard error; a closed one does not end the process.
void say(const std::string& line);

// Says why a command was not started, if it was not; its exit code.
int say_end(const ChildEnd& end);

// Says an error and answers its exit code: the one place where that follows from the error's kind.
int fail(const trace::Error& error);

}  // namespace tapelens::cli
