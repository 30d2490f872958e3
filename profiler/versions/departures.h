// The versions of one thread that leave the device, in the order of their saves: the forward makes them, and the
// backward reads the newest first.
//
// The newest kStay keep their storages, because the backward reads them before a copy could be worth it. The next
// kUnderway are copied, and those before them are released. A release makes the version's stream wait for the copy. So
// the number of versions on the device depends on the program alone, not on the speed of copies, and a stream has the
// work of kUnderway further saves before it waits.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "profiler/versions/version.h"

namespace tapelens::versions {

// For one thread. `V`: a Version.
template <class V>
class Departures {
 public:
  static constexpr size_t kStay = 2, kUnderway = 2;

  void add(std::shared_ptr<V> version) {
    const uint64_t order = version->order();
    const auto at = std::ranges::upper_bound(leaving_, order, {}, &Entry::order);
    leaving_.insert(at, {order, std::move(version)});
    is_new_ = true;
  }

  // Begins the next copies and releases. Appends versions that others hold again to `held`.
  void advance(std::vector<std::shared_ptr<V>>& held) {
    if (!std::exchange(is_new_, false)) return;
    forget_unused();
    for (size_t i = 0; leaving_.size() - i > kStay;) {
      Entry& entry = leaving_[i];
      if (entry.is_copied && leaving_.size() - i <= kStay + kUnderway) {
        ++i;
        continue;
      }
      const bool ends = leaving_.size() - i > kStay + kUnderway;
      const auto result = ends ? entry.version->end_offload() : entry.version->begin_offload();
      entry.is_copied = true;
      if (result == Version::Leaving::held) held.push_back(entry.version);
      if (ends || result != Version::Leaving::ok) {
        leaving_.erase(leaving_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }

  // Drops versions without hooks.
  void forget_unused() {
    std::erase_if(leaving_, [](const Entry& entry) { return entry.version->hooks() == 0; });
  }
  void clear() { leaving_.clear(); }
  size_t size() const { return leaving_.size(); }

 private:
  struct Entry {
    uint64_t order = 0;
    std::shared_ptr<V> version;
    bool is_copied = false;
  };
  std::vector<Entry> leaving_;  // by order
  bool is_new_ = false;
};

}  // namespace tapelens::versions
