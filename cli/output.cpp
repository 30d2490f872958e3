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

#include "analyzer/text/escape.h"
#include "analyzer/text/shortened_json.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

constexpr unsigned kDefaultWidth = 100, kLeastWidth = 60, kMostWidth = 160;  // least: for tables

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

unsigned terminal_width(int descriptor) {
  winsize size{};
  unsigned width = kDefaultWidth;
  if (isatty(descriptor) != 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  } else if (const char* columns = getenv("COLUMNS")) {
    const long said = strtol(columns, nullptr, 10);
    if (said > 0 && said < 10000) width = static_cast<unsigned>(said);
  }
  return std::min(width, kMostWidth);
}

bool is_color_wanted(int descriptor) { return wants_color("auto", isatty(descriptor) != 0); }

text::Style style_of(const OutputPlace& place, const std::string& color) {
  const bool to_terminal = place.is_standard() && isatty(STDOUT_FILENO) != 0;
  text::Style style;
  style.width = std::max(terminal_width(place.is_standard() ? STDOUT_FILENO : -1), kLeastWidth);
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

int write_within(std::optional<uint64_t> max_bytes, const std::string& text, const trace::OutputOptions& options) {
  if (!max_bytes || text.size() <= *max_bytes) return write_output(text, options);
  const text::Json whole = text::Json::parse(text);
  if (const auto cut = text::shortened(whole, *max_bytes)) return write_output(*cut, options);
  return fail({"--max-bytes " + std::to_string(*max_bytes) + ": this output has at least " +
                   std::to_string(text::shortest(whole)) + " bytes",
               trace::ErrorKind::usage});
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
  return is_file ? ". Next: tapelens report " + text::shell_quote(place.path) : "";
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

}  // namespace tapelens::cli
