// tapelens attach: records a Python program that already runs. CPython loads the preload library and the probe into it
// (running_python.h, profiler/inject/attach.c); from then on the processes meet in the folder of the spools, as under
// `tapelens record`.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "analyzer/text/escape.h"
#include "base/python_literal.h"
#include "cli/commands.h"
#include "cli/explanation.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/preload.h"
#include "cli/running_python.h"
#include "cli/scoped_files.h"
#include "cli/sealing.h"
#include "cli/spool_folder.h"
#include "cli/text.h"
#include "trace/recording_options.h"
#include "trace/regular_file.h"
#include "trace/variables.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kAttachLook{20}, kAttachPatience{3000};
constexpr const char* kAttachScript = "attach.py";
constexpr const char* kDetachScript = "detach.py";
constexpr const char* kAttachWanted =
    "wanted";  // removed by the script when it begins, or by this process when it gives up
constexpr const char* kAttachAnswer = "answer";

struct AttachOptions {
  int64_t pid = 0;
  OutputPlace output{.path = "run.tapelens"};
  std::optional<uint64_t> steps;
  std::optional<int64_t> duration;  // ns
  std::string max_size = "8GiB", spool_folder, mode = "0600";
  bool is_mode_given = false, quiet = false;
};

std::atomic<int> g_interrupts{0};
void interrupted(int) { g_interrupts.fetch_add(1); }

// SIGINT, SIGTERM and SIGHUP end the recording instead of this process.
void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = interrupted;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

// Notices the end of a process that is not a child, also if another one gets its number.
class ProcessEnd {
 public:
  explicit ProcessEnd(pid_t pid) : pid_(pid), descriptor_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  ~ProcessEnd() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  ProcessEnd(const ProcessEnd&) = delete;
  ProcessEnd& operator=(const ProcessEnd&) = delete;
  // Waits for it, or for this time.
  bool wait(milliseconds time) const {
    if (descriptor_ < 0) {  // an old kernel
      std::this_thread::sleep_for(time);
      return !is_alive(pid_);
    }
    pollfd one{descriptor_, POLLIN, 0};
    return poll(&one, 1, static_cast<int>(time.count())) == 1;
  }

 private:
  const pid_t pid_;
  const int descriptor_;
};

// A text of Python with these bytes.
std::string python_text(std::string_view bytes) { return "os.fsdecode(" + base::bytes_literal(bytes) + ")"; }

