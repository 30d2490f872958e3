// The contents of `tapelens report` as one value. build() makes it from a recording; json(), text() and markdown()
// render it. It has plain text and numbers and no ids of the model, so that it can outlive the model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/model/model.h"
#include "analyzer/model/steps.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/peak/external_memory.h"
#include "analyzer/peak/frame_names.h"
#include "analyzer/peak/groups.h"
#include "analyzer/peak/out_of_memory.h"
#include "analyzer/peak/rewritten.h"
#include "analyzer/peak/saves.h"
#include "analyzer/peak/sharding.h"
#include "analyzer/peak/value_reads.h"
#include "analyzer/plan/curve.h"
#include "analyzer/report/modules.h"
#include "analyzer/report/overview.h"
#include "analyzer/run/losses.h"
#include "analyzer/run/peak_device.h"
#include "analyzer/run/run.h"
#include "analyzer/text/layout.h"
#include "trace/result.h"

namespace tapelens::report {

using model::Bytes;
using model::Time;
using run::Lost;
using Frame = peak::Frame;
using OutOfMemory = peak::OutOfMemory;
using ValueRead = peak::ValueRead;
using Step = peak::StepMemory;

// The moment that the report describes.
struct At {
  enum class Kind : uint8_t { peak, step, out_of_memory, time };
  Kind kind = Kind::peak;
  uint32_t step = 0;  // out_of_memory: index of the request that failed, from 0
  Time time;
};
// "peak", "step:3", "oom" (the last request that failed for lack of memory), "oom:0", "1.5s", "250ms", "40us",
// "1234567ns", "1234567" (ns).
std::optional<At> parse_at(std::string_view text);
std::string at_text(const At& at);

struct Options {
  At at;
  peak::By by = peak::By::field;
  std::optional<size_t> top;          // groups and allocations to keep; empty: all
  std::optional<uint32_t> process;    // pid; empty: that of run::PeakDevice
  std::optional<std::string> device;  // "cpu"; empty: likewise
  // Keeps all allocations of the `top` largest sizes, without their stacks, and all modules, for texts that join equal
  // ones (alike.h).
  bool keeps_equal = false;
  bool is_pictured = false;  // build() also makes Report::overview
  bool is_verbose = false;   // text has the conditions of the run in full
  // For By::module: levels of modules below the outermost ones. Deeper modules are added to their parent. Empty: no
  // limit.
  std::optional<unsigned> depth;
};

struct RecordingFacts {
  std::string file;  // as given on the command line; not in JSON
  std::string command, torch_version;
  std::string steps;  // `tapelens record --steps`: "2:4"; with --last "39997:"; empty: all
  // `tapelens record --gpu`: "8 x NVIDIA H100 80GB HBM3"; empty: a run on the real devices.
  std::string simulated_gpu;
  // `tapelens import`: "a memory snapshot of PyTorch"; empty: a recording of Tapelens.
  std::string imported_from;
  bool imported_history = true;       // false: the snapshot shows only one moment
  uint64_t imported_older = 0;        // allocations that are older than the oldest entry of the history
  uint64_t imported_annotations = 0;  // annotations of single allocations, which import leaves out
  Time duration;
  uint64_t events = 0, file_bytes = 0;
  bool complete = true;  // no data was lost
  std::vector<Lost> lost;
};

struct DeviceFacts {
  std::string device;
  Bytes peak;
  Time peak_time;
  uint64_t allocations = 0, frees = 0;
  Bytes live_at_end;
  // For a device whose allocator reports blocks and segments: peak/device_memory.h.
  struct Blocks {
    Bytes allocated_peak, active_peak;
    struct Segments {
      Bytes reserved_peak;
      uint64_t count = 0;
    };
    std::optional<Segments> segments;  // empty: not known
  };
  std::optional<Blocks> blocks;
};

// The estimated memory of a process outside PyTorch's allocator, if the simulated GPU were a real one: detail.h.
struct ExternalEstimate {
  Bytes context;                        // CUDA context, on each GPU that the process uses
  std::vector<uint64_t> communicators;  // ranks of each NCCL communicator, the largest first; 0: not known
  Bytes least_nccl, most_nccl;          // range for all communicators
  Bytes gpu;                            // memory of each GPU
};
// Memory of a device that PyTorch's allocator does not manage: peak/external_memory.h.
using ExternalMemory = peak::ExternalMemory;

// Resident memory of a process (RSS), beside its recorded CPU memory: detail.h.
struct HostMemory {
  Bytes before;           // when the recording began
  Bytes before_peak;      // the peak until then
  Bytes peak;             // the peak of the process, as far as known
  Bytes recorded;         // the peak of the recorded CPU memory
  bool is_final = false;  // false: the process was killed, and its peak may be greater
};

struct ProcessFacts {
  uint32_t pid = 0, parent_pid = 0;
  int32_t rank = -1;
  bool finished = false;
  std::optional<uint8_t> exit_code;  // set if it finished and the code is known
  std::vector<DeviceFacts> devices;
  std::vector<OutOfMemory> out_of_memory;  // in the order of time
  std::string cuda_allocator;              // an allocator that is not PyTorch's caching allocator: "cudaMallocAsync"
  std::string cupti;                       // --cupti: "on", or why it is off; empty: a run without --cupti
  peak::SaveSummary saves;
  std::vector<peak::Sharding> shardings;  // the most bytes first
  std::vector<ValueRead> value_reads;
  std::optional<ExternalEstimate> external_estimate;  // only on simulated GPUs
  std::optional<HostMemory> host;                     // empty: not recorded
};

struct Holder {
  peak::HolderKind kind{};
  std::string node, field, name;
  std::string parameter;      // gradient, optimizer state: the name of the parameter
  uint32_t saves = 0;         // saves of this node type and field on this allocation
  std::string evidence = {};  // imported recording: the evidence for the kind
};

struct Allocation {
  uint32_t id = 0;
  Bytes bytes;
  Time time;
  uint32_t step = 0;
  peak::HolderKind category{};
  std::string op, module;
  std::string owner;   // parameter, its gradient, its optimizer state: the module that has the parameter, if known
  std::string layout;  // "float32 [8, 64, 56, 56]", from the first save; empty if no node saved it
  std::string source;  // "train.py:42 forward"
  std::vector<Frame> stack;
  std::vector<Holder> holders;
  // The block of the device's allocator for this allocation.
  struct Block {
    Bytes bytes;
    uint64_t address = 0, stream = 0;
    uint32_t graph_pool = 0, user_pool = 0;
  };
  std::optional<Block> block;
  // Only in an imported recording. Empty texts are not known.
  struct Imported {
    std::string phase, allocating, node, evidence;  // allocating: the innermost operator
  };
  std::optional<Imported> imported;
};

// The holder that gives the allocation its category.
const Holder& main_holder(const Allocation& allocation);
// The text of a holder: "ConvolutionBackward0.input x2", "gradient of fc.weight", "the program".
std::string holder_text(const Holder& holder);

// The live allocations of one key, with the shape and the line of the biggest one.
struct AllocationGroup {
  std::string key;
  Bytes bytes;
  uint64_t allocations = 0;
  std::string layout, source;  // as in Allocation, but the source is the user's line
  std::string library = {};    // the line of an installed package that the user's line calls; empty: none
};

// A variable that has some of the other live tensors: record --referrers.
struct Variable {
  // With its place: "history[*] in train.py:61". Names that differ only in a number are one. Empty: no variable was
  // found.
  std::string name;
  Bytes bytes;
  uint64_t allocations = 0;
};

struct Left {
  uint64_t count = 0;
  Bytes bytes;
};

// A segment: device memory that an allocator has reserved at a moment.
struct Segment {
  uint64_t address = 0;
  Bytes bytes, used, largest_hole;
  uint64_t stream = 0, blocks = 0;
  uint32_t graph_pool = 0, user_pool = 0;
  bool is_expandable = false;
};
struct Reserved {
  Bytes allocated, waiting;
  std::optional<Bytes> reserved;  // empty, together with `segments`: not known
  Bytes largest_hole;
  std::vector<Segment> segments;  // by address
  // Parts of the unused memory: peak/fragmentation.h.
  Bytes empty, unusable;
  struct Group {
    std::string holder, module, source;
    uint64_t allocations = 0;
    Bytes bytes;
  };
  struct Hole {
    uint64_t segments = 0;
    Bytes unused;
    std::vector<Group> groups;  // never empty
    Left groups_left_out;
  };
  std::vector<Hole> holes;
};

struct Peak {
  uint32_t pid = 0;
  int32_t rank = -1;
  std::string device;
  Bytes bytes;
  Time time;
  uint32_t step = 0;
  bool is_behind_steps = false;  // `step` is not a complete step: it is the part after the last step
  model::Phase phase{};
  uint64_t live_allocations = 0;
  std::string op, source;  // the last allocation at this moment; empty: none, or not known
  std::vector<peak::Category> by_category;
  std::vector<advise::Remaining> held_by;          // the same bytes, and the largest group of each
  std::vector<AllocationGroup> groups;             // sum to `bytes`, with groups_left_out
  std::vector<Allocation> allocations;             // biggest first
  Left groups_left_out, allocations_left_out;      // left out because of --top
  std::optional<std::vector<Variable>> variables;  // most bytes first; empty: the run did not search for variables
  bool lacks_variables = false;                    // `record --referrers` would have named them
  std::optional<Reserved> reserved;                // set if the device's allocator reports segments
  std::optional<ExternalMemory> external_memory;   // set for a recording with --cupti
};

// torch.profiler.record_function. Counts are of all threads.
struct Range {
  std::string name;
  Time begin, end;
  uint32_t thread = 0;  // gettid()
  Bytes begin_live, peak;
  uint64_t allocations = 0;
  Bytes allocated;
};

// The last request that found no memory, in the processes of the recording.
struct Failure {
  OutOfMemory request;
  uint64_t count = 0;  // of such requests
  uint32_t pid = 0;
  // Only if the request is of the chosen process and device: the live bytes at that time, and their holders with the
  // largest group of each.
  std::optional<Bytes> alive;
  std::vector<advise::Remaining> held_by;
};

struct Report {
  Options options;
  RecordingFacts recording;
  std::vector<ProcessFacts> processes;
  // Members describe the chosen process and device, unless their comment names others.
  Peak peak;                         // at the chosen moment
  peak::SaveSummary saves;           // all processes, over the whole recording
  std::vector<ModuleTable> modules;  // for By::module: at the peak of each phase
  std::vector<Step> steps;
  std::vector<Range> ranges;
  peak::Rewritten rewritten;             // over the whole recording
  Bytes saved_peak;                      // set if the process has rewrites: peak::saved_for_backward()
  std::optional<advise::Advice> advice;  // over the whole recording; empty if build() got no checks
  std::optional<Overview> overview;      // set if Options::is_pictured
  std::optional<Failure> failure;        // set if a request found no memory
  plan::Curve fit;                       // set if Options::is_pictured and build() got checks
};

// The steps without the part after the last step. Never empty, because a run without steps has one part.
inline std::span<const Step> whole_steps(const Report& report) {
  const bool has_more = report.steps.size() > 1 && !report.steps.back().complete;
  return std::span(report.steps).first(report.steps.size() - (has_more ? 1 : 0));
}

// The checks to run, and the options of the advice. They must live until build() returns.
struct Advising {
  advise::Checks& checks;
  advise::AdviceOptions wanted;
  advise::Progress progress;
  // Also predict the memory that a CUDA device's allocator would reserve. The replay of all requests takes about a
  // second for a few million requests.
  std::optional<advise::AllocatorWanted> allocator{};
};
// An error has the kind `usage` if an option names something that the recording does not have. Its sentence does not
// name the file.
trace::Result<Report> build(const run::Run& run, const Options& options, const Advising* advising = nullptr);

std::string json(const Report& report);

std::string text(const Report& report, const text::Style& style);
std::string markdown(const Report& report, size_t rows);

}  // namespace tapelens::report
