// What `tapelens report` says, as one value: build() makes it of a recording, json(), text() and markdown() render it.
// Plain text and numbers, no ids of the model: a report outlives the columns it was made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/model/model.h"
#include "analyzer/model/steps.h"
#include "analyzer/peak/groups.h"
#include "analyzer/peak/outside.h"
#include "analyzer/peak/rewritten.h"
#include "analyzer/peak/saves.h"
#include "analyzer/peak/sharding.h"
#include "analyzer/report/modules.h"
#include "analyzer/report/overview.h"
#include "trace/recording.h"
#include "trace/result.h"

namespace tapelens::report {

using model::Bytes;
using model::Time;

// Which moment is looked at.
struct At {
  enum class Kind : uint8_t { peak, step, out_of_memory, time };
  Kind kind = Kind::peak;
  uint32_t step = 0;  // or which of the requests that found no memory, from 0
  Time time;
};
// "peak", "step:3", "oom" (the last request that found no memory), "oom:0", "1.5s", "250ms", "40us", "1234567ns",
// "1234567" (ns).
std::optional<At> parse_at(std::string_view text);
std::string at_text(const At& at);

struct Options {
  At at;
  peak::By by = peak::By::field;
  std::optional<size_t> top;          // groups and allocations to keep; none: all
  std::optional<uint32_t> process;    // pid; none: the one with the largest peak
  std::optional<std::string> device;  // "cpu"; none: the one with the largest peak
  bool is_pictured = false;           // Report::overview is wanted
  // Of By::module: modules that are deeper than so many levels below the outermost ones are summed in the one around
  // them. None: each stands for itself.
  std::optional<unsigned> depth;
};

struct Lost {
  std::string kind;  // "disk_full"
  std::string what;  // one sentence for the user
  uint64_t count = 0;
  Time since;
  uint32_t pid = 0;
  bool is_data = true;  // forked children are counted but were never to be recorded
};

struct RecordingFacts {
  std::string file;  // as given on the command line; not in JSON
  std::string command, torch_version;
  std::string steps;  // `tapelens record --steps`: "2:4"; with --last "39997:"; empty: all
  // `tapelens record --simulate-gpu`: "8 x NVIDIA H100 80GB HBM3"; empty: what is there.
  std::string simulated_gpu;
  // `tapelens import`: "a memory snapshot of PyTorch"; empty: a recording of Tapelens.
  std::string imported_from;
  bool imported_history = true;       // false: it is of one moment
  uint64_t imported_older = 0;        // allocations that were made before the oldest entry of its history
  uint64_t imported_annotations = 0;  // of single allocations, which are left out
  Time duration;
  uint64_t events = 0, file_bytes = 0;
  bool complete = true;  // no data was lost
  std::vector<Lost> lost;
};

struct Device {
  std::string device;
  Bytes peak;
  Time peak_time;
  uint64_t allocations = 0, frees = 0;
  Bytes live_at_end;
  // Of a device whose allocator tells of blocks and segments: peak/device_memory.h.
  struct Blocks {
    Bytes allocated_peak, active_peak;
    struct Segments {
      Bytes reserved_peak;
      uint64_t count = 0;
    };
    std::optional<Segments> segments;  // none: not known
  };
  std::optional<Blocks> blocks;
};

// A request that the allocator of a device had no memory for.
struct OutOfMemory {
  std::string device;
  Time time;
  Bytes bytes;                // of the block
  Bytes allocated, reserved;  // by the allocator's own count
  std::optional<Bytes> free;  // on the device, as its driver said
  Bytes largest_hole;         // of the segments that there were
  std::string op, module, source;
  std::vector<advise::Frame> stack;
};

using Frame = advise::Frame;

// A place at which the program read values that its simulated GPU did not compute.
struct ValueRead {
  std::string op;      // that the program called: "aten::item"
  std::string source;  // "train.py:42 forward"; empty, and no frame, if it has no stack
  Frame frame;
  Time first;
  uint64_t count = 0;
};

// What a process on a simulated GPU would have of a real one beside PyTorch's allocator. Estimates: estimates.h.
struct OutsideEstimate {
  Bytes context;                        // of CUDA, on each GPU that the process uses
  std::vector<uint64_t> communicators;  // of NCCL that were made: ranks, the largest first; 0: not known
  Bytes least_nccl, most_nccl;          // for all of them
  Bytes gpu;                            // what each GPU has
};
// Memory of a device that PyTorch's allocator knows nothing of: peak/outside.h.
using Outside = peak::Outside;

struct ProcessFacts {
  uint32_t pid = 0, parent_pid = 0;
  int32_t rank = -1;
  bool finished = false;
  std::optional<uint8_t> exit_code;  // of one that finished, where it is known
  std::vector<Device> devices;
  std::vector<OutOfMemory> out_of_memory;  // in the order of time
  std::string cuda_allocator;              // that is not PyTorch's own: "cudaMallocAsync"
  std::string cupti;                       // of --cupti: "on", or why not; empty: it was not asked for
  peak::SaveSummary saves;
  std::vector<peak::Sharding> shardings;  // the most bytes first
  std::vector<ValueRead> value_reads;
  std::optional<OutsideEstimate> outside;  // only on simulated GPUs
};

struct Holder {
  peak::HolderKind kind{};
  std::string node, field, name;
  std::string parameter;      // of a gradient or an optimizer state: its parameter's name
  uint32_t saves = 0;         // of this node type and field on this allocation
  std::string evidence = {};  // of an imported recording: what shows the kind
};

struct Allocation {
  uint32_t id = 0;
  Bytes bytes;
  Time time;
  uint32_t step = 0;
  peak::HolderKind category{};
  std::string op, module;
  std::string owner;   // of a parameter, its gradient and its optimizer state: the module it belongs to, if known
  std::string layout;  // "float32 [8, 64, 56, 56]" as the first save saw it; empty if nothing saved it
  std::string source;  // "train.py:42 forward"
  std::vector<Frame> stack;
  std::vector<Holder> holders;
  // Of a device's own allocator: what it gave for those bytes.
  struct Block {
    Bytes bytes;
    uint64_t address = 0, stream = 0;
    uint32_t graph_pool = 0, user_pool = 0;
  };
  std::optional<Block> block;
  // Of an imported recording; empty: not known.
  struct Imported {
    std::string phase, node, evidence;
  };
  std::optional<Imported> imported;
};

// The holder that the allocation's category is named after.
const Holder& main_holder(const Allocation& allocation);
// A holder in words: "ConvolutionBackward0.input x2", "gradient of fc.weight", "the program".
std::string holder_text(const Holder& holder);

// What is alive of one key, with the shape and the line of the biggest of it.
struct Group {
  std::string key;
  Bytes bytes;
  uint64_t allocations = 0;
  std::string layout, source;  // as Allocation has them
};

// Of the other live tensors, by the variable that has them: record --referrers.
struct Variable {
  std::string
      name;  // with its place, "history[*] in train.py:61": what differs in a number is one; empty: none was found
  Bytes bytes;
  uint64_t allocations = 0;
};

struct Left {
  uint64_t count = 0;
  Bytes bytes;
};

// The memory that an allocator had of its device, at a moment.
struct Segment {
  uint64_t address = 0;
  Bytes bytes, used, largest_hole;
  uint64_t stream = 0, blocks = 0;
  uint32_t graph_pool = 0, user_pool = 0;
  bool is_expandable = false;
};
struct Reserved {
  Bytes allocated, waiting;
  std::optional<Bytes> reserved;  // none, and no segment: not known
  Bytes largest_hole;
  std::vector<Segment> segments;  // by address
  // Of what is unused: peak/fragmentation.h.
  Bytes empty, unusable;
  struct Pin {
    std::string holder, module, source;
    uint64_t allocations = 0, segments = 0;
    Bytes bytes, unused;
  };
  std::vector<Pin> pins;
};

struct Peak {
  uint32_t pid = 0;
  int32_t rank = -1;
  std::string device;
  Bytes bytes;
  Time time;
  uint32_t step = 0;
  bool is_behind_steps = false;  // `step` is no whole one: it is what came after the last
  model::Phase phase{};
  uint64_t live_allocations = 0;
  std::string op, source;  // of the allocation that was made at this moment, of the last one; empty: none, or not known
  std::vector<peak::Category> by_category;
  std::vector<advise::Remaining> held_by;          // the same bytes, and the largest group of each
  std::vector<Group> groups;                       // sum to `bytes`, with groups_left_out
  std::vector<Allocation> allocations;             // biggest first
  Left groups_left_out, allocations_left_out;      // by --top
  std::optional<std::vector<Variable>> variables;  // most bytes first; none: nobody looked
  std::optional<Reserved> reserved;                // of a device that tells of segments
  std::optional<Outside> outside;                  // of a recording with --cupti
};

struct Step {
  uint32_t index = 0;
  Time begin, end;
  Bytes begin_live;  // what was alive when it began
  Bytes peak;
  uint64_t allocations = 0;
  Bytes allocated;
  uint64_t backward_allocations = 0;
  bool complete = true;  // false: what follows the last border, or all of a run without an optimizer
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

struct Report {
  Options options;
  RecordingFacts recording;
  std::vector<ProcessFacts> processes;
  Peak peak;                         // of the chosen process and device, at the chosen moment
  peak::SaveSummary saves;           // of all processes, over the whole recording
  std::vector<ModuleTable> modules;  // of By::module: at the peak of each phase
  std::vector<Step> steps;           // of the chosen process and device
  std::vector<Range> ranges;
  peak::Rewritten rewritten;  // of the chosen process, over the whole recording
  Bytes saved_peak;           // of a process with rewrites, on the chosen device: peak::saved_for_backward()
  // Of the chosen process and device, over the whole recording; none if no checks were asked to run.
  std::optional<advise::Advice> advice;
  std::optional<Overview> overview;  // none if it was not asked for
};

// Without what came after the last border, where there is one. Never empty.
inline std::span<const Step> whole_steps(const Report& report) {
  const bool has_more = report.steps.size() > 1 && !report.steps.back().complete;
  return std::span(report.steps).first(report.steps.size() - (has_more ? 1 : 0));
}

// The checks that are to run, and what of them is wanted. They live as long as the report is built.
struct Advising {
  advise::Checks& checks;
  advise::Wanted wanted;
  advise::Progress progress;
  // What the allocator of a CUDA device would reserve: replays of all requests, a second for some millions of them.
  std::optional<advise::AllocatorWanted> allocator{};
};
// An error is of kind usage where an option asks for what the recording does not have; its sentence does not name the
// file.
trace::Result<Report> build(const trace::Recording& recording, const Options& options,
                            const Advising* advising = nullptr);

std::string json(const Report& report);

// How the terminal is; pure data, so that tests can ask for any.
struct Style {
  unsigned width = 100;  // at least 60
  bool color = false;
  size_t rows = 10;  // of groups and allocations
};
std::string text(const Report& report, const Style& style);
std::string markdown(const Report& report, size_t rows);

}  // namespace tapelens::report
