// One recorded process as columns. load_process() makes it from a recording, and every analysis reads it.
// A table is a struct of columns of the same length. Rows are in the order of time, and ids start at 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
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

// trace/schema.h declares the columns of each table; the columns here are derived from others when a process is loaded.

struct Operators : LoadedTable<trace::table::Operators> {
  WideColumn<OperatorId, Time> end;                         // kNever if it was open when the recording ended
  std::vector<uint32_t> inputs = std::vector<uint32_t>(1);  // AllocationIds of all operators in turn, from [1]
};

using InputViews = LoadedTable<trace::table::InputViews>;

struct Allocations : LoadedTable<trace::table::Allocations> {
  IdColumn<AllocationId, FreeId> free;  // none: still alive at the end
};

using Frees = LoadedTable<trace::table::Frees>;

// Blocks of the allocators that belong to a device, in the order of their allocations.
struct DeviceBlocks : LoadedTable<trace::table::DeviceBlocks> {
  DeviceBlockId of(AllocationId allocation) const;  // none: the allocator has no blocks
};

// Rows of an imported process, in the order of allocations.
struct ImportedFacts : LoadedTable<trace::table::ImportedFacts> {
  ImportedFactsId of(AllocationId allocation) const;  // none: no known facts
};

using FreeRequests = LoadedTable<trace::table::FreeRequests>;
using SegmentEvents = LoadedTable<trace::table::SegmentEvents>;
using OutsideEvents = LoadedTable<trace::table::OutsideEvents>;
using DeviceUsage = LoadedTable<trace::table::DeviceUsage>;
using VirtualMemory = LoadedTable<trace::table::VirtualMemory>;
using MemoryPools = LoadedTable<trace::table::MemoryPools>;
using OutOfMemory = LoadedTable<trace::table::OutOfMemory>;

struct Nodes : LoadedTable<trace::table::Nodes> {
  // NodeIds of the next nodes. Node n's are [edge_begin[n], edge_begin[n + 1]).
  // 0: the input needs no gradient or, in a node with the flag for it, its node was not recorded.
  std::vector<uint32_t> edges;
  std::vector<uint64_t> edge_begin = std::vector<uint64_t>(2);

  std::span<const uint32_t> edges_of(NodeId node) const {
    return std::span(edges).subspan(edge_begin[node.value], edge_begin[node.value + 1] - edge_begin[node.value]);
  }
};

struct Saves : LoadedTable<trace::table::Saves> {
  WideColumn<SaveId, Time> released;  // kNever: kept until the recording ended
};

// Tensors kept for a backward other than by saves.
struct Held : LoadedTable<trace::table::Held> {
  WideColumn<HeldId, Time> until;  // kNever: until the allocation is freed
};

using Variables = LoadedTable<trace::table::Variables>;
using Releases = LoadedTable<trace::table::NodeReleases>;

struct Evaluations : LoadedTable<trace::table::Evaluations> {
  WideColumn<EvaluationId, Time> end;
};

using Roles = LoadedTable<trace::table::Roles>;

// The effect of a rewrite on a save or, without a node, on an operator; or the reason why the rewrite was not applied.
struct Rewrites : LoadedTable<trace::table::Rewrites> {
  IdColumn<RewriteId, SaveId> save;   // an applied rewrite ended this save; none if the save was not recorded
  WideColumn<RewriteId, Time> until;  // when that save would have been released otherwise

  bool applied(RewriteId row) const;
  int level(RewriteId row) const;
};

using Checksums = LoadedTable<trace::table::Checksums>;

using ValueReads = LoadedTable<trace::table::ValueReads>;

struct ModuleCalls : LoadedTable<trace::table::ModuleCalls> {
  WideColumn<ModuleCallId, Time> end;
  IdColumn<ModuleCallId, ModuleCallId> outermost;  // the call itself if no call encloses it
};

// Half open: [begin, end).
struct Interval {
  Time begin, end;

  bool contains(Time time) const { return begin <= time && time < end; }
  friend bool operator==(Interval, Interval) = default;
};

