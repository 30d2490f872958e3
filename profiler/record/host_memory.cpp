// See host_memory.h.
#include "profiler/record/host_memory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "profiler/record/intern.h"

namespace tapelens::record {

std::atomic<uint64_t> g_next_host_memory{std::numeric_limits<uint64_t>::max()};

namespace {

constexpr uint64_t kTicks = 1'000'000'000;                               // between two looks: about 0.3 s
constexpr uint64_t kGrowthPart = 100, kLeastGrowth = uint64_t{1} << 20;  // a growth of 1 % and 1 MiB is recorded

std::atomic<uint64_t> g_recorded{0};  // the peak that is recorded; before that, the peak before the recording

// The kernel's count. Opens no file, so that the program may close every descriptor meanwhile. It may come from the
// program that this process replaced by exec, which the first value includes: a greater value is of this program.
uint64_t peak_bytes() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<uint64_t>(usage.ru_maxrss) * 1024 : 0;
}

struct Status {
  uint64_t resident = 0, peak = 0;  // 0: unknown
};

// "VmRSS:     1234 kB", in bytes
uint64_t in_status(const char* text, const char* key) {
  const char* at = strstr(text, key);
  return at != nullptr ? strtoull(at + strlen(key), nullptr, 10) * 1024 : 0;
}

Status read_status() {
  char text[4096] = {};
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  return size > 0 ? Status{in_status(text, "VmRSS:"), in_status(text, "VmHWM:")} : Status{};
}

void write_peak(ThreadState& thread, uint64_t peak) noexcept {
  try {
    write_information(thread, "host_peak_bytes", std::to_string(peak));
  } catch (...) {  // no memory: the program keeps the block that it has just allocated
    g_spool.count(trace::Loss::unmatched_event);
  }
}

}  // namespace

void begin_host_memory(ThreadState& thread) {
  const Status now = read_status();
  if (now.resident == 0) return;
  write_information(thread, "host_resident_bytes", std::to_string(now.resident));
  write_information(thread, "host_peak_before_bytes", std::to_string(now.peak));
  g_recorded.store(peak_bytes(), std::memory_order_relaxed);
  g_next_host_memory.store(trace::ticks_now() + kTicks, std::memory_order_relaxed);
}

void note_host_memory(ThreadState& thread) noexcept {
  uint64_t next = g_next_host_memory.load(std::memory_order_relaxed);
  // One thread looks.
  if (!g_next_host_memory.compare_exchange_strong(next, trace::ticks_now() + kTicks)) return;
  const uint64_t peak = peak_bytes(), before = g_recorded.load(std::memory_order_relaxed);
  if (peak <= before || peak - before < kLeastGrowth + before / kGrowthPart) return;
  g_recorded.store(peak, std::memory_order_relaxed);
  write_peak(thread, peak);
}

void finish_host_memory(ThreadState& thread) {
  if (g_next_host_memory.load(std::memory_order_relaxed) == std::numeric_limits<uint64_t>::max()) return;
  const Status now = read_status();
  if (now.peak == 0) return;
  write_peak(thread, now.peak);
  write_information(thread, "host_peak_is_final", "1");
}

}  // namespace tapelens::record
