#include "profiler/rewrite/tally.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>

#include "policy/tally.h"
#include "profiler/observe/observers.h"
#include "profiler/rewrite/settings.h"
#include "trace/spool_file.h"

namespace tapelens::rewrite {
namespace {

// Null: not requested, or a forked child. Never destroyed: other threads may count until the process ends.
std::atomic<policy::Tally*> g_tally{nullptr};

uint64_t hash_of(const RewriteSite& site) {
  const std::hash<std::string_view> hash;
  return ((hash(site.type) * 31 + hash(site.field)) * 31 + hash(site.operator_name)) * 31 + site.where;
}

void count(std::string_view rewrite, Level level, const RewriteSite& site, std::string_view reason, uint64_t bytes,
           uint64_t kept) {
  if (policy::Tally* tally = g_tally.load(std::memory_order_acquire)) {
    tally->count(rewrite, level, reason, hash_of(site), bytes, kept);
  }
  if (observe::mode() != observe::Mode::full) return;
  record::rewritten(observe::this_thread(),
                    {rewrite, static_cast<uint8_t>(level), site.node, site.field, site.index, reason, bytes, kept});
}

}  // namespace

void applied(std::string_view rewrite, Level level, const RewriteSite& site, uint64_t bytes, uint64_t kept) {
  count(rewrite, level, site, {}, bytes, kept);
}

void skipped(std::string_view rewrite, Level level, const RewriteSite& site, std::string_view reason, uint64_t bytes) {
  count(rewrite, level, site, reason, bytes, 0);
}

void has_host_bytes(uint64_t bytes) {
  if (policy::Tally* tally = g_tally.load(std::memory_order_acquire)) tally->count_host_bytes(bytes);
}

std::string open_tally() {
  if (settings().tally.empty()) return {};
  const std::string path = settings().tally + "/" + std::to_string(getpid()) + "-" +
                           std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()) + ".tally";
  trace::SpoolFile file;
  if (const int error = file.create(path.c_str()); error != 0) return path + ": " + strerror(error);
  trace::Loss why{};
  void* mapped = file.extend(0, sizeof(policy::TallyFile), why);
  if (mapped == nullptr) {
    file.remove();
    return path + ": no room is left for it";
  }
  g_tally.store(new policy::Tally(*static_cast<policy::TallyFile*>(mapped)), std::memory_order_release);
  return {};
}

void abandon_tally_in_child() { g_tally.store(nullptr, std::memory_order_release); }

}  // namespace tapelens::rewrite
