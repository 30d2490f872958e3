#include "profiler/versions/read_ahead.h"

#include <utility>
#include <vector>

namespace tapelens::versions {

void ReadAhead::add(uint64_t order, std::weak_ptr<Away> away) {
  const base::MutexLock guard(lock_);
  away_.insert_or_assign(order, std::move(away));
}

void ReadAhead::remove(uint64_t order) noexcept {
  const base::MutexLock guard(lock_);
  away_.erase(order);
  ahead_.erase(order);
}

void ReadAhead::read(uint64_t order) {
  std::vector<std::shared_ptr<Away>> passed, next;
  {
    const base::MutexLock guard(lock_);
    std::set<uint64_t> wanted;
    for (auto at = away_.lower_bound(order); at != away_.begin() && wanted.size() < kAhead;) {
      --at;
      wanted.insert(at->first);
      if (!ahead_.contains(at->first)) next.push_back(at->second.lock());
    }
    for (const uint64_t former : ahead_) {
      if (!wanted.contains(former)) passed.push_back(away_.at(former).lock());
    }
    ahead_ = std::move(wanted);
  }
  for (const auto& version : passed)
    if (version != nullptr) version->drop_ahead();
  for (const auto& version : next)
    if (version != nullptr) version->fetch_ahead();
}

}  // namespace tapelens::versions
