#include "profiler/rewrite/tally.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "profiler/rewrite/host.h"
#include "profiler/rewrite/settings.h"

namespace tapelens::rewrite {
namespace {

struct Count {
  uint64_t times = 0, bytes = 0, kept = 0;
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

uint64_t hash_of(const Place& place) {
  const std::hash<std::string_view> hash;
  return ((hash(place.type) * 31 + hash(place.field)) * 31 + hash(place.operator_name)) * 31 + place.site;
}

void count(std::string_view rewrite, Level level, const Place& place, std::string_view reason, uint64_t bytes, uint64_t kept) {
  {
    Tally& t = tally();
    const std::lock_guard guard(t.lock);
    Count& c = t.counts[{std::string(rewrite), static_cast<int>(level), std::string(reason)}];
    ++c.times;
    c.bytes += bytes;
    c.kept += kept;
    c.sites.insert(hash_of(place));
  }
  if (g_surroundings.record != nullptr) g_surroundings.record(rewrite, level, place, reason, bytes, kept);
}

}  // namespace

void applied(std::string_view rewrite, Level level, const Place& place, uint64_t bytes, uint64_t kept) {
  count(rewrite, level, place, {}, bytes, kept);
}

void skipped(std::string_view rewrite, Level level, const Place& place, std::string_view reason, uint64_t bytes) {
  count(rewrite, level, place, reason, bytes, 0);
}

void write_tally() {
  if (settings().tally.empty()) return;
  Tally& t = tally();
  const std::lock_guard guard(t.lock);
  FILE* file = fopen((settings().tally + "/" + std::to_string(getpid()) + ".tally").c_str(), "w");
  if (file == nullptr) return;
  for (const auto& [key, c] : t.counts) {
    const auto& [rewrite, level, reason] = key;
    const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
    if (reason.empty()) {
      fprintf(file, "applied\t%s\t%d\t%zu\t%llu\t%llu\t%llu\n", rewrite.c_str(), level, c.sites.size(), number(c.times),
              number(c.bytes), number(c.kept));
    } else {
      fprintf(file, "skipped\t%s\t%d\t%zu\t%llu\t%llu\t%s\n", rewrite.c_str(), level, c.sites.size(), number(c.times),
              number(c.bytes), reason.c_str());
    }
  }
  fclose(file);
}

}  // namespace tapelens::rewrite
