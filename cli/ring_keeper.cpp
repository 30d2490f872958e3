#include "cli/ring_keeper.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "cli/flight_recorder.h"
#include "cli/messages.h"
#include "cli/spool_folder.h"

namespace tapelens::cli {
namespace {

constexpr std::chrono::milliseconds kEvery{50};
// With --when, the pause after a look is this many times as long as the look.
constexpr int kShare = 9;

}  // namespace

RingKeeper::RingKeeper(std::string folder, trace::KeepSteps keep, uint64_t max_bytes, FlightRecorder* recorder)
    : folder_(std::move(folder)), keep_(keep), max_bytes_(max_bytes), recorder_(recorder) {
  if (keep_.last == 0) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

RingKeeper::~RingKeeper() { stop(); }

void RingKeeper::stop() {
  if (!thread_.joinable()) return;
  {
    const base::MutexLock guard(lock_);
    is_over_ = true;
  }
  over_.notify_one();
  thread_.join();
}

void RingKeeper::watch() {
  const base::MutexLock guard(lock_);
  const auto is_over = [this] {
    lock_.assert_held();
    return is_over_;
  };
  while (!over_.wait_for(lock_, kEvery, is_over)) {
    lock_.unlock();
    look(false);
    lock_.lock();
  }
}

void RingKeeper::finish() {
  stop();
  if (keep_.last != 0) look(true);
}

void RingKeeper::look(bool is_end) {
  if (recorder_ != nullptr) {
    recorder_->look(is_end);
    if (is_end) return;  // the spools are not needed any more
  }
  for (const std::string& path : spools_in(folder_)) {
    Spool& spool = spools_[path];
    const uint64_t bytes = bytes_in(path);
    const auto begin = std::chrono::steady_clock::now();
    const bool is_to_be_seen = keep_.when != 0 && !spool.is_reached && bytes > spool.seen && begin >= spool.not_before;
    if (spool.next_at == UINT64_MAX || (!is_end && bytes < spool.next_at && !is_to_be_seen)) continue;
    spool.seen = bytes;
    const auto state = trace::leave_out_older_steps(path, recorder_ != nullptr ? recorder_->keep(path) : keep_);
    if (!state) {
      spool.next_at = UINT64_MAX;
      // At the end, sealing reports the same error.
      if (!is_end) say(state.error().message + "; it is recorded up to --max-size");
      continue;
    }
    if (state->reached && !spool.is_reached) {
      spool.is_reached = is_reached_ = true;
      if (!is_end) std::ignore = trace::stop_after_steps(path, *state->reached + 1 + keep_.last);
    }
    const auto end = std::chrono::steady_clock::now();
    spool.not_before = end + kShare * (end - begin);
    const uint64_t left = state->blocks * trace::kBlockBytes;
    const uint64_t room = max_bytes_ > left ? (max_bytes_ - left) / 2 : 0;
    spool.next_at = left + std::min(std::max({left, state->older_bytes, kLeast}), room);
  }
}

}  // namespace tapelens::cli
