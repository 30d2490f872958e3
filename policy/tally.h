// Counts applied and skipped rewrites of this process, in the file that the command line reads (tally_file.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "base/mutex.h"
#include "policy/catalog.h"
#include "policy/tally_file.h"

namespace tapelens::policy {

// For all threads. Each count is in the file at once: the process may end, or the file may be read, at any time.
class Tally {
 public:
  // `file`: zeros; it must stay in place for the lifetime of this object.
  explicit Tally(TallyFile& file);

  // `reason`: why it was skipped; empty: it was applied. `place`: a number that distinguishes places. `kept`: bytes
  // that are kept instead of `bytes`. When the file is full, only the number of left-out counts increases.
  void count(std::string_view rewrite, Level level, std::string_view reason, uint64_t place, uint64_t bytes,
             uint64_t kept);
  // Offloaded saves have so many bytes of the host's memory now.
  void count_host_bytes(uint64_t bytes);

 private:
  struct Row {
    TallyRow* row = nullptr;  // null: the file is full
    std::set<uint64_t> places;
  };

  TallyFile& file_;
  base::Mutex lock_;
  std::map<std::tuple<std::string, Level, std::string>, Row> rows_
      TAPELENS_GUARDED_BY(lock_);  // by rewrite, level, reason
};

}  // namespace tapelens::policy
