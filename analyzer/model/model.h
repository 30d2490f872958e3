// One recorded process as columns: what load() makes of a recording and every analysis reads.
// A table is a struct of columns of the same length, rows in the order of time, ids from 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/model/column.h"
#include "trace/recording.h"
#include "trace/schema.h"
#include "trace/types.h"

namespace tapelens::model {

using trace::AllocationId;
using trace::Bytes;
using trace::ChecksumId;
using trace::DeviceBlockId;
using trace::DeviceId;
using trace::DeviceUsageId;
using trace::EvaluationId;
using trace::FreeId;
using trace::FreeRequestId;
using trace::HeldId;
using trace::ImportedFactsId;
using trace::ImportedPhase;
using trace::ImportedRole;
using trace::kNever;
using trace::LayoutId;
using trace::Loss;
using trace::MemoryPoolId;
using trace::ModuleCallId;
using trace::ModuleId;
using trace::NodeId;
using trace::OperatorId;
using trace::Origin;
using trace::OutOfMemoryId;
using trace::OutsideChange;
using trace::OutsideEventId;
using trace::OutsideMemory;
using trace::PoolChange;
using trace::ReleaseId;
using trace::RewriteId;
using trace::Role;
using trace::RoleId;
using trace::SaveId;
using trace::SegmentChange;
using trace::SegmentEventId;
using trace::StackId;
using trace::StringId;
using trace::Time;
using trace::ValueReadId;
using trace::ViewId;
using trace::VirtualChange;
using trace::VirtualMemoryId;

// The columns of each table are those of its declaration in trace/schema.h; what is here is made of others when a
// process is loaded.

struct Operators : LoadedTable<trace::table::Operators> {
  WideColumn<OperatorId, Time> end;                         // kNever if it was open when the recording ended
  std::vector<uint32_t> inputs = std::vector<uint32_t>(1);  // AllocationId; all operators', one after another, from [1]
};

using InputViews = LoadedTable<trace::table::InputViews>;

struct Allocations : LoadedTable<trace::table::Allocations> {
  IdColumn<AllocationId, FreeId> free;  // none: still alive at the end
};

using Frees = LoadedTable<trace::table::Frees>;

// Of an allocator of a device's own, in the order of their allocations.
struct DeviceBlocks : LoadedTable<trace::table::DeviceBlocks> {
  DeviceBlockId of(AllocationId allocation) const;  // none: of no such allocator
};

// Of an imported process, in the order of allocations.
struct ImportedFacts : LoadedTable<trace::table::ImportedFacts> {
  ImportedFactsId of(AllocationId allocation) const;  // none: nothing is known
};

using FreeRequests = LoadedTable<trace::table::FreeRequests>;
using SegmentEvents = LoadedTable<trace::table::SegmentEvents>;
using OutsideEvents = LoadedTable<trace::table::OutsideEvents>;
using DeviceUsage = LoadedTable<trace::table::DeviceUsage>;
using VirtualMemory = LoadedTable<trace::table::VirtualMemory>;
using MemoryPools = LoadedTable<trace::table::MemoryPools>;
using OutOfMemory = LoadedTable<trace::table::OutOfMemory>;

struct Nodes : LoadedTable<trace::table::Nodes> {
  // NodeIds of the next nodes, all nodes' one after another: those of node n are [edge_begin[n], edge_begin[n + 1]).
  // 0: that input needs no gradient, or, in a node with the flag for it, its node was not seen.
  std::vector<uint32_t> edges;
  std::vector<uint64_t> edge_begin = std::vector<uint64_t>(2);

  std::span<const uint32_t> edges_of(NodeId node) const {
    return std::span(edges).subspan(edge_begin[node.value], edge_begin[node.value + 1] - edge_begin[node.value]);
  }
};

struct Saves : LoadedTable<trace::table::Saves> {
  WideColumn<SaveId, Time> released;  // kNever if it was kept to the end
};

// What is kept for a backward outside of saves.
struct Held : LoadedTable<trace::table::Held> {
  WideColumn<HeldId, Time> until;  // kNever: as long as it is alive
};

using Variables = LoadedTable<trace::table::Variables>;
using Releases = LoadedTable<trace::table::NodeReleases>;

struct Evaluations : LoadedTable<trace::table::Evaluations> {
  WideColumn<EvaluationId, Time> end;
};

using Roles = LoadedTable<trace::table::Roles>;

// What a rewrite did to a save or, without a node, to an operator; what was left as it was, and why.
struct Rewrites : LoadedTable<trace::table::Rewrites> {
  IdColumn<RewriteId, SaveId> save;   // that an applied one ended; none if it was not recorded
  WideColumn<RewriteId, Time> until;  // when that save would have been released otherwise

