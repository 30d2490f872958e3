// What a process interned, as ids of the shared tables. Used by the sealer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/shared_tables.h"
#include "trace/spool_reader.h"

namespace tapelens::trace {

// From the id that a process gave to the id of the recording; 0 for what was never, or not wholly, written.
class LocalIds {
 public:
  uint32_t operator[](uint64_t local) const { return local < global_.size() ? global_[local] : 0; }
  // The first that claims an id has it.
  void set(uint64_t local, uint32_t global, uint64_t largest_id) {
    if (local == 0 || local > largest_id) return;
    if (local >= global_.size()) global_.resize(local + 1);
    if (global_[local] == 0) global_[local] = global;
  }

 private:
  std::vector<uint32_t> global_;
};

struct Interned {
  LocalIds strings, frames, stacks, layouts, modules, devices;
  std::vector<std::pair<uint32_t, uint32_t>> information;  // shared strings: key, value
  struct Source {
    uint32_t path;  // shared string
    uint64_t bytes, hash;
  };
  std::vector<Source> sources;
};

// Brings everything that the spool interned into the shared tables, native stacks by their symbols.
Interned intern_all(const SpoolReader& spool, SharedTables& shared);

// The last value that a process gave to a key ("rank", "command"); empty if it gave none. Points into the spool.
std::string_view information_value(const SpoolReader& spool, std::string_view key);

// The name of a row of the devices table, as this process gave it; "unknown" if it gave none.
std::string_view device_name(const SpoolReader& spool, const Interned& ids, uint8_t row);

}  // namespace tapelens::trace
