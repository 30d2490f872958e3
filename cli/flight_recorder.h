// `tapelens record --on-demand`: makes recordings of the last steps while the program runs, when a request for memory
// fails, at a signal, and for `tapelens dump`. The ring keeper's thread calls look(); no other thread touches the
// spools then.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/dump_requests.h"
#include "trace/output.h"
#include "trace/ring.h"
#include "trace/seal.h"

namespace tapelens::cli {

// The events that cause a recording, besides `tapelens dump`.
struct Triggers {
  bool on_out_of_memory = false;
  std::vector<int> signals;
};
// Reads "oom,SIGUSR2", "none"; empty if it is not a valid list.
std::optional<Triggers> parse_triggers(std::string_view text);

// The names of a series of recordings: FILE, FILE.2, FILE.3 with the number before the extension. `number` counts
// from 1.
std::string numbered_name(const std::string& file, uint64_t number);

struct FlightSettings {
  trace::OutputOptions output;  // the first recording; with `is_by_rank` a pattern with %r
  bool is_by_rank = false;      // a recording for each rank
  std::string directory;        // the folder of the spools
  std::string command;          // shell-quoted
  uint64_t begin_ns = 0;        // CLOCK_MONOTONIC at the start of the command
  uint64_t last = 0;            // number of steps to keep
  uint64_t most = 0;            // number of recordings, with `is_by_rank` of each rank
  Triggers triggers;
  std::chrono::milliseconds settles{};  // from a failed request to its recording: the process is still writing about it
  bool quiet = false;
};

class FlightRecorder {
 public:
  explicit FlightRecorder(FlightSettings settings);

  // A signal of `triggers` arrived. Any thread.
  void signal_arrived(int signal);
  // Makes the recordings that are due. `is_end`: the command has ended.
  void look(bool is_end);
  // Call after the last look(): accepts no more requests, and waits until the answers are taken.
  void end() { requests_.reset(); }
  // The steps that the ring must keep of this spool.
  trace::KeepSteps keep(const std::string& spool) const;

  uint64_t recordings() const { return recordings_; }            // number that were made
  bool has_out_of_memory() const { return has_out_of_memory_; }  // in one of them

 private:
  using Clock = std::chrono::steady_clock;
  struct Spool {
    uint64_t failures = 0;                 // requests that failed, of those that were handled
    uint64_t handled_until = 0;            // ticks of the last one
    std::optional<Clock::time_point> due;  // time of the recording for the others
  };
  struct Series {
    uint64_t recordings = 0;
    uint64_t next = 1;        // number of the next name
    bool is_refused = false;  // whether the limit was reported
  };
  // A recording of each series that has one of these spools.
  DumpAnswer make(const std::set<std::string>& spools, const std::string& cause);
  void leave_out_older_steps_of(const std::set<std::string>& spools);
  void make_one(std::optional<int32_t> rank, const std::string& cause, DumpAnswer& answer);
  std::string next_name(std::optional<int32_t> rank, Series& series) const;
  std::set<std::string> all_spools() const;
  std::set<std::string> failed_spools(bool is_end);
  void refuse(DumpAnswer& answer, const std::string& why) const;

  const FlightSettings settings_;
  std::optional<DumpRequests> requests_;  // none after end()
  std::map<std::string, Spool> spools_;
  std::map<std::optional<int32_t>, Series> series_;  // by rank; no rank: recordings of all processes
  std::atomic<int> signal_{0};                       // the last signal that was not handled yet
  uint64_t recordings_ = 0;
  bool has_out_of_memory_ = false;
};

}  // namespace tapelens::cli