// Plain rows, because backwards are few and long; in the order of their begins.
struct Backward : Interval {
  uint8_t flags = 0;  // trace::BackwardFlags
};
struct OptimizerStep {
  Interval when;
  StringId optimizer;  // one name for each optimizer object
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
// Steps left out by `tapelens record --last`. From the time before their end, the recording keeps only the allocations
// that were still alive then, and the operators, modules and nodes that those refer to.
struct OlderSteps {
  struct Peak {  // the highest peak within these steps
    DeviceId device;
    std::string name;  // name of the device
    Bytes bytes;
    uint64_t step = 0;
  };
  uint32_t count = 0;
  Time until;                  // the end of these steps; 0: no steps were left out
  StringId optimizer;          // the optimizer whose steps separate training steps
  bool is_by_program = false;  // the program's own calls separate steps, not an optimizer's
  std::vector<Peak> peaks;
};
// A table that was left out because it contradicts itself or another. It is empty here, and ids of its rows are 0.
struct LeftOut {
  trace::Table table{};
  std::string name;  // "input_views"
  std::string why;
};
bool lacks(std::span<const LeftOut> left_out, trace::Table table);

struct Process {
  trace::ProcessSummary summary;
  Time duration;  // duration of the recording
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
  std::vector<OptimizerStep> program_steps;  // without an optimizer: the ends of steps that the program marked itself
  std::vector<Range> ranges;
  std::vector<Information> information;
  Time started;            // when the program called tapelens.start(); 0: never
  bool is_marked = false;  // record only memory before start()
  // Python without `record --referrers`, which would name the variables that hold tensors.
  bool lacks_variables = false;
  OlderSteps older;
  // `tapelens attach` began the recording while the program ran: the tensors that it found alive then.
  struct Attached {
    uint64_t blocks = 0;
    Bytes bytes{};
  };
  std::optional<Attached> attached;
  bool is_imported = false;  // imported (tapelens import) from a format without operators, nodes, saves and modules
  std::vector<Lost> lost;
  std::vector<LeftOut> left_out;

  // Calls visit(table) for each table of columns; loading and checking use it.
  template <class Visit>
  void each_table(Visit&& visit) {
    std::apply([&](auto... table) { (visit(this->*table), ...); }, kTables);
  }
  uint64_t rows() const {  // of these tables
    return std::apply([&](auto... table) { return (uint64_t{(this->*table).rows()} + ...); }, kTables);
  }
  static constexpr auto kTables = std::tuple(
      &Process::operators, &Process::input_views, &Process::allocations, &Process::frees, &Process::nodes,
      &Process::saves, &Process::held, &Process::variables, &Process::releases, &Process::evaluations, &Process::roles,
      &Process::rewrites, &Process::checksums, &Process::module_calls, &Process::device_blocks, &Process::free_requests,
      &Process::segment_events, &Process::out_of_memory, &Process::value_reads, &Process::outside_events,
      &Process::device_usage, &Process::virtual_memory, &Process::memory_pools, &Process::imported_facts);

  // The time of the free; kNever if the allocation was alive when the recording ended.
  Time freed(AllocationId allocation) const {
    const FreeId free = allocations.free[allocation];
    return free ? frees.time[free] : kNever;
  }
};

// Tables without columns in Process: ends, which are joined with their begins, lists, and tables read as plain rows.
using OtherTables =
    trace::TableList<trace::table::Information, trace::table::Threads, trace::table::OperatorInputs,
                     trace::table::OperatorEnds, trace::table::NodeEdges, trace::table::EvaluationEnds,
                     trace::table::Backwards, trace::table::ModuleCallEnds, trace::table::OptimizerSteps,
                     trace::table::Ranges, trace::table::Losses, trace::table::Sources>;
consteval bool is_loaded(trace::Table table) {
  bool found = false;
  const auto is_of = [&]<class Columns>(Columns Process::*) { found |= Columns::kTable == table; };
  std::apply([&](auto... member) { (is_of(member), ...); }, Process::kTables);
  OtherTables::each([&]<template <template <class> class> class T>() { found |= trace::Row<T>::kTable == table; });
  return found;
}
template <template <template <class> class> class T>
struct Loaded {
  static_assert(is_loaded(trace::Row<T>::kTable), "a table of trace/schema.h that Process does not load");
};
template <template <template <class> class> class... T>
consteval bool all_loaded(trace::TableList<T...>) {
  return (sizeof(Loaded<T>) + ...) > 0;
}
static_assert(all_loaded(trace::ProcessTableList{}));

// Fills the derived columns: allocations.free, module_calls.outermost, saves.released, held.until and the saves that
// rewrites ended. load_process() calls it; code that builds a Process itself calls it once after the last row.
void join(Process& process);

}  // namespace tapelens::model
