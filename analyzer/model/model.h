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
using trace::EvaluationId;
using trace::kNever;
using trace::LayoutId;
using trace::Loss;
using trace::ModuleCallId;
using trace::ModuleId;
using trace::NodeId;
using trace::OperatorId;
using trace::Origin;
using trace::Role;
using trace::SaveId;
using trace::StackId;
using trace::StringId;
using trace::Time;

using DeviceId = trace::Id<struct DeviceTag>;
using FreeId = trace::Id<struct FreeTag>;
using ReleaseId = trace::Id<struct ReleaseTag>;
using RewriteId = trace::Id<struct RewriteTag>;
using RoleId = trace::Id<struct RoleTag>;
using ChecksumId = trace::Id<struct ChecksumTag>;
using ViewId = trace::Id<struct ViewTag>;

struct Operators {
  WideColumn<OperatorId, Time> begin, end;  // end: kNever if it was open when the recording ended
  IdColumn<OperatorId, StringId> name;
  IdColumn<OperatorId, StackId> stack;  // own; see attribution.h for what it inherits
  IdColumn<OperatorId, ModuleCallId> module_call;
  IdColumn<OperatorId, OperatorId> parent;
  IdColumn<OperatorId, EvaluationId> evaluation;  // around it
  IdColumn<OperatorId, uint16_t, uint16_t> input_count;
  IdColumn<OperatorId, uint32_t> written;  // bit i: it changes the content of input i; bit 31: of any from the 32nd on
  std::vector<uint32_t> inputs = std::vector<uint32_t>(1);  // AllocationId; all operators', one after another, from [1]

  uint32_t rows() const { return begin.rows(); }
  auto ids() const { return begin.ids(); }
};

// What operators that copy were given: as many rows as they have inputs, in the order of the operators.
struct InputViews {
  IdColumn<ViewId, OperatorId> op;
  IdColumn<ViewId, LayoutId> layout;
  IdColumn<ViewId, uint64_t, uint64_t> offset;  // into the storage, in elements

  uint32_t rows() const { return op.rows(); }
  auto ids() const { return op.ids(); }
};

struct Allocations {
  WideColumn<AllocationId, Time> time;
  WideColumn<AllocationId, Bytes> bytes;
  IdColumn<AllocationId, DeviceId, uint8_t> device;
  IdColumn<AllocationId, Origin, uint8_t> origin;
  IdColumn<AllocationId, OperatorId> op;  // innermost open one
  IdColumn<AllocationId, EvaluationId> evaluation;
  IdColumn<AllocationId, StackId> stack;
  IdColumn<AllocationId, ModuleCallId> module_call;
  IdColumn<AllocationId, FreeId> free;  // derived; none: still alive at the end

  uint32_t rows() const { return time.rows(); }
  auto ids() const { return time.ids(); }
};

struct Frees {
  IdColumn<FreeId, AllocationId> of;
  WideColumn<FreeId, Time> time;

  uint32_t rows() const { return of.rows(); }
  auto ids() const { return of.ids(); }
};

struct Nodes {
  WideColumn<NodeId, Time> time;
  IdColumn<NodeId, StringId> type;
  IdColumn<NodeId, OperatorId> op;
  IdColumn<NodeId, uint8_t, uint8_t> flags;  // trace::NodeFlags
  IdColumn<NodeId, AllocationId> parameter;  // of an AccumulateGrad
  IdColumn<NodeId, StringId> attributes;     // "training=False"; none: not asked for
  // NodeIds of the next nodes, all nodes' one after another: those of node n are [edge_begin[n], edge_begin[n + 1]).
  // 0: that input needs no gradient, or, in a node with the flag for it, its node was not seen.
  std::vector<uint32_t> edges;
  std::vector<uint64_t> edge_begin = std::vector<uint64_t>(2);

  uint32_t rows() const { return time.rows(); }
  auto ids() const { return time.ids(); }
  std::span<const uint32_t> edges_of(NodeId node) const {
    return std::span(edges).subspan(edge_begin[node.value], edge_begin[node.value + 1] - edge_begin[node.value]);
  }
};

struct Saves {
  WideColumn<SaveId, Time> time, released;  // released: derived; kNever if it was kept to the end
  IdColumn<SaveId, NodeId> node;            // none: unattributed
  IdColumn<SaveId, StringId> field;
  IdColumn<SaveId, uint32_t> index;  // place in a field that is a list, else 0
  IdColumn<SaveId, AllocationId> allocation;
  IdColumn<SaveId, LayoutId> layout;
  IdColumn<SaveId, uint64_t, uint64_t> offset;  // into the storage, in elements
  IdColumn<SaveId, uint8_t, uint8_t> flags;     // trace::SaveFlags

