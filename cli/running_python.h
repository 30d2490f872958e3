// Loads Python code into a running process for `tapelens attach`, by CPython's sys.remote_exec() (PEP 768, from 3.14),
// if the facts about the process allow it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/result.h"

namespace tapelens::cli {

struct PythonVersion {
  int major = 0, minor = 0;
  auto operator<=>(const PythonVersion&) const = default;
};
inline constexpr PythonVersion kFirstWithRemoteExec{3, 14};

// ---- parts that need no process

// The version in the name of an interpreter, or of libpython: "/usr/bin/python3.14t" -> 3.14. None: no version.
std::optional<PythonVersion> version_in_name(std::string_view path);
// Whether a file is named like an interpreter: python, python3, python3.11.
bool is_interpreter_name(std::string_view path);
// A mapped file whose path ends with this name, of /proc/PID/maps; empty: none. Deleted files do not count.
std::string mapped_file(std::string_view maps, std::string_view ending);
// Nanoseconds since 1970 of a start in clock ticks since the boot (field 22 of /proc/PID/stat). `boot_ns`: the time of
// the boot since 1970.
int64_t began_ns(std::string_view stat, int64_t boot_ns, int64_t ticks_per_second);
// An error of sys.remote_exec(), as it prints it ("PermissionError: ..."), as a sentence for the user. `ptrace_scope`:
// the kernel's setting, as text.
std::string refused_text(const std::string& error, const std::string& ptrace_scope);

// ---- a process

struct RunningPython {
  pid_t pid = 0;
  std::string interpreter;  // for a command line in `root`
  std::string root;         // the folder that is "/" for the process; empty: the same as here
  std::string command;      // shell-quoted
  int64_t began_ns = 0;     // since 1970
};

// Whether the process can be attached to. The error is a sentence that begins with "pid N: ".
trace::Result<RunningPython> find_running_python(pid_t pid);

// Whether the process finds the same file at this absolute path.
bool sees(const RunningPython& process, const std::string& path);

// Asks the process to run a file of Python code on its main thread as soon as that thread runs Python. Returns at once.
trace::Status run_in(const RunningPython& process, const std::string& script);

}  // namespace tapelens::cli
