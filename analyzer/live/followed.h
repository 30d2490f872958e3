// A process that is followed while it runs: its spool, its names and its memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/live/memory.h"
#include "analyzer/live/names.h"
#include "trace/spool_tail.h"

namespace tapelens::live {

// killed: it ended without closing its spool, by a signal or _exit.
enum class State : uint8_t { recording, ended, replaced, killed };

class Followed : private trace::SpoolVisitor {
 public:
  // How old an event is at most when it is read. A thread takes the time of an event first and commits it then.
  static constexpr std::chrono::milliseconds kDelay{50};

  // An error if the file is not a spool, or not yet.
  static trace::Result<std::unique_ptr<Followed>> open(const std::string& path);

  // Reads what was committed. False: more is committed, call it again.
  bool poll();
  // Whether the process has ended and everything was read, in the order of time.
  bool is_over() const { return is_over_; }

  State state() const { return state_; }
  const trace::SpoolTail& tail() const { return tail_; }
  const Names& names() const { return names_; }
  const Memory& memory() const { return *memory_; }
  std::optional<double> events_per_second() const { return rate_; }  // in the last second; none: not measured yet
  Time now() const;  // of the process: the time of its last event once it has ended

 private:
  explicit Followed(trace::SpoolTail tail) : tail_(std::move(tail)), memory_(std::make_unique<Memory>(names_)) {}
  void interned(const trace::RecordHeader* record) override;
  void event(const trace::RecordHeader* record, uint32_t lane, uint64_t ticks) override;
  void gap(uint32_t lane) override { memory_->gap(lane); }
  void restart() override { memory_ = std::make_unique<Memory>(names_); }
  void measure_rate();

  trace::SpoolTail tail_;
  Names names_;
  std::unique_ptr<Memory> memory_;
  State state_ = State::recording;
  bool is_over_ = false, was_reread_ = false;
  std::chrono::steady_clock::time_point last_new_{};  // when bytes were read last
  std::optional<double> rate_;
  uint64_t measured_events_ = 0;
  std::chrono::steady_clock::time_point measured_ = std::chrono::steady_clock::now();
};

}  // namespace tapelens::live