bool write_file(const std::string& path, std::string_view text) {
  const OpenFile file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  return file.descriptor() >= 0 &&
         write(file.descriptor(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string read_text(const std::string& path) {
  const auto bytes = trace::read_regular_file(path, size_t{1} << 20);
  return bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
}

// The files of one attach.
class Attachment {
 public:
  Attachment(const RunningPython& process, std::string folder)
      : process_(process), folder_(std::move(folder)), number_(std::to_string(monotonic_now())), end_(process.pid) {}
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Waits until the process records itself.
  trace::Status begin(const AttachOptions& options, const trace::RecordingOptions& recording);
  // Waits for the end of the recording.
  void follow(const AttachOptions& options) const;
  // Ends the recording in a process that runs on. False: the user did not wait for it.
  bool detach() const;

  bool has_process_ended() const { return end_.wait(milliseconds(0)); }
  // Lines of the probe for the user.
  std::string said() const { return read_text(file(TAPELENS_SAID)); }
  // Removes what is not a spool.
  void remove_files() const;

 private:
  std::string file(std::string_view name) const { return folder_ + "/" + std::string(name); }
  std::string library() const { return file(number_ + TAPELENS_ATTACHED_INJECT); }
  std::string script(const AttachOptions& options, const trace::RecordingOptions& recording) const;
  std::string end_script() const;
  // Waits for the answer of a script, and returns it. It returns nothing if the process ended or the user gave up.
  // The caller names the purpose of the script in `what`.
  std::optional<std::string> wait_for_answer(std::string_view what, bool& is_cancelled) const;

  const RunningPython& process_;
  const std::string folder_, number_;
  const ProcessEnd end_;
};

// Python code that answers in a file, without a trace in the program: its own globals, no output, no environment.
constexpr const char* kPythonBegin = R"(
def run():
    import ctypes
    import gc
    import os
    import sys

    def answer(text):
        with open(folder + "/answer.part", "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(folder + "/answer.part", folder + "/answer")

    folder, path, settings, with_optimizer, without = )";
constexpr const char* kPythonAttach = R"(
    try:
        os.unlink(folder + "/wanted")
    except OSError:
        return
    try:
        torch = sys.modules.get("torch")
        if torch is None or getattr(torch.__spec__, "_initializing", False):
            answer("it is importing PyTorch: attach when it trains")
            return
        kinds, ids = [sys.modules["torch.optim.optimizer"].Optimizer], set()
        for kind in kinds:
            if id(kind) not in ids:
                ids.add(id(kind))
                kinds += type.__subclasses__(kind)
        steps = any(map(ids.__contains__, map(id, map(type, gc.get_objects()))))
        settings = os.fsencode(settings + (with_optimizer if steps else without))
        library = ctypes.PyDLL(path)
        library.tapelens_attach.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
        answer("" if library.tapelens_attach(settings, len(settings)) else "refused")
    except Exception as error:
        answer(f"{type(error).__name__}: {error}")

run()
)";
constexpr const char* kPythonDetach = R"(
    try:
        library = ctypes.PyDLL(path)
        library.tapelens_detach.restype = None
        library.tapelens_detach()
        answer("")
    except Exception as error:
        answer(f"{type(error).__name__}: {error}")

run()
)";

std::string Attachment::script(const AttachOptions& options, const trace::RecordingOptions& recording) const {
  std::string settings;
  const auto set = [](std::string_view name, const std::string& value) {
    return std::string(name) + "=" + value + std::string(1, '\0');
  };
  for (const auto& [name, value] : trace::environment_of(recording)) {
    if (!value.empty()) settings += set(name, value);
  }
  settings += set(TAPELENS_ATTACH, number_) + set(TAPELENS_LIBRARIES, library_folder()) +
              set(TAPELENS_BUILT_PROBES, built_probe_folder()) +
              set(TAPELENS_BEGAN_NS, std::to_string(process_.began_ns));
  // The graph of the current step was built unseen. So nodes and saves are recorded from the next step on.
  const auto window = [&](uint64_t first) {
    if (!options.steps && first == 0) return std::string();
    const trace::StepWindow steps{first, options.steps ? first + *options.steps : UINT64_MAX};
    return set(TAPELENS_STEPS, trace::text_of(steps));
  };
  return kPythonBegin + python_text(folder_) + ", " + python_text(library()) + ", " + python_text(settings) + ", " +
         python_text(window(1)) + ", " + python_text(window(0)) + kPythonAttach;
}

std::string Attachment::end_script() const {
  return kPythonBegin + python_text(folder_) + ", " + python_text(library()) + ", None, None, None" + kPythonDetach;
}

std::optional<std::string> Attachment::wait_for_answer(std::string_view what, bool& is_cancelled) const {
  const int before = g_interrupts.load();
  const auto begin = Clock::now();
  bool is_said = false;
  while (true) {
    const bool has_ended = end_.wait(kAttachLook);  // before the last look for the answer
    if (fs::exists(file(kAttachAnswer))) {
      std::string text = read_text(file(kAttachAnswer));
      unlink(file(kAttachAnswer).c_str());
      return text;
    }
    if (has_ended) return std::nullopt;
    if (g_interrupts.load() != before) {
      is_cancelled = true;
      return std::nullopt;
    }
    if (!is_said && Clock::now() - begin > kAttachPatience) {
      say("waiting for the main thread of pid " + std::to_string(process_.pid) + " to run Python, " +
          std::string(what) + "; Ctrl-C gives up");
      is_said = true;
    }
  }
}

trace::Status Attachment::begin(const AttachOptions& options, const trace::RecordingOptions& recording) {
  const std::string name = "pid " + std::to_string(process_.pid) + ": ";
  std::error_code error;
  if (!fs::copy_file(library_folder() + "/" + kInjectName, library(), error)) {
    return trace::Error{library() + ": " + error.message()};
  }
  for (const std::string& path : {library(), library_folder() + "/" + kInjectName}) {
    if (!sees(process_, path)) {
      return trace::Error{name + "runs in another root folder (chroot), which lacks  " + text::shell_quote(path)};
    }
  }
  if (!write_file(file(kAttachScript), script(options, recording)) || !write_file(file(kAttachWanted), "")) {
    return trace::Error{folder_ + ": " + std::strerror(errno)};
  }
  if (auto asked = run_in(process_, file(kAttachScript)); !asked) return asked;
  bool is_cancelled = false;
  auto answer = wait_for_answer("to begin the recording", is_cancelled);
  if (is_cancelled && unlink(file(kAttachWanted).c_str()) == 0) {
    return trace::Error{name + "ran no Python in the meantime; nothing was recorded"};
  }
  while (is_cancelled && !answer && !end_.wait(milliseconds(0)))
    answer = wait_for_answer("to begin the recording", is_cancelled);
  if (!answer) return trace::Error{name + "has ended"};
  if (answer->empty()) return trace::Done{};
  if (*answer != "refused") return trace::Error{name + *answer};
  const auto explanation = read_explanation(folder_);
  return trace::Error{name + (explanation ? explanation->why : "the probe did not start")};
}

void Attachment::follow(const AttachOptions& options) const {
  const auto begin = Clock::now();
  while (g_interrupts.load() == 0 && !end_.wait(milliseconds(50))) {
    if (options.duration && Clock::now() - begin >= std::chrono::nanoseconds(*options.duration)) return;
    const std::vector<std::string> spools = spools_in(folder_);
    if (std::ranges::any_of(spools,
                            [](const std::string& spool) { return state_of(spool) != trace::SpoolState::recording; }))
      return;
  }
}

bool Attachment::detach() const {
  if (!write_file(file(kDetachScript), end_script())) return false;
  if (const auto asked = run_in(process_, file(kDetachScript)); !asked) return has_process_ended();
  bool is_cancelled = false;
  const auto answer = wait_for_answer("to end the recording", is_cancelled);
  if (answer && !answer->empty()) say("pid " + std::to_string(process_.pid) + ": " + *answer);
  return !is_cancelled;
}

void Attachment::remove_files() const {
  for (const std::string_view name :
       {std::string_view(kAttachScript), std::string_view(kDetachScript), std::string_view(kAttachWanted),
        std::string_view(kAttachAnswer), std::string_view(TAPELENS_SAID)})
    unlink(file(name).c_str());
  unlink(library().c_str());
  unlink(file(number_ + TAPELENS_ATTACHED_PROBE).c_str());
}

// The program keeps the end of its spool mapped, whose space on disk is not needed any more.
void release_space(const std::string& folder) {
  for (const std::string& spool : spools_in(folder)) {
    const OpenFile file(spool, O_RDWR | O_NOFOLLOW);
    const off_t bytes = file.descriptor() >= 0 ? lseek(file.descriptor(), 0, SEEK_END) : 0;
    if (bytes > 0) fallocate(file.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, bytes);
  }
}

void say_lines(const std::string& lines) {
  constexpr std::string_view kPrefix = "tapelens: ";
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    std::string_view line = std::string_view(lines).substr(at, end - at);
    if (line.starts_with(kPrefix)) line.remove_prefix(kPrefix.size());
    say(std::string(line));
    at = end + 1;
  }
}

