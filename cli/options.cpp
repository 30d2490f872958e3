#include "cli/options.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>

#include "analyzer/check/check.h"
#include "cli/text.h"

namespace tapelens::cli {

ValueCheck one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
    const auto meant = nearest(text, words);
    return "'" + text + "' is not one of " + joined(words, ", ") + (meant ? "; did you mean '" + *meant + "'?" : "");
  };
}

ValueCheck whole_number(int64_t least, int64_t most) {
  return [least, most](const std::string& text) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most) {
      return std::string();
    }
    const bool is_open = most == std::numeric_limits<int64_t>::max();
    return "'" + text + "' is not a whole number " +
           (is_open ? "of at least " + std::to_string(least)
                    : "from " + std::to_string(least) + " to " + std::to_string(most));
  };
}

CLI::Option* with_choices(CLI::Option* option, const std::vector<std::string>& words) {
  return option->check(one_of(words))->type_name("{" + joined(words, ",") + "}");
}

CLI::Option* repeatable(CLI::Option* option) { return option->expected(1)->take_all()->allow_extra_args(false); }

std::vector<std::string> severity_names() {
  std::vector<std::string> names;
  for (const auto one : {check::Severity::info, check::Severity::warning, check::Severity::error}) {
    names.emplace_back(check::severity_name(one));
  }
  return names;
}

void add_output_option(CLI::App& sub, OutputPlace& place) {
  sub.add_option("-o,--output", place.path, "Write to this file; - is standard output, the default")->type_name("FILE");
  add_force_option(sub, place.is_forced);
}

CLI::Option* add_recording_output_option(CLI::App& sub, OutputPlace& place) {
  CLI::Option* output =
      sub.add_option("-o,--output", place.path, "The recording to write; - is standard output")->type_name("FILE");
  add_force_option(sub, place.is_forced);
  return output;
}

void add_force_option(CLI::App& sub, bool& is_forced) {
  sub.add_flag("--force", is_forced,
               "Replace a file that Tapelens did not write, or that is write-protected; never an input");
}

void add_mode_option(CLI::App& sub, std::string& mode) {
  sub.add_option("--mode", mode, "Permissions of the recording, octal; by default only its owner can read it")
      ->type_name("MODE")
      ->capture_default_str()
      ->check([](const std::string& text) {
        return parse_mode(text) ? std::string()
                                : "'" + text + "' is not a mode that lets the owner read and write, like 0640";
      });
}

void add_top_option(CLI::App& sub, int64_t& top, const std::string& top_help) {
  sub.add_option("--top", top, top_help)->type_name("N")->check(whole_number(0))->capture_default_str();
}

void add_color_option(CLI::App& sub, std::string& color) {
  with_choices(sub.add_option("--color", color, "Color of text; auto: on a terminal, unless NO_COLOR is set"),
               {"auto", "always", "never"})
      ->capture_default_str();
}

void add_max_bytes_option(CLI::App& sub, std::string& max_bytes) {
  sub.add_option("--max-bytes", max_bytes,
                 "With --format json: write at most this many bytes, and cut the longest lists; the key left_out "
                 "counts what is cut")
      ->type_name("SIZE");
}

std::optional<uint64_t> read_max_bytes(const std::string& max_bytes, const std::string& format) {
  if (max_bytes.empty()) return std::nullopt;
  const auto bytes = parse_bytes(max_bytes);
  if (!bytes) throw CLI::ValidationError("--max-bytes", "'" + max_bytes + "' is not a size, like 20000 or 20KiB");
  if (format != "json") throw CLI::ValidationError("--max-bytes", "needs --format json");
  return bytes;
}

CLI::Option* add_process_option(CLI::App& sub, int64_t& process, const std::string& help) {
  return sub.add_option("--process", process, help)->type_name("PID")->check(whole_number(1, UINT32_MAX));
}

CLI::Option* add_format_option(CLI::App& sub, std::string& format, const std::string& help,
                               report::Render report::Format::*has) {
  return add_format_option(sub, format, help, report::format_names(has));
}

CLI::Option* add_format_option(CLI::App& sub, std::string& format, const std::string& help,
                               const std::vector<std::string>& names) {
  return with_choices(sub.add_option("--format", format, help), names)->capture_default_str();
}

void stay_within_memory() {
// The sanitizers' own tables exceed any machine's memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return;
  rlim_t most = static_cast<rlim_t>(pages) * static_cast<rlim_t>(page);
  std::ifstream file("/sys/fs/cgroup/memory.max");  // "max", or bytes
  if (uint64_t given = 0; file >> given) most = std::min<rlim_t>(most, given);
  rlimit limit{};
  // RLIMIT_DATA limits private memory only; RLIMIT_AS would count mapped files too.
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= most) return;
  limit.rlim_cur = std::min(most, limit.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace tapelens::cli
