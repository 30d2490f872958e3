#include "profiler/rewrite/tally.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "profiler/observe/observers.h"
#include "profiler/rewrite/settings.h"
#include "rewrites/tally_file.h"
#include "trace/spool_file.h"

namespace tapelens::rewrite {
namespace {

struct Count {
  rewrites::TallyRow* row = nullptr;  // null: there is no room for it
  std::set<uint64_t> sites;
};
struct Tally {
  std::mutex lock;
  // rewrite, level, reason; no reason: applied
  std::map<std::tuple<std::string, int, std::string>, Count, std::less<>> counts;
};
Tally& tally() {
  static auto* made = new Tally;
  return *made;
}
std::atomic<rewrites::TallyFile*> g_file{nullptr};

uint64_t hash_of(const Place& place) {
  const std::hash<std::string_view> hash;
  return ((hash(place.type) * 31 + hash(place.field)) * 31 + hash(place.operator_name)) * 31 + place.site;
}

template <size_t kBytes>
void copy_text(char (&to)[kBytes], std::string_view text) {
  to[text.copy(to, kBytes - 1)] = '\0';
}

rewrites::TallyRow* new_row(rewrites::TallyFile& file, std::string_view rewrite, Level level, std::string_view reason) {
  const uint32_t number = file.rows.load(std::memory_order_relaxed);
  if (number == rewrites::kTallyRows) return nullptr;
  rewrites::TallyRow& row = file.row[number];
  copy_text(row.rewrite, rewrite);
  copy_text(row.reason, reason);
  row.level = static_cast<uint32_t>(level);
  file.rows.store(number + 1, std::memory_order_release);
  return &row;
}

void count_in(rewrites::TallyFile& file, std::string_view rewrite, Level level, const Place& place,
              std::string_view reason, uint64_t bytes, uint64_t kept) {
  Tally& t = tally();
  const std::lock_guard guard(t.lock);
  auto [at, is_new] = t.counts.try_emplace({std::string(rewrite), static_cast<int>(level), std::string(reason)});
  Count& c = at->second;
  if (is_new) c.row = new_row(file, rewrite, level, reason);
  if (c.row == nullptr) {
    file.left_out.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  c.row->times.fetch_add(1, std::memory_order_relaxed);
  c.row->bytes.fetch_add(bytes, std::memory_order_relaxed);
  c.row->kept.fetch_add(kept, std::memory_order_relaxed);
  if (c.sites.insert(hash_of(place)).second) c.row->sites.fetch_add(1, std::memory_order_relaxed);
}

void count(std::string_view rewrite, Level level, const Place& place, std::string_view reason, uint64_t bytes,
           uint64_t kept) {
  if (rewrites::TallyFile* file = g_file.load(std::memory_order_acquire)) {
    count_in(*file, rewrite, level, place, reason, bytes, kept);
  }
  if (observe::mode() != observe::Mode::full) return;
  record::rewritten(observe::this_thread(),
                    {rewrite, static_cast<uint8_t>(level), place.node, place.field, place.index, reason, bytes, kept});
}

}  // namespace

void applied(std::string_view rewrite, Level level, const Place& place, uint64_t bytes, uint64_t kept) {
  count(rewrite, level, place, {}, bytes, kept);
}

void skipped(std::string_view rewrite, Level level, const Place& place, std::string_view reason, uint64_t bytes) {
  count(rewrite, level, place, reason, bytes, 0);
}

std::string open_tally() {
  if (settings().tally.empty()) return {};
  const std::string path = settings().tally + "/" + std::to_string(getpid()) + "-" +
                           std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()) + ".tally";
  trace::SpoolFile file;
  if (const int error = file.create(path.c_str()); error != 0) return path + ": " + strerror(error);
  trace::Loss why{};
  void* place = file.extend(0, sizeof(rewrites::TallyFile), why);
  if (place == nullptr) {
    file.remove();
    return path + ": there is no room for it";
  }
  auto* made = static_cast<rewrites::TallyFile*>(place);  // zeros
  made->magic = rewrites::kTallyMagic;
  g_file.store(made, std::memory_order_release);
  return {};
}

void abandon_tally_in_child() { g_file.store(nullptr, std::memory_order_release); }

}  // namespace tapelens::rewrite
