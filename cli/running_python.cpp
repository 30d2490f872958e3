#include "cli/running_python.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "analyzer/text/escape.h"
#include "cli/child.h"
#include "cli/preload.h"
#include "cli/spool_folder.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInstead =
    ": start the program with `tapelens record --on-demand`, or call tapelens.flight_recorder() in it";

// Run by the interpreter of the process, which has exactly its version.
constexpr const char* kRemoteExec =
    "import sys\n"
    "try:\n"
    "    sys.remote_exec(int(sys.argv[1]), sys.argv[2])\n"
    "    print('asked')\n"
    "except AttributeError:\n"
    "    print('old %d.%d' % sys.version_info[:2])\n"
    "except BaseException as error:\n"
    "    print(type(error).__name__ + ': ' + str(error))\n";

std::string file_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

std::string of_process(pid_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

std::string read_whole(const std::string& path, int& error) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  error = file.is_open() ? 0 : errno;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string link_of(const std::string& path) {
  std::error_code error;
  return fs::read_symlink(path, error).string();
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat a {
  }, b{};
  return stat(one.c_str(), &a) == 0 && stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string text_of(const PythonVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

trace::Error too_old(pid_t pid, const PythonVersion& version) {
  return {"pid " + std::to_string(pid) + ": runs Python " + text_of(version) +
          ", and code can be loaded into a running program from Python 3.14 on" + std::string(kInstead)};
}

std::vector<std::string> words_of(const std::string& command_line) {
  std::vector<std::string> words;
  std::istringstream rest(command_line);
  for (std::string word; std::getline(rest, word, '\0');) words.push_back(word);
  return words;
}

int64_t boot_time_ns() {
  timespec real{}, boot{};
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_BOOTTIME, &boot);
  return (real.tv_sec - boot.tv_sec) * 1'000'000'000 + real.tv_nsec - boot.tv_nsec;
}

}  // namespace

std::optional<PythonVersion> version_in_name(std::string_view path) {
  const std::string name = file_name(path);
  const size_t at = name.find("python");
  if (at == std::string::npos) return std::nullopt;
  PythonVersion version;
  const char* end = name.data() + name.size();
  const auto [dot, error] = std::from_chars(name.data() + at + 6, end, version.major);
  if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  if (std::from_chars(dot + 1, end, version.minor).ec != std::errc()) return std::nullopt;
  return version;
}

bool is_interpreter_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("python")) return false;
  name.remove_prefix(6);
  while (!name.empty() && (name.front() == '.' || (name.front() >= '0' && name.front() <= '9'))) name.remove_prefix(1);
  return name.empty() || name == "t" || name == "d" || name == "td";  // free threading, debug
}

std::string mapped_file(std::string_view maps, std::string_view ending) {
  while (!maps.empty()) {
    const size_t end = std::min(maps.find('\n'), maps.size());
    const std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    const size_t path = line.find('/');
    if (path != std::string_view::npos && line.ends_with(ending)) return std::string(line.substr(path));
  }
  return {};
}

int64_t began_ns(std::string_view stat, int64_t boot_ns, int64_t ticks_per_second) {
  const size_t behind = stat.rfind(')');  // a name may contain anything
  if (behind == std::string_view::npos || ticks_per_second <= 0) return 0;
  std::istringstream fields{std::string(stat.substr(behind + 1))};
  std::string skipped;
  for (int i = 0; i < 19; ++i) fields >> skipped;
  int64_t ticks = 0;
  if (!(fields >> ticks)) return 0;
  return boot_ns + ticks / ticks_per_second * 1'000'000'000 +
         ticks % ticks_per_second * 1'000'000'000 / ticks_per_second;
}

std::string refused_text(const std::string& error, const std::string& ptrace_scope) {
  if (error.starts_with("PermissionError")) {
    std::string text = "the system does not let this user change the process (it needs the permission of ptrace";
    if (!ptrace_scope.empty() && ptrace_scope != "0") {
      text += "; kernel.yama.ptrace_scope is " + ptrace_scope + ": sudo sysctl kernel.yama.ptrace_scope=0";
    }
    return text + ")";
  }
  if (error.find("not enabled") != std::string::npos) {
    return "its Python does not accept code from outside (PYTHON_DISABLE_REMOTE_DEBUG, -X disable-remote-debug, or "
           "built without)" +
           std::string(kInstead);
  }
  return "its Python refuses to run code: " + error;
}