  bool applied(RewriteId row) const;
  int level(RewriteId row) const;
};

using Checksums = LoadedTable<trace::table::Checksums>;

using ValueReads = LoadedTable<trace::table::ValueReads>;

struct ModuleCalls : LoadedTable<trace::table::ModuleCalls> {
  WideColumn<ModuleCallId, Time> end;
};

// Half open: [begin, end).
struct Interval {
  Time begin, end;

  bool contains(Time time) const { return begin <= time && time < end; }
  friend bool operator==(Interval, Interval) = default;
};

// Few and long, so plain rows: in the order of their begins.
struct Backward : Interval {
  uint8_t flags = 0;  // trace::BackwardFlags
};
struct OptimizerStep {
  Interval when;
  StringId optimizer;  // one each object
};
struct Range {
  Interval when;
  StringId name;
  uint32_t os_thread = 0;  // gettid()
};
struct Lost {
  Loss kind{};
  uint64_t count = 0;
  Time since;
};
struct Information {
  StringId key, value;
};
// Steps that were left out (`tapelens record --last`): of what was before their end the recording has what was alive
// then, and the operators, modules and nodes that it is named by.
struct OlderSteps {
  struct Peak {  // the most that was alive in them
    DeviceId device;
    std::string name;  // of the device
    Bytes bytes;
    uint64_t step = 0;
  };
  uint32_t count = 0;
  Time until;                  // their end; 0: there are none
  StringId optimizer;          // whose steps are borders
  bool is_by_program = false;  // no optimizer's: those that the program told of
  std::vector<Peak> peaks;
};
// A table of the file that contradicts itself or another: here it is empty, and what names its rows names none.
struct LeftOut {
  trace::Table table{};
  std::string name;  // "input_views"
  std::string why;
};
bool lacks(std::span<const LeftOut> left_out, trace::Table table);

struct Process {
  trace::ProcessSummary summary;
  Time duration;  // of the recording
  Operators operators;
  InputViews input_views;
  Allocations allocations;
  Frees frees;
  DeviceBlocks device_blocks;
  FreeRequests free_requests;
  SegmentEvents segment_events;
  OutsideEvents outside_events;
  DeviceUsage device_usage;
  VirtualMemory virtual_memory;
  MemoryPools memory_pools;
  OutOfMemory out_of_memory;
  Nodes nodes;
  Saves saves;
  Held held;
  Variables variables;
  ImportedFacts imported_facts;
  Releases releases;
  Evaluations evaluations;
  Roles roles;
  Rewrites rewrites;
  Checksums checksums;
  ValueReads value_reads;
  ModuleCalls module_calls;
  std::vector<Backward> backwards;
  std::vector<OptimizerStep> optimizer_steps;
  std::vector<OptimizerStep> program_steps;  // of none: where the program itself says that a step ends
  std::vector<Range> ranges;
  std::vector<Information> information;
  Time started;            // when the program said that what it wants looked at begins; 0: it did not
  bool is_marked = false;  // nothing but memory was to be recorded before that
  OlderSteps older;
  bool is_imported = false;  // from what knows nothing of operators, nodes, saves and modules (tapelens import)
  std::vector<Lost> lost;
  std::vector<LeftOut> left_out;

  // Calls visit(table) for each that is a table of columns: what is loaded and checked.
  template <class Visit>
  void each_table(Visit&& visit) {
    visit(operators), visit(input_views), visit(allocations), visit(frees), visit(nodes), visit(saves);
    visit(held), visit(variables), visit(releases), visit(evaluations), visit(roles), visit(rewrites), visit(checksums),
        visit(module_calls);
    visit(device_blocks), visit(free_requests), visit(segment_events), visit(out_of_memory);
    visit(value_reads), visit(outside_events), visit(device_usage);
    visit(virtual_memory), visit(memory_pools), visit(imported_facts);
  }

  // kNever while it is alive at the end of the recording.
  Time freed(AllocationId allocation) const {
    const FreeId free = allocations.free[allocation];
    return free ? frees.time[free] : kNever;
  }
};

// Fills the derived columns: allocations.free, saves.released, held.until, and what saves the rewrites ended. load()
// does this; whoever makes a Process by hand calls it once after the last row.
void join(Process& process);

}  // namespace tapelens::model