int attach(const AttachOptions& options) {
  if (library_folder().empty()) {
    return fail({std::string(kInjectName) + " is not installed beside this tapelens (see `tapelens doctor`)"});
  }
  const auto process = find_running_python(static_cast<pid_t>(options.pid));
  if (!process) return fail(process.error());
  trace::OutputOptions output = recording_output(options.output, options.mode, options.is_mode_given, {});
  output.unfinished = {};
  if (trace::descriptor_of(output.path) >= 0) {
    return fail({"attach makes a file, not a stream: choose one with -o", trace::ErrorKind::usage});
  }
  if (const auto may = trace::Output::check(output); !may) return fail(may.error());
  const SpoolFolder folder = make_spool_folder(options.output.path, options.spool_folder, options.output.is_forced);
  if (folder.state == SpoolFolder::State::cannot) return fail({folder.reason});
  if (folder.state == SpoolFolder::State::holds_spools) {
    return fail({text::shell_quote(folder.path) + " holds a recording that was never sealed. Keep it: tapelens seal " +
                     text::shell_quote(folder.path) + " -o FILE --remove. Discard it: tapelens attach --force",
                 trace::ErrorKind::usage});
  }
  output.spare_folder = folder.path;
  catch_interrupts();
  Attachment attachment(*process, folder.path);
  const uint64_t begin = monotonic_now();
  const trace::RecordingOptions recording{
      .spool = folder.path, .epoch_ns = begin, .max_bytes = std::stoull(options.max_size)};
  if (const auto begun = attachment.begin(options, recording); !begun) {
    // A script that the program has not read yet must stay: it does nothing any more.
    if (g_interrupts.load() == 0) {
      attachment.remove_files();
      remove_spool_folder(folder.path);
    }
    return fail(begun.error());
  }
  if (!options.quiet) {
    say("recording pid " + std::to_string(options.pid) + " into " + text::shell_quote(options.output.path) +
        ", Ctrl-C ends the recording");
  }
  attachment.follow(options);
  const bool is_detached = attachment.has_process_ended() || attachment.detach();
  const auto duration = static_cast<int64_t>(monotonic_now() - begin);

  trace::SealOptions sealing;
  sealing.directory = folder.path;
  sealing.command = process->command;
  sealing.duration_ns = duration;
  if (!options.quiet) sealing.progress = progress_line();
  sealing.running = living_processes(folder.path);
  const auto sealed = seal_into(std::move(output), sealing, {});
  clear_progress_line();
  if (!options.quiet) say_lines(attachment.said());
  const std::string by_hand =
      "tapelens seal " + text::shell_quote(folder.path) + " -o " + text::shell_quote(options.output.path);
  if (!sealed) {
    return fail({"the recording could not be sealed: " + sealed.error().message + "; its spools are kept: " + by_hand});
  }
  if (is_detached) {
    release_space(folder.path);
    attachment.remove_files();
    remove_spool_folder(folder.path);
  }
  if (sealed->processes.empty()) {
    return fail({"nothing was recorded: pid " + std::to_string(options.pid) + " ran no operator of PyTorch"});
  }
  if (!options.quiet) {
    say(describe(*sealed, options.output.path, sealing.running.size()) +
        (is_detached
             ? next_of(options.output)
             : "; pid " + std::to_string(options.pid) + " still records, when it has ended: " + by_hand + " --remove"));
  }
  return kFine;
}

}  // namespace

