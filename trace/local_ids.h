// Maps the ids of one process to ids of the shared tables. Used by the sealer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/shared_tables.h"
#include "trace/spool_reader.h"
#include "trace/ticks.h"

namespace tapelens::trace {

// Maps the process's id to the recording's id. 0: the record was never, or not completely, written.
template <class Id>
class LocalIds {
 public:
  Id operator[](uint64_t local) const { return local < global_.size() ? global_[local] : Id{}; }
  // The first claim of an id wins.
  void set(uint64_t local, Id global, uint64_t largest_id) {
    if (local == 0 || local > largest_id) return;
    if (local >= global_.size()) global_.resize(local + 1);
    if (!global_[local]) global_[local] = global;
  }

 private:
  std::vector<Id> global_;
};

struct Interned {
  LocalIds<StringId> strings;
  LocalIds<FrameId> frames;
  LocalIds<StackId> stacks;
  LocalIds<LayoutId> layouts;
  LocalIds<ModuleId> modules;
  LocalIds<DeviceId> devices;
  std::vector<Row<table::Information>> information;
  std::vector<Row<table::Sources>> sources;
};

// Adds all interned records of the spool to the shared tables. Native stacks are resolved to symbols.
Interned intern_all(const SpoolReader& spool, SharedTables& shared);

// Adds the spool's summary of its older steps as information: docs/trace-format.md has the keys.
void add_older_steps(const SpoolReader& spool, SharedTables& shared, TickClock& clock, Interned& ids);

// The last value that a process gave to a key ("rank", "command"); empty if it gave none. Points into the spool.
std::string_view information_value(const SpoolReader& spool, std::string_view key);

// The name of a row of the devices table, as this process gave it; "unknown" if it gave none.
std::string_view device_name(const SpoolReader& spool, const Interned& ids, DeviceId row);

}  // namespace tapelens::trace
