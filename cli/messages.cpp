#include "cli/messages.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "cli/commands.h"

namespace tapelens::cli {
namespace {

bool shown = false;
constexpr unsigned kProgressColumns = 68;  // a line that wraps in a narrow terminal could not be erased

std::string loss_text(const trace::SealLoss& loss) {
  const auto text = [&loss](const char* one, const char* many) { return text::plural(loss.count, one, many); };
  switch (loss.kind) {
    case trace::Loss::disk_full:
      return text("event found", "events found") + " the disk full";
    case trace::Loss::size_limit:
      return text("event", "events") + " past --max-size";
    case trace::Loss::forked_child:
      return text("forked child", "forked children");
    case trace::Loss::torn_block:
      return text("torn block", "torn blocks");
    case trace::Loss::unattributed_save:
      return text("save", "saves") + " without a node";
    case trace::Loss::truncated_text:
      return text("text", "texts") + " too long to keep whole";
    case trace::Loss::unmatched_event:
      return text("event", "events") + " without a beginning";
    case trace::Loss::unwritable:
      return text("process", "processes") + " could not write";
    case trace::Loss::no_memory:
      return text("event", "events") + " with no address space left";
    case trace::Loss::unreachable:
      return text("event", "events") + " after the spool was out of the program's reach";
    case trace::Loss::no_descriptor:
      return text("event", "events") + " with every file descriptor in use";
    case trace::Loss::disk_reserve:
      return text("event", "events") + " that would have taken the disk's last 5 % (or GiB)";
    case trace::Loss::file_size_limit:
      return text("event", "events") + " past the program's file size limit";
    case trace::Loss::unknown_record:
      return text("record", "records") + " of an unknown kind";
    case trace::Loss::dropped_activity:
      return text("allocation or free", "allocations and frees") + " that CUPTI dropped";
    case trace::Loss::dropped_history:
      return text("allocation", "allocations") + " older than the history, which dropped its oldest entries";
    case trace::Loss::unknown_action:
      return text("entry", "entries") + " of an unknown action";
    case trace::Loss::truncated_spool:
      return text("process was", "processes were") + " killed or crashed (recorded up to there)";
  }
  return text("loss", "losses") + " of an unknown kind";
}

bool leaves_events_out(trace::Loss kind) {
  switch (kind) {
    case trace::Loss::disk_full:
    case trace::Loss::size_limit:
    case trace::Loss::torn_block:
    case trace::Loss::unwritable:
    case trace::Loss::no_memory:
    case trace::Loss::unreachable:
    case trace::Loss::no_descriptor:
    case trace::Loss::disk_reserve:
    case trace::Loss::file_size_limit:
    case trace::Loss::unknown_record:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::function<void(std::string_view, double)> progress_of_parts() {
  if (!has_progress_line()) return {};
  const auto begin = std::chrono::steady_clock::now();
  auto last = std::make_shared<int>(-1);
  return [begin, last](std::string_view what, double fraction) {
    const int percent = static_cast<int>(fraction * 100);
    if (percent == *last || std::chrono::steady_clock::now() - begin < std::chrono::seconds(1)) return;
    *last = percent;
    shown = true;
    dprintf(STDERR_FILENO, "\r\033[Ktapelens: %.*s: %d %%", static_cast<int>(what.size()), what.data(), percent);
  };
}

std::function<void(double)> progress_line() {
  auto parts = progress_of_parts();
  if (!parts) return {};
  return [parts = std::move(parts)](double fraction) { parts("sealing the recording", fraction); };
}

bool has_progress_line() { return isatty(STDERR_FILENO) != 0; }

void show_progress_line(std::string_view text) {
  shown = true;
  dprintf(STDERR_FILENO, "\r\033[Ktapelens: %s", text::fit(text::printable(text), kProgressColumns).c_str());
}

void clear_progress_line() {
  if (!shown) return;
  dprintf(STDERR_FILENO, "\r\033[K");
  shown = false;
}

std::string describe(const trace::SealSummary& summary, const std::string& output, size_t living) {
  const trace::ProcessSeal* most = nullptr;
  const trace::DeviceSeal* device = nullptr;
  for (const trace::ProcessSeal& process : summary.processes) {
    for (const trace::DeviceSeal& candidate : process.devices) {
      if (device != nullptr && candidate.peak <= device->peak) continue;
      most = &process;
      device = &candidate;
    }
  }
  std::string line = "no memory was allocated";
  if (device != nullptr) {
    line = "peak " + text::bytes_text(device->peak) + " on " + device->device;
    if (summary.processes.size() > 1) {
      line += most->rank >= 0 ? " (rank " + std::to_string(most->rank) : " (pid " + std::to_string(most->pid);
      line += ", of " + std::to_string(summary.processes.size()) + " processes)";
    }
  }
  uint64_t out_of_memory = 0;
  for (const trace::ProcessSeal& process : summary.processes) out_of_memory += process.out_of_memory;
  if (out_of_memory > 0) line += ", out of memory";
  if (out_of_memory > 1) line += " " + text::count_text(out_of_memory) + " times";
  if (most != nullptr && most->steps_left_out > 0)
    line += " from step " + text::count_text(most->steps_left_out) + " on";
  line += ", " + text::count_text(summary.events) + " events, " + text::shell_quote(output) + " (" +
          text::bytes_text(trace::Bytes{static_cast<int64_t>(summary.file_bytes)}) + ")";
  std::string lost;
  for (trace::SealLoss loss : summary.losses) {
    if (loss.kind == trace::Loss::truncated_spool) loss.count -= std::min<uint64_t>(loss.count, living);
    if (loss.kind == trace::Loss::forked_child || loss.count == 0) continue;
    lost += (lost.empty() ? ", not complete: " : ", ") + loss_text(loss);
  }
  return line + lost;
}

bool lost_data(const trace::SealSummary& summary) {
  for (const trace::SealLoss& loss : summary.losses) {
    if (loss.kind != trace::Loss::forked_child && loss.count != 0) return true;
  }
  return false;
}

bool lacks_events(const trace::SealSummary& summary) {
  return std::ranges::any_of(summary.losses, [](const trace::SealLoss& loss) { return leaves_events_out(loss.kind); });
}

std::string end_of_file(const std::string& path) {
  constexpr size_t kMost = 2000;
  FILE* file = fopen(path.c_str(), "r");
  if (file == nullptr) return {};
  std::string text(kMost, '\0');
  if (fseek(file, -static_cast<long>(kMost), SEEK_END) != 0) rewind(file);
  text.resize(fread(text.data(), 1, kMost, file));
  fclose(file);
  return text;
}

void say(const std::string& line) { dprintf(STDERR_FILENO, "tapelens: %s\n", text::printable(line).c_str()); }

int say_end(const ChildEnd& end) {
  if (!end.error.empty()) say(end.error);
  return end.exit_code;
}

int fail(const trace::Error& error) {
  say(error.message);
  switch (error.kind) {
    case trace::ErrorKind::usage:
      return kUsage;
    case trace::ErrorKind::incomplete:
      return kDataLost;
    case trace::ErrorKind::nothing_compared:
      return kNothingCompared;
    case trace::ErrorKind::command_failed:
      return kCommandFailed;
    case trace::ErrorKind::unreadable:
    case trace::ErrorKind::nothing_recorded:
      break;
  }
  return kUnreadable;
}

}  // namespace tapelens::cli