CommandFunction declare_attach(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens attach 4711 -o job.tapelens\n"
      "  tapelens attach 4711 --steps 3\n"
      "  tapelens attach 4711 --for 30s\n"
      "\n"
      "The program needs Python 3.14 or newer, and runs on afterwards. Older memory has no stack. From the "
      "next step on the recording has operators, saves and all stacks. Without --steps and --for it ends at Ctrl-C, or "
      "with the program.\n"
      "\n"
      "Exit codes:\n"
      "  0   recorded\n"
      "  2   wrong usage\n"
      "  3   the process cannot be recorded, or FILE cannot be written");
  const auto options = std::make_shared<AttachOptions>();
  sub.add_option("PID", options->pid, "The process: Python, with PyTorch")
      ->required()
      ->check(whole_number(1, INT32_MAX))
      ->type_name("");
  sub.add_option("-o,--output", options->output.path, "The recording; it replaces an older one when it is complete")
      ->type_name("FILE")
      ->capture_default_str();
  auto* steps = sub.add_option("--steps", "End after N whole training steps")->type_name("N");
  steps->check(whole_number(1, INT32_MAX))->each([options](const std::string& text) {
    options->steps = std::stoull(text);
  });
  sub.add_option("--for", "End after this time, like 30s")
      ->type_name("TIME")
      ->excludes(steps)
      ->each([options](const std::string& text) {
        options->duration = parse_duration(text);
        if (!options->duration) throw CLI::ValidationError("--for", "'" + text + "' is not a time, like 30s");
      });
  sub.add_option("--max-size", options->max_size,
                 "End when the spool, the file that the process writes, reaches this size")
      ->type_name("SIZE")
      ->capture_default_str();
  sub.add_option("--spool", options->spool_folder,
                 "The folder of FILE.spool/, to which the process writes; by default beside FILE")
      ->type_name("DIR");
  add_mode_option(sub, options->mode);
  sub.add_flag("--quiet", options->quiet, "Print errors only");
  add_force_option(sub, options->output.is_forced);
  return [&sub, options](const Words&) {
    const auto bytes = parse_bytes(options->max_size);
    if (!bytes || *bytes == 0)
      throw CLI::ValidationError("--max-size", "'" + options->max_size + "' is not a size, like 8GiB");
    AttachOptions ready = *options;
    ready.max_size = std::to_string(*bytes);
    ready.is_mode_given = sub.count("--mode") > 0;
    return attach(ready);
  };
}

}  // namespace tapelens::cli
