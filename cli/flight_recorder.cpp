#include "cli/flight_recorder.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <tuple>
#include <utility>

#include "analyzer/text/escape.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/sealing.h"
#include "cli/spool_folder.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

struct SignalName {
  const char* name;
  int signal;
};
constexpr std::array kSignals = {SignalName{"SIGUSR1", SIGUSR1}, SignalName{"SIGUSR2", SIGUSR2}};

bool exists(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0;
}

}  // namespace

std::optional<Triggers> parse_triggers(std::string_view text) {
  Triggers triggers;
  if (text == "none") return triggers;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    const auto* known =
        std::ranges::find(kSignals, word, [](const SignalName& one) { return std::string_view(one.name); });
    if (word == "oom") {
      triggers.on_out_of_memory = true;
    } else if (known != kSignals.end()) {
      triggers.signals.push_back(known->signal);
    } else {
      return std::nullopt;
    }
    if (comma == text.size()) return triggers;
    text.remove_prefix(comma + 1);
  }
}

std::string numbered_name(const std::string& file, uint64_t number) {
  if (number <= 1) return file;
  const fs::path path(file);
  const std::string extension = path.extension().string();
  return file.substr(0, file.size() - extension.size()) + "." + std::to_string(number) + extension;
}

FlightRecorder::FlightRecorder(FlightSettings settings)
    : settings_(std::move(settings)), requests_(std::in_place, settings_.directory) {}

void FlightRecorder::signal_arrived(int signal) { signal_.store(signal); }

trace::KeepSteps FlightRecorder::keep(const std::string& spool) const {
  trace::KeepSteps keep{.last = settings_.last};
  if (!settings_.triggers.on_out_of_memory) return keep;
  const auto known = spools_.find(spool);
  keep.failed_after = known != spools_.end() ? known->second.handled_until : 0;
  return keep;
}

std::set<std::string> FlightRecorder::all_spools() const {
  const std::vector<std::string> all = spools_in(settings_.directory);
  return {all.begin(), all.end()};
}

std::set<std::string> FlightRecorder::failed_spools(bool is_end) {
  std::set<std::string> failed;
  if (!settings_.triggers.on_out_of_memory) return failed;
  for (const std::string& path : all_spools()) {
    Spool& spool = spools_[path];
    if (failures_in(path) == spool.failures) continue;
    if (!spool.due) spool.due = Clock::now() + settings_.settles;
    if (is_end || Clock::now() >= *spool.due) failed.insert(path);
  }
  return failed;
}

void FlightRecorder::look(bool is_end) {
  if (const auto failed = failed_spools(is_end); !failed.empty()) make(failed, "an out of memory");
  if (const int signal = signal_.exchange(0); signal != 0) {
    const auto* known = std::ranges::find(kSignals, signal, &SignalName::signal);
    make(all_spools(), known != kSignals.end() ? known->name : "a signal");
  }
  for (const pid_t asker : requests_->pending()) requests_->answer(asker, make(all_spools(), "tapelens dump"));
}

DumpAnswer FlightRecorder::make(const std::set<std::string>& spools, const std::string& cause) {
  DumpAnswer answer;
  try {
    // A recording without ranks has all processes, so it has all of their failed requests.
    leave_out_older_steps_of(settings_.is_by_rank ? spools : all_spools());
    std::set<std::optional<int32_t>> series;
    for (const std::string& path : spools) {
      series.insert(settings_.is_by_rank ? std::optional(trace::rank_of_spool(path)) : std::nullopt);
    }
    for (const auto& rank : series) make_one(rank, cause, answer);
  } catch (const std::exception& error) {  // no memory for it
    refuse(answer, "no recording for " + cause + ": " + error.what());
  }
  if (answer.files.empty() && answer.refused.empty()) answer.refused = "no process has run an operator of PyTorch yet";
  return answer;
}

void FlightRecorder::leave_out_older_steps_of(const std::set<std::string>& spools) {
  for (const std::string& path : spools) {
    Spool& spool = spools_[path];
    // Counted before the spool is read: a request that fails later gets another recording.
    spool.failures = failures_in(path);
    spool.due.reset();
    // A file system without holes keeps all steps.
    const auto state = trace::leave_out_older_steps(path, keep(path));
    if (state) spool.handled_until = std::max(spool.handled_until, state->failed_at);
  }
}

std::string FlightRecorder::next_name(std::optional<int32_t> rank, Series& series) const {
  std::string file = settings_.output.path;
  if (rank) file = *expand_output(file, *rank < 0 ? "none" : std::to_string(*rank));
  // Never replaces a file: a restarted job keeps the recordings of the earlier one.
  while (exists(numbered_name(file, series.next))) ++series.next;
  return numbered_name(file, series.next);
}

void FlightRecorder::refuse(DumpAnswer& answer, const std::string& why) const {
  answer.refused = why;
  say(why);
}

void FlightRecorder::make_one(std::optional<int32_t> rank, const std::string& cause, DumpAnswer& answer) {
  Series& series = series_[rank];
  if (series.recordings >= settings_.most) {
    answer.refused =
        "no recording for " + cause + ": " + std::to_string(series.recordings) + " were made, the limit of --max-dumps";
    if (!std::exchange(series.is_refused, true)) say(answer.refused + "; there will be no more");
    return;
  }
  trace::SealOptions sealing;
  sealing.directory = settings_.directory;
  sealing.command = settings_.command;
  sealing.duration_ns = static_cast<int64_t>(monotonic_now() - settings_.begin_ns);
  sealing.running = living_processes(settings_.directory);
  if (rank) sealing.ranks = std::set<int32_t>{*rank};
  trace::OutputOptions output = settings_.output;
  output.is_new = true;
  output.path = next_name(rank, series);
  auto sealed = seal_into(output, sealing, {});
  while (!sealed && exists(output.path)) {  // another recorder took the name meanwhile
    output.path = next_name(rank, series);
    sealed = seal_into(output, sealing, {});
  }
  if (!sealed) return refuse(answer, "no recording for " + cause + ": " + sealed.error().message);
  if (sealed->processes.empty()) return;
  ++series.recordings;
  ++recordings_;
  has_out_of_memory_ |=
      std::ranges::any_of(sealed->processes, [](const auto& process) { return process.out_of_memory > 0; });
  std::error_code error;
  answer.files.push_back(fs::absolute(output.path, error).lexically_normal().string());
  if (settings_.quiet) return;
  say("recorded at " + cause + ": " + describe(*sealed, output.path, sealing.running.size()) +
      next_of({.path = output.path}));
}

}  // namespace tapelens::cli