  uint32_t rows() const { return time.rows(); }
  auto ids() const { return time.ids(); }
};

struct Releases {
  IdColumn<ReleaseId, NodeId> of;
  WideColumn<ReleaseId, Time> time;
  IdColumn<ReleaseId, uint8_t, uint8_t> flags;  // trace::NodeReleaseFlags

  uint32_t rows() const { return of.rows(); }
  auto ids() const { return of.ids(); }
};

struct Evaluations {
  WideColumn<EvaluationId, Time> begin, end;
  IdColumn<EvaluationId, NodeId> node;
  IdColumn<EvaluationId, uint8_t, uint8_t> flags;  // trace::EvaluationFlags

  uint32_t rows() const { return begin.rows(); }
  auto ids() const { return begin.ids(); }
};

struct Roles {
  WideColumn<RoleId, Time> time;
  IdColumn<RoleId, AllocationId> allocation;
  IdColumn<RoleId, Role, uint8_t> kind;
  IdColumn<RoleId, StringId> name;
  IdColumn<RoleId, AllocationId> parameter;  // of a gradient or an optimizer state

  uint32_t rows() const { return time.rows(); }
  auto ids() const { return time.ids(); }
};

// What a rewrite did to a save or, without a node, to an operator; what was left as it was, and why.
struct Rewrites {
  WideColumn<RewriteId, Time> time;
  IdColumn<RewriteId, StringId> rewrite;        // "unneeded-save"
  IdColumn<RewriteId, uint8_t, uint8_t> flags;  // trace::RewriteFlags
  IdColumn<RewriteId, NodeId> node;             // none: of an operator
  IdColumn<RewriteId, StringId> field, reason;  // reason: none if it was applied
  IdColumn<RewriteId, uint32_t> index;          // place in a field that is a list, else 0
  WideColumn<RewriteId, Bytes> bytes, kept;     // that need not be held any more; that are held in their stead
  IdColumn<RewriteId, OperatorId> op;           // that was open
  IdColumn<RewriteId, StackId> stack;           // own; none: that of its operator
  IdColumn<RewriteId, ModuleCallId> module_call;
  IdColumn<RewriteId, SaveId> save;   // derived: that an applied one ended; none if it was not recorded
  WideColumn<RewriteId, Time> until;  // derived: when that save would have been released otherwise

  uint32_t rows() const { return time.rows(); }
  auto ids() const { return time.ids(); }
  bool applied(RewriteId row) const;
  int level(RewriteId row) const;
};

// Of losses, gradients and parameters: only where `tapelens verify` asked for them.
struct Checksums {
  WideColumn<ChecksumId, Time> time;
  IdColumn<ChecksumId, uint64_t, uint64_t> step, value;  // value: of a loss the bits of a double
  IdColumn<ChecksumId, uint8_t, uint8_t> of;             // trace::ChecksumOf
  IdColumn<ChecksumId, StringId> name;                   // of the parameter
  WideColumn<ChecksumId, Time> spent;                    // on taking it, up to its time

  uint32_t rows() const { return time.rows(); }
  auto ids() const { return time.ids(); }
};

struct ModuleCalls {
  WideColumn<ModuleCallId, Time> begin, end;
  IdColumn<ModuleCallId, ModuleId> module;
  IdColumn<ModuleCallId, ModuleCallId> parent;

  uint32_t rows() const { return begin.rows(); }
  auto ids() const { return begin.ids(); }
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
  Nodes nodes;
  Saves saves;
  Releases releases;
  Evaluations evaluations;
  Roles roles;
  Rewrites rewrites;
  Checksums checksums;
  ModuleCalls module_calls;
  std::vector<Backward> backwards;
  std::vector<OptimizerStep> optimizer_steps;
  std::vector<Range> ranges;
  std::vector<Information> information;
  std::vector<Lost> lost;
  std::vector<LeftOut> left_out;

  // kNever while it is alive at the end of the recording.
  Time freed(AllocationId allocation) const {
    const FreeId free = allocations.free[allocation];
    return free ? frees.time[free] : kNever;
  }
};

// Fills the derived columns: allocations.free, saves.released, and what saves the rewrites ended. load() does this;
// whoever makes a Process by hand calls it once after the last row.
void join(Process& process);

}  // namespace tapelens::model