trace::Result<RunningPython> find_running_python(pid_t pid) {
  const std::string name = "pid " + std::to_string(pid);
  if (!is_alive(pid)) return trace::Error{name + ": no such process"};
  struct stat owner {};
  if (stat(of_process(pid, "").c_str(), &owner) != 0) return trace::Error{name + ": no such process"};
  // Also for root: the process itself writes the recording, into a folder of this user.
  if (owner.st_uid != geteuid()) {
    return trace::Error{name + ": belongs to another user: run `tapelens attach` as that user"};
  }
  int error = 0;
  const std::string maps = read_whole(of_process(pid, "maps"), error);
  const std::string executable = link_of(of_process(pid, "exe"));
  if (error != 0 || executable.empty()) {
    return trace::Error{name + ": cannot be looked at: " + std::strerror(error != 0 ? error : EACCES)};
  }
  RunningPython process;
  process.pid = pid;
  const std::vector<std::string> words = words_of(read_whole(of_process(pid, "cmdline"), error));
  process.command = text::shell_quote(words.empty() ? std::vector<std::string>{executable} : words);
  process.began_ns = began_ns(read_whole(of_process(pid, "stat"), error), boot_time_ns(), sysconf(_SC_CLK_TCK));

  if (!mapped_file(maps, kInjectName).empty()) {
    return trace::Error{name + ": was started by Tapelens, and is recorded or was: tapelens top " +
                        std::to_string(pid)};
  }
  if (const std::string spool = mapped_file(maps, ".spool");
      !spool.empty() && state_of(spool) == trace::SpoolState::recording) {
    return trace::Error{name + ": is recorded already, into " +
                        text::shell_quote(fs::path(spool).parent_path().string())};
  }
  if (!is_interpreter_name(executable)) {
    return trace::Error{name + ": is not a Python program: it runs " + text::shell_quote(executable)};
  }
  if (const auto version = version_in_name(executable); version && *version < kFirstWithRemoteExec) {
    return too_old(pid, *version);
  }
  if (mapped_file(maps, "/libtorch_cpu.so").empty()) {
    return trace::Error{name + ": has not imported PyTorch: attach when it trains, or start it with `tapelens record`"};
  }
  if (link_of(of_process(pid, "ns/mnt")) != link_of("/proc/self/ns/mnt")) {
    return trace::Error{name + ": runs in a container, with other files: run `tapelens attach` inside of it"};
  }
  std::string root = link_of(of_process(pid, "root"));
  if (root == link_of("/proc/self/root")) root.clear();
  process.root = root;
  process.interpreter = executable.starts_with(root) ? executable.substr(root.size()) : executable;
  if (!is_same_file(executable, of_process(pid, "exe"))) {
    return trace::Error{name + ": its interpreter " + text::shell_quote(executable) + " was replaced or removed"};
  }
  return process;
}

bool sees(const RunningPython& process, const std::string& path) {
  return process.root.empty() || is_same_file(path, process.root + path);
}

trace::Status run_in(const RunningPython& process, const std::string& script) {
  std::vector<std::string> command;
  if (!process.root.empty()) command = {"/usr/sbin/chroot", process.root};
  // Isolated (-I): neither the user's variables nor the current folder change it. Without site (-S).
  for (const std::string& word : {process.interpreter, std::string("-I"), std::string("-S"), std::string("-c"),
                                  std::string(kRemoteExec), std::to_string(process.pid), script}) {
    command.push_back(word);
  }
  const ProgramAnswer answer = ask(command);
  std::string said = answer.output;
  while (said.ends_with('\n')) said.pop_back();
  if (said == "asked") return trace::Done{};
  const std::string name = "pid " + std::to_string(process.pid);
  if (!is_alive(process.pid)) return trace::Error{name + ": has ended"};
  if (said.starts_with("old ")) return too_old(process.pid, version_in_name("python" + said.substr(4)).value());
  if (said.empty()) {
    return trace::Error{name + ": its interpreter " + text::shell_quote(process.interpreter) + " does not start here"};
  }
  int error = 0;
  std::string scope = read_whole("/proc/sys/kernel/yama/ptrace_scope", error);
  while (scope.ends_with('\n')) scope.pop_back();
  return trace::Error{name + ": " + refused_text(said, scope)};
}

}  // namespace tapelens::cli
