#include "cli/output.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "analyzer/report/escape.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

constexpr unsigned kDefaultWidth = 100, kLeastWidth = 60, kMostWidth = 160;

// The width of the terminal; without a terminal, COLUMNS.
unsigned terminal_width(bool to_terminal) {
  winsize size{};
  unsigned width = kDefaultWidth;
  if (to_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  } else if (const char* columns = getenv("COLUMNS")) {
    const long said = strtol(columns, nullptr, 10);
    if (said > 0 && said < 10000) width = static_cast<unsigned>(said);
  }
  return std::min(std::max(width, kLeastWidth), kMostWidth);
}

// https://no-color.org
bool wants_color(const std::string& color, bool to_terminal) {
  if (color != "auto") return color == "always";
  const char* no_color = getenv("NO_COLOR");
  const char* terminal = getenv("TERM");
  return to_terminal && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || strcmp(terminal, "dumb") != 0);
}

std::array<char, 4096> unfinished{};
constexpr std::array<int, 4> kInterrupting = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

void remove_and_end(int signal) {
  if (unfinished[0] != '\0') unlink(unfinished.data());
  ::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

report::Style style_of(const OutputPlace& place, const std::string& color) {
  const bool to_terminal = place.is_standard() && isatty(STDOUT_FILENO) != 0;
  report::Style style;
  style.width = terminal_width(to_terminal);
  style.color = wants_color(color, to_terminal);
  return style;
}

trace::OutputOptions rendering(const OutputPlace& place, trace::OutputKind kind,
                               const std::vector<std::string>& made_of, const std::vector<std::string>& inputs) {
  trace::OutputOptions options;
  options.path = place.path;
  options.kind = std::move(kind);
  options.inputs = made_of;
  options.inputs.insert(options.inputs.end(), inputs.begin(), inputs.end());
  options.is_forced = place.is_forced;
  options.mode = trace::mode_of_made(made_of);
  options.unfinished = watch_unfinished;
  return options;
}

trace::OutputOptions also(const trace::OutputOptions& first, const std::string& name, const std::string& path,
                          trace::OutputKind kind) {
  trace::OutputOptions options = first;
  options.path = path;
  options.kind = std::move(kind);
  options.option = name;
  return options;
}

trace::OutputOptions recording_output(const OutputPlace& place, const std::string& mode, bool is_mode_given,
                                      std::vector<std::string> inputs) {
  trace::OutputOptions options;
  options.path = place.path;
  options.kind = trace::recording_kind();
  options.inputs = std::move(inputs);
  options.is_forced = place.is_forced;
  options.needs_file = true;
  options.needs_reader = true;
  options.mode = *parse_mode(mode);
  options.sets_mode = is_mode_given;
  options.unfinished = watch_unfinished;
  return options;
}

int check_outputs(std::initializer_list<trace::OutputOptions> outputs) {
  for (auto one = outputs.begin(); one != outputs.end(); ++one) {
    if (one->path.empty() && one->option != "-o") continue;  // not requested
    if (const auto may = trace::Output::check(*one); !may) return fail(may.error());
    for (auto other = outputs.begin(); other != one; ++other) {
      const bool are_files = trace::descriptor_of(one->path) < 0 && trace::descriptor_of(other->path) < 0;
      if (are_files && trace::is_same_file(one->path, other->path)) {
        return fail({one->path + ": " + other->option + " and " + one->option +
                         " name the same file: choose another one with " + one->option,
                     trace::ErrorKind::usage});
      }
    }
  }
  return kFine;
}

int write_output(std::string_view text, const trace::OutputOptions& options) {
  auto output = trace::Output::open(options);
  if (!output) return fail(output.error());
  if (const auto written = output->write(text); !written) return fail(written.error());
  if (const auto finished = output->finish(); !finished) return fail(finished.error());
  return kFine;
}

int check_recording_output(const trace::OutputOptions& output) {
  const int descriptor = trace::descriptor_of(output.path);
  if (descriptor >= 0 && isatty(descriptor) != 0) {
    return fail({"standard output is a terminal: choose a file with -o", trace::ErrorKind::usage});
  }
  return check_outputs({output});
}

std::string next_of(const OutputPlace& place) {
  struct stat made {};
  const bool is_file = !place.is_standard() && stat(place.path.c_str(), &made) == 0 && S_ISREG(made.st_mode);
  return is_file ? ". Next: tapelens report " + report::shell_quote(place.path) : "";
}

int print_output(std::string_view text) { return write_output(text, {}); }

void watch_unfinished(const std::string& path) {
  if (path.size() >= unfinished.size()) return;
  for (const int one : kInterrupting) {
    struct sigaction now {};
    sigaction(one, nullptr, &now);
    if (now.sa_handler == SIG_DFL) std::signal(one, remove_and_end);
  }
  unfinished[0] = '\0';
  std::memcpy(unfinished.data() + 1, path.c_str() + (path.empty() ? 0 : 1), path.empty() ? 1 : path.size());
  if (!path.empty()) unfinished[0] = path[0];
}

void add_mode_option(CLI::App& sub, std::string& mode) {
  sub.add_option("--mode", mode, "Permissions of the recording, octal; by default it is its owner's alone")
      ->type_name("MODE")
      ->capture_default_str()
      ->check([](const std::string& text) {
        return parse_mode(text) ? std::string()
                                : "'" + text + "' is not a mode that lets the owner read and write, like 0640";
      });
}

std::function<std::string(const std::string&)> one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
    const auto meant = nearest(text, words);
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
    return "'" + text + "' is not one of " + all + (meant ? "; did you mean '" + *meant + "'?" : "");
  };
}

void add_output_option(CLI::App& sub, OutputPlace& place) {
  sub.add_option("-o,--output", place.path, "Write to a file instead of standard output, which is -")
      ->type_name("FILE");
  add_force_option(sub, place.is_forced);
}

CLI::Option* add_recording_output_option(CLI::App& sub, OutputPlace& place) {
  add_force_option(sub, place.is_forced);
  return sub.add_option("-o,--output", place.path, "The recording to write; - is standard output")->type_name("FILE");
}

void add_force_option(CLI::App& sub, bool& is_forced) {
  sub.add_flag("--force", is_forced,
               "Replace a file that Tapelens did not write, or that is write-protected; never an input");
}

void add_top_option(CLI::App& sub, int64_t& top, const std::string& top_help) {
  sub.add_option("--top", top, top_help)->type_name("N")->check(CLI::NonNegativeNumber)->capture_default_str();
}

void add_color_option(CLI::App& sub, std::string& color) {
  sub.add_option("--color", color, "Color in text; auto: on a terminal, unless NO_COLOR is set")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("{auto,always,never}")
      ->capture_default_str();
}

void add_format_option(CLI::App& sub, std::string& format, const std::string& help,
                       report::Render report::Format::*has) {
  add_format_option(sub, format, help, report::format_names(has));
}

void add_format_option(CLI::App& sub, std::string& format, const std::string& help,
                       const std::vector<std::string>& names) {
  sub.add_option("--format", format, help)
      ->check(one_of(names))
      ->type_name("{" + joined(names, ",") + "}")
      ->capture_default_str();
}

}  // namespace tapelens::cli
