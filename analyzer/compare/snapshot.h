// What of a run is compared with another: figures of each device, what was alive at its peak, findings, and which
// version of which file ran. Made of a recording, or read from a baseline (baseline.h); no ids of the model.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/peak/holders.h"
#include "analyzer/report/report.h"
#include "trace/recording.h"
#include "trace/result.h"

namespace tapelens::compare {

using advise::Frame;
using model::Bytes;

// Allocations that were alive at a peak for the same reason, from the same line.
struct Row {
  peak::HolderKind kind{};
  std::string node, field;  // of a save: "ReluBackward0", "result"
  std::string name;         // of a role: the parameter's, "blocks.*.fc.weight"; of an operator: its own
  std::string op, module;   // that allocated it; "GPT.blocks.*.fc": repeated layers are one
  Frame source;             // the line to edit: the innermost one of the user's own files
  std::string statement;    // what stands there; empty: not known
  std::string dtype;
  std::vector<uint64_t> sizes;  // of the biggest, as a save saw it; empty with `dtype`: not known
  Bytes bytes;
  uint64_t allocations = 0;
  std::vector<Frame> stack;  // of the biggest: the frames of the user's own files. Not in a baseline
};

struct StepFigures {
  Bytes begin, peak;  // what was alive when it began, and at most
  uint64_t allocations = 0;
};

// Without what threads allocate that do not train: when they do differs from run to run.
struct DeviceFigures {
  std::string device;
  Bytes peak, saved;
  std::optional<Bytes> reserved;  // none: it is not known
  bool has_backward = true;       // false: none was recorded, so that `saved` says nothing. Not in a baseline
  uint32_t peak_step = 0;
  std::string peak_phase;          // "forward", ...
  uint64_t step_allocations = 0;   // in a step: the median of the whole ones but the first
  Bytes other_threads;             // the most that threads that do not train held
  std::vector<StepFigures> steps;  // whole ones
  std::vector<Row> rows;           // sum to the peak; the most bytes first
  // Bytes at the peak by the full path of the module. Not in a baseline.
  std::vector<std::pair<std::string, Bytes>> modules;
};

struct ProcessFigures {
  int32_t rank = -1;
  std::vector<DeviceFigures> devices;
};

struct KnownFinding {
  std::string id, check;  // advise::Finding's
  check::Severity severity{};
  std::string title, node, field, op, module;
  Frame source;
  std::string statement;
  Bytes bytes, gain;  // what it holds; by how much the peak falls without it, alone or with all others fixed
};

// A file of the user's own that ran, as it was.
struct SourceVersion {
  std::string file;  // as frames name it
  uint64_t bytes = 0, hash = 0;
  friend bool operator==(const SourceVersion&, const SourceVersion&) = default;
};

struct Snapshot {
  std::string label = "this run";  // what remarks call it: "A", "the baseline"
  std::string command, torch_version, simulated_gpu, steps;
  std::vector<ProcessFigures> processes;  // those that allocated, in the order of ranks
  std::vector<KnownFinding> findings;     // of the device with the largest peak
  std::vector<SourceVersion> sources;
  std::vector<std::string> incomplete;   // what data was lost, and why the run is no whole one
  std::vector<std::string> value_reads;  // places at which values of a simulated GPU decided, "train.py:3 main"
};

// What a file held when it ran, if that can be had still.
using FindText = std::function<std::optional<std::string>(const SourceVersion&)>;

// "GPT.blocks.*.fc" of "GPT.blocks.3.fc"
std::string module_pattern(std::string_view path);

// `checks` null: without findings.
trace::Result<Snapshot> take_snapshot(const trace::Recording& recording, advise::Checks* checks,
                                      const advise::Wanted& wanted, const FindText& text_of,
                                      const advise::Progress& progress = {});

// A line of a text, from 1, without the white space around it; empty: it has none.
std::string line_of(std::string_view text, uint32_t line);

}  // namespace tapelens::compare
