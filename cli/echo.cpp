#include "cli/echo.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "cli/scoped_files.h"

namespace tapelens::cli {
namespace {

constexpr std::chrono::milliseconds kEchoEvery{50};

}  // namespace

Echo::Echo(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {
  if (descriptor_ < 0) return;
  // Signals are for the command, so this thread blocks them; after a closed reader, write() returns an error.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Echo::finish() {
  if (!thread_.joinable()) return;
  {
    const base::MutexLock guard(lock_);
    is_over_ = true;
  }
  over_.notify_one();
  thread_.join();
}

void Echo::watch() {
  const OpenFile file(path_, O_RDONLY);
  const base::MutexLock guard(lock_);
  const auto is_over = [this] {
    lock_.assert_held();
    return is_over_;
  };
  while (!over_.wait_for(lock_, kEchoEvery, is_over)) {
    lock_.unlock();
    repeat(file.descriptor());
    lock_.lock();
  }
  repeat(file.descriptor());
}

void Echo::repeat(int file) {
  std::array<char, 65536> bytes;
  for (ssize_t got; (got = read(file, bytes.data(), bytes.size())) > 0;) {
    for (ssize_t done = 0; done < got;) {
      const ssize_t written = write(descriptor_, bytes.data() + done, static_cast<size_t>(got - done));
      if (written < 0 && errno != EINTR) return;
      done += written > 0 ? written : 0;
    }
  }
}

}  // namespace tapelens::cli
