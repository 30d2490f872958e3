#include "analyzer/live/followed.h"

#include <utility>

#include "trace/running_process.h"
#include "trace/spool_writer.h"

namespace tapelens::live {

using namespace trace;

namespace {

// After so long without a new byte, a process that cannot be found has ended.
constexpr std::chrono::seconds kQuiet{1};

}  // namespace

Result<std::unique_ptr<Followed>> Followed::open(const std::string& path) {
  auto tail = SpoolTail::open(path);
  if (!tail) return tail.error();
  return std::unique_ptr<Followed>(new Followed(std::move(*tail)));
}

bool Followed::poll() {
  // Before the poll, which then reads all that it committed.
  const bool was_alive = tail_.pid() != 0 && is_alive(static_cast<pid_t>(tail_.pid()));
  uint64_t until = UINT64_MAX;
  if (was_alive && tail_.state() == SpoolState::recording) {
    const ClockAnchor now{ticks_now(), monotonic_ns()};
    tail_.note_anchor(now);
    until = tail_.ticks_at(now.ns - std::chrono::nanoseconds(kDelay).count());
  }
  const uint64_t before = tail_.bytes_read();
  const bool is_all = tail_.poll(until, *this);
  measure_rate();
  const auto now = std::chrono::steady_clock::now();
  const bool is_new = tail_.bytes_read() != before;
  if (is_new) last_new_ = now;
  if (tail_.state() == SpoolState::recording) {
    // In a container the process has another pid, and is alive if it goes on writing.
    state_ = was_alive || (is_new && before != 0) ? State::recording : State::killed;
  } else {
    state_ = tail_.state() == SpoolState::replaced ? State::replaced : State::ended;
  }
  is_over_ = is_all && state_ != State::recording && until == UINT64_MAX &&
             (state_ != State::killed || now - last_new_ >= kQuiet);
  // Events that were committed late were passed on out of order. The older steps of a ring cannot be read again.
  if (is_over_ && tail_.late_events() > 0 && !tail_.is_ring() && !std::exchange(was_reread_, true)) {
    tail_.restart();
    is_over_ = false;
    return false;
  }
  // The process ended during the poll: read up to its end.
  return is_all && (state_ == State::recording || state_ == State::killed || is_over_);
}

Time Followed::now() const {
  if (state_ != State::recording) return memory_->last();
  return std::max(memory_->last(), tail_.time_of(tail_.ticks_at(monotonic_ns())));
}

void Followed::interned(const RecordHeader* record) {
  names_.add(record);
  if (record->kind == RecordKind::older_steps) memory_->older(record, {});
  if (record->kind == RecordKind::older_peak) memory_->older(record, tail_.time_of(as<OlderPeakRecord>(record).ticks));
}

void Followed::event(const RecordHeader* record, uint32_t lane, uint64_t ticks) {
  memory_->event(record, lane, tail_.time_of(ticks));
}

void Followed::measure_rate() {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - measured_).count();
  if (seconds < 1) return;
  const uint64_t events = memory_->events();
  rate_ = events > measured_events_ ? static_cast<double>(events - measured_events_) / seconds : 0;
  measured_events_ = events;
  measured_ = now;
}

}  // namespace tapelens::live
