#include "cli/ring_keeper.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/messages.h"
#include "cli/spool_folder.h"
#include "trace/ring.h"

namespace tapelens::cli {
namespace {

constexpr std::chrono::milliseconds kEvery{50};
constexpr uint64_t kLeast = uint64_t{16} << 20;  // bytes: less is not worth the reading

}  // namespace

RingKeeper::RingKeeper(std::string folder, uint64_t steps, uint64_t max_bytes)
    : folder_(std::move(folder)), steps_(steps), max_bytes_(max_bytes) {
  if (steps_ == 0) return;
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
    const std::lock_guard guard(lock_);
    is_over_ = true;
  }
  over_.notify_one();
  thread_.join();
}

void RingKeeper::watch() {
  std::unique_lock guard(lock_);
  while (!over_.wait_for(guard, kEvery, [this] { return is_over_; })) {
    guard.unlock();
    look(false);
    guard.lock();
  }
}

void RingKeeper::finish() {
  stop();
  if (steps_ != 0) look(true);
}

void RingKeeper::look(bool is_end) {
  for (const std::string& spool : spools_in(folder_)) {
    uint64_t& next_at = next_at_.try_emplace(spool, kLeast).first->second;
    if (next_at == UINT64_MAX || (!is_end && bytes_in(spool) < next_at)) continue;
    const auto state = trace::leave_out_older_steps(spool, steps_);
    if (!state) {
      next_at = UINT64_MAX;
      // At the end it is said when it is sealed.
      if (!is_end) say("--last: " + state.error().message + "; it is recorded up to --max-size");
      continue;
    }
    const uint64_t left = state->blocks * trace::kBlockBytes;
    const uint64_t room = max_bytes_ > left ? (max_bytes_ - left) / 2 : 0;
    next_at = left + std::min(std::max({left, state->older_bytes, kLeast}), room);
  }
}

}  // namespace tapelens::cli
