// Counts what is rewritten in this process, and what is not, in the file that the command line reads (tally_file.h).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "rewrites/catalog.h"
#include "rewrites/tally_file.h"

namespace tapelens::rewrites {

// For all threads. What is counted is in the file at once: the process may end at any time, and somebody may read it.
class Tally {
 public:
  // `file`: zeros; it stays where it is as long as this lives.
  explicit Tally(TallyFile& file);

  // `reason`: why it was skipped; empty: it was applied. `place`: a number that tells places apart. `kept`: bytes that
  // are kept instead of `bytes`. Beyond the room of the file there is only a count of what is left out.
  void count(std::string_view rewrite, Level level, std::string_view reason, uint64_t place, uint64_t bytes,
             uint64_t kept);

 private:
  struct Row {
    TallyRow* row = nullptr;  // null: there is no room for it
    std::set<uint64_t> places;
  };

  TallyFile& file_;
  std::mutex lock_;
  std::map<std::tuple<std::string, Level, std::string>, Row> rows_;  // by rewrite, level, reason
};

}  // namespace tapelens::rewrites
