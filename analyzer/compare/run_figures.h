// The part of a run that is compared: figures of each device, allocations at its peak, findings, and the versions of
// the files that ran. Comes from a recording or a baseline; contains no ids of the model.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/check/sources.h"
#include "analyzer/peak/holders.h"
#include "analyzer/report/report.h"
#include "analyzer/run/peak_device.h"
#include "trace/result.h"

namespace tapelens::compare {

using advise::Frame;
using model::Bytes;

// Allocations alive at a peak that have the same holder and the same line.
struct Row {
  peak::HolderKind kind{};
  std::string node, field;  // only for a save: "ReluBackward0", "result"
  std::string name;         // for a role, the parameter's name, "blocks.*.fc.weight"; for an operator, its name
  std::string op, module;   // operator and module that allocated; "GPT.blocks.*.fc": repeated layers are one
  Frame source;             // the line to edit: the innermost frame of the user's own files
  std::string statement;    // the text of that line; empty: unknown
  std::string dtype;
  std::vector<uint64_t> sizes;  // largest allocation's sizes in a save; both empty: unknown
  Bytes bytes;
  uint64_t allocations = 0;
  std::vector<Frame> stack;  // largest allocation's stack, only frames of the user's own files. Not in a baseline
};

struct StepFigures {
  Bytes begin, peak;  // bytes alive at the begin of the step, and at most
  uint64_t allocations = 0;
};

// Bytes at a peak with the same module and holder.
struct HeldBytes {
  std::string module;  // full path, "GPT.blocks.3.fc"; in parentheses or empty: no module
  std::string what;    // "ReluBackward0.result", "parameters"
  Bytes bytes;
  uint64_t allocations = 0;
};

// Without the allocations of threads that do not train: their timing differs from run to run.
struct DeviceFigures {
  std::string device;
  Bytes peak, saved;
  std::optional<Bytes> reserved;  // none: unknown
  bool lacks_variables = false;   // `record --referrers` would name those of other live tensors. Not in a baseline
  bool has_backward = true;       // false: no backward was recorded, so `saved` means nothing. Not in a baseline
  uint32_t peak_step = 0;
  std::string peak_phase;          // "forward", ...
  uint64_t step_allocations = 0;   // median over whole steps except the first
  Bytes other_threads;             // the most bytes that other threads held
  std::vector<StepFigures> steps;  // only whole steps
  std::vector<Row> rows;           // they sum to the peak; the most bytes first
  // Bytes at the peak by the module's full path. Not in a baseline.
  std::vector<std::pair<std::string, Bytes>> modules;
  // The same bytes by the module that holds them, and by holder. They sum to the peak. Not in a baseline.
  std::vector<HeldBytes> held;

  // Reserved bytes are known of GPUs alone.
  run::Precedence precedence() const { return {reserved.has_value(), peak}; }
};

struct ProcessFigures {
  int32_t rank = -1;
  std::vector<DeviceFigures> devices;  // that with the peak first
};

struct KnownFinding {
  std::string id, check;  // as in advise::Finding
  check::Severity severity{};
  std::string title, node, field, op, module;
  Frame source;
  std::string statement;
  Bytes bytes, gain;  // bytes that it holds; how far the peak falls if it is fixed, alone or with all others
};

// The version of a file of the user's own that ran.
struct SourceVersion {
  std::string file;  // as in frames
  uint64_t bytes = 0, hash = 0;
  friend bool operator==(const SourceVersion&, const SourceVersion&) = default;
};

struct RunFigures {
  std::string label = "this run";  // name in remarks: "A", "the baseline"
  std::string file;                // as on the command line
  std::string command, torch_version, simulated_gpu, steps;
  std::vector<ProcessFigures> processes;  // processes that allocated, in the order of ranks
  std::vector<KnownFinding> findings;     // on the device of run::PeakDevice
  std::vector<SourceVersion> sources;
  std::vector<std::string> incomplete;   // the data that was lost, and why the run is incomplete
  std::vector<std::string> value_reads;  // places where the program read values of a simulated GPU, "train.py:3 main"
};

// The content of a file when it ran, if it is still available.
using FindText = std::function<std::optional<std::string>(const SourceVersion&)>;

// "GPT.blocks.*.fc" of "GPT.blocks.3.fc"
std::string module_pattern(std::string_view path);

// If `checks` is null, the figures have no findings.
trace::Result<RunFigures> figures_of_run(const run::Run& run, advise::Checks* checks,
                                         const advise::AdviceOptions& wanted, const FindText& text_of,
                                         const advise::Progress& progress = {});

// Line `line` of a text (from 1), trimmed; empty if it does not exist.
std::string line_of(std::string_view text, uint32_t line);

// ---- a baseline: the figures of a run as a file to keep beside the program. Its content is sorted, with one item a
// line, so that changes are readable in a diff

// Paths of files are relative to the repository.
std::string baseline_json(const RunFigures& run, const check::SourceTree& tree, std::string_view version);

// The error says what is wrong, without the file's name.
trace::Result<RunFigures> read_baseline(std::string_view json);

}  // namespace tapelens::compare
