#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

constexpr unsigned kDefaultWidth = 100, kLeastWidth = 60, kMostWidth = 160;

// The terminal's width; COLUMNS says it where there is none.
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

// An error's number, 0 if all is written.
int write_text(const std::string& text, const std::string& output) {
  FILE* file = output.empty() ? stdout : fopen(output.c_str(), "w");
  if (file == nullptr) return errno;
  errno = 0;
  const bool written = fwrite(text.data(), 1, text.size(), file) == text.size() && fflush(file) == 0;
  const int error = written ? 0 : errno;
  if (file != stdout && fclose(file) != 0 && error == 0) return errno;
  return error == EPIPE ? 0 : error;
}

}  // namespace

report::Style style_of(const std::string& output, const std::string& color) {
  const bool to_terminal = output.empty() && isatty(STDOUT_FILENO) != 0;
  report::Style style;
  style.width = terminal_width(to_terminal);
  style.color = wants_color(color, to_terminal);
  return style;
}

int write_output(const std::string& text, const std::string& output) {
  if (const int error = write_text(text, output)) {
    say((output.empty() ? "standard output" : output) + ": cannot be written: " + strerror(error));
    return kUnreadable;
  }
  return kFine;
}

void add_mode_option(CLI::App& sub, std::string& mode) {
  sub.add_option("--mode", mode, "Permissions of the recording, octal; by default it is its owner's alone")
      ->type_name("MODE")
      ->capture_default_str()
      ->check([](const std::string& text) {
        return parse_mode(text) ? std::string()
                                : "'" + text + "' is no mode that its owner can read and write, like 0640";
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

void add_output_option(CLI::App& sub, std::string& output) {
  sub.add_option("-o,--output", output, "Write to a file instead of standard output")->type_name("FILE");
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
