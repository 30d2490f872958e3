// tapelens view: opens a recording in the window, tapelens-gui. That is a separate program, so that this one needs no
// Qt.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "analyzer/live/live_run.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/doctor_probe.h"
#include "cli/messages.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWindow = "tapelens-gui";

struct ViewCommand {
  std::string file, other;
  // Passed on as given; the window checks and explains the values.
  std::optional<std::string> page, device, at, screenshot, card, size, scheme;
  bool is_forced = false;
};

// Why a recording cannot be opened; a mistyped name is reported here, not in a window.
std::string unreadable(const std::string& path) {
  struct stat status {};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool is_open = file >= 0 && fstat(file, &status) == 0;
  const int why = is_open && S_ISDIR(status.st_mode) ? EISDIR : is_open ? 0 : errno;
  if (file >= 0) close(file);
  if (why == 0) return {};
  return path + ": cannot be read: " + std::strerror(why) + ": give the path of a .tapelens file";
}

// Keeps a path that begins like an option from being read as one.
std::string as_argument(const std::string& path) { return path.starts_with("-") ? "./" + path : path; }

std::vector<std::string> arguments_of(const ViewCommand& command) {
  std::vector<std::string> words;
  for (const auto& [name, value] : {std::pair{"--page", &command.page},
                                    {"--device", &command.device},
                                    {"--at", &command.at},
                                    {"--screenshot", &command.screenshot},
                                    {"--export-card", &command.card},
                                    {"--size", &command.size},
                                    {"--scheme", &command.scheme}}) {
    if (*value) words.push_back(std::string(name) + "=" + **value);
  }
  if (command.is_forced) words.emplace_back("--force");
  for (const std::string* path : {&command.file, &command.other}) {
    if (!path->empty()) words.push_back(as_argument(*path));
  }
  return words;
}

// The window program of this installation, else the one in PATH.
std::string window_program() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return kWindow;
  const fs::path beside = self.parent_path() / kWindow;
  return access(beside.c_str(), X_OK) == 0 ? beside.string() : kWindow;
}

// The loader ends a program with 127 if it does not find a library.
bool lacks_qt(const std::string& window) {
  const ProgramFacts facts = look_into(window);
  return facts.error.empty() && facts.dynamic && ask({window, "--version"}).exit_code == 127;
}

int view_command(const ViewCommand& command) {
  for (const std::string* path : {&command.file, &command.other}) {
    if (path->empty()) continue;
    if (path == &command.file && live::target_at(*path)) continue;  // the window follows the run
    if (const std::string why = unreadable(*path); !why.empty()) {
      say(why);
      return kUnreadable;
    }
  }
  std::vector<std::string> words = arguments_of(command);
  words.insert(words.begin(), window_program());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string instead = "; tapelens report FILE --format html makes a page that any browser shows";
  if (lacks_qt(words[0])) {
    say("tapelens-gui finds no Qt 6 here: pip install 'tapelens[gui]', or apt install libqt6widgets6 libqt6svg6" +
        instead);
    return kNo;
  }
  execvp(argv[0], argv.data());
  say(errno == ENOENT && words[0] == kWindow ? "tapelens-gui is not installed: pip install 'tapelens[gui]'" + instead
                                             : words[0] + ": cannot be run: " + std::strerror(errno));
  return kNo;
}

}  // namespace

CommandFunction declare_view(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens view run.tapelens   the timeline\n"
      "  tapelens view run.tapelens --page peak --at step:2   the peak of a training step\n"
      "  tapelens view run.tapelens.spool   the run that is recorded now\n"
      "  tapelens view before.tapelens after.tapelens   the changes between two runs\n"
      "  tapelens view run.tapelens --page advice --screenshot advice.png\n"
      "\n"
      "The window is a separate program, tapelens-gui, beside tapelens or on PATH: pip install 'tapelens[gui]'.\n"
      "\n"
      "Exit codes:\n"
      "  0   the window was closed\n"
      "  1   tapelens-gui is not installed or cannot be run\n"
      "  2   wrong usage\n"
      "  3   the file cannot be read, or the picture cannot be written");
  const auto options = std::make_shared<ViewCommand>();
  sub.add_option("FILE", options->file,
                 "The recording, or FILE.spool while a program is recorded; without it the window is empty")
      ->type_name("");
  sub.add_option("OTHER", options->other, "A second one, to compare the first with")->type_name("");
  sub.add_option("--page", options->page, "The first page to show; with OTHER compare, otherwise timeline")
      ->type_name("{" TAPELENS_PAGES "}");
  sub.add_option("--device", options->device,
                 "Select a device, like cuda:0; by default a GPU before the CPU, then the largest peak")
      ->type_name("NAME");
  sub.add_option("--at", options->at,
                 "Select a moment: peak, step:N (the peak of a step), oom or oom:N (a request that found no "
                 "memory), 1.5s, 250ms, 1234ns")
      ->type_name("MOMENT");
  sub.add_option("--screenshot", options->screenshot, "Write a picture of the page and exit; needs no display")
      ->type_name("PATH");
  sub.add_option("--export-card", options->card,
                 "Write one picture to share, PNG or SVG, and exit: the curve before and after, and the fixes")
      ->type_name("PATH");
  sub.add_flag("--force", options->is_forced, "Let a picture replace a file that Tapelens did not write");
  sub.add_option("--size", options->size, "Size of the window, in pixels: 1280x720")->type_name("WxH");
  sub.add_option("--scheme", options->scheme, "Colors of the window; by default the system's")
      ->type_name("{system,light,dark}");
  return [options](const Words&) { return view_command(*options); };
}

}  // namespace tapelens::cli
