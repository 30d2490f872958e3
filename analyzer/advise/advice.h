// The findings of the checks in one process of a recording, scored by the replay. They consist of plain text and
// numbers, without ids of the model.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/advise/allocator_advice.h"
#include "analyzer/advise/applying.h"
#include "analyzer/advise/checks.h"
#include "analyzer/check/check.h"
#include "analyzer/model/model.h"
#include "analyzer/model/steps.h"
#include "analyzer/model/text.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/peak/frame_names.h"
#include "analyzer/peak/groups.h"
#include "analyzer/peak/in_use.h"

namespace tapelens::advise {

using namespace model;

using peak::Frame;

// One allocation of a finding: the biggest of the allocations with the same field, layout and holders.
struct Evidence {
  Bytes bytes;  // the largest size
  bool are_of_one_size = true;
  uint64_t count = 1;                // occurrences with this field, layout and holders
  std::string node, field;           // the save; empty: not about a save
  std::string op;                    // the operator that made the allocation: "aten::relu"
  std::string layout;                // "float32 [8, 64, 56, 56]", if known
  std::vector<std::string> kept_by;  // other holders: "ReluBackward0.result", "parameter layer1.0.weight"
  Time begin, end;                   // end kNever: alive at the end of the recording
};

struct Finding {
  std::string id;  // the fingerprint, 16 hexadecimal digits: the same in every run of the same program
  std::string check;
  uint32_t check_version = 1;
  check::Severity severity{};
  bool is_proved = true;
  bool is_alternative = false;
  std::string title, message;
  Bytes bytes;  // maximum of its occurrences at one moment, each allocation counted once
  uint64_t occurrences = 0;
  uint64_t sites = 0;           // different places in the module tree: "12 sites like this"
  std::vector<uint32_t> steps;  // at most the first few and the last few; see step_count
  uint32_t step_count = 0;
  Bytes peak_before, peak_after;        // alone
  Bytes retained_at_peak_with_all;      // further reduction if all other findings are fixed
  bool is_in_all = false;               // Advice::peak_after_all includes this fix
  std::string node, field, op, module;  // module: '*' replaces numbers that differ between sites
  std::vector<Frame> stack;             // innermost first; library frames too
  Frame source;                         // the line to edit: the innermost frame in the user's own files
  Frame library;                        // innermost frame of a package that `source` calls; else empty
  Frame innermost;                      // innermost frame outside PyTorch, for the fingerprint and a plan's site
  std::string statement;                // the code at `source`; empty: unknown, or changed since the recording
  std::vector<Evidence> evidence;       // at most 8, the biggest first
  uint64_t evidence_left_out = 0;
  Bytes growth;  // unbounded growth in each step; 0: no growth, or only of nodes
  std::vector<std::string> notes;
  check::Fix fix;

  // The reduction of the peak by this fix, without other fixes or with all others. The larger one counts.
  Bytes retained_at_peak() const { return std::max(peak_before - peak_after, retained_at_peak_with_all); }
};

// Findings that one change of the program, or one command, fixes.
struct Entry {
  // In the order of the report. error: memory grows without bound. code: an edit of the user's own line, without a
  // change of results. consider: an edit that changes numerics, or more than one line. automatic: rewrites of an
  // unmodified program. trade: memory for time; such entries are alternatives to one another.
  enum class Kind : uint8_t { error, code, consider, automatic, trade };
  Kind kind{};
  std::vector<uint32_t> findings;  // indices into Advice::findings; the first one gives the title
  Bytes peak_before, peak_after;   // with the earlier entries fixed, without and with this one; a trade: alone
  // Not an error, and lowers the peak by less than 1 %, or not at all. Small entries come last, unless another entry
  // depends on one of them.
  bool is_small = false;

  Bytes change() const { return peak_before - peak_after; }
};

// One kind of holder at the peak with all findings fixed.
struct Remaining {
  peak::HolderKind kind{};
  Bytes bytes;
  uint64_t allocations = 0;
  std::string largest;  // group: "aten::convolution_backward", "ReluBackward0.result"; empty: a role, without groups
  Bytes largest_bytes;
  std::string module;     // module that made the biggest allocation of that group
  Frame source;           // the user's line
  Frame library = {};     // the line of an installed package that the user's line calls; empty file: none
  std::string hint = {};  // program: how to find the variable (peak::variables_hint)
};

// The effect of all applied rewrites together. The recording cannot tell when variables released a tensor that a save
// also keeps alive. If the peak depends on that time, `at_most` is larger than `after`.
struct Prediction {
  std::string name;  // "lossless"
  Bytes peak_before, peak_after, peak_at_most;
  Bytes saved_before, saved_after, saved_at_most;  // most bytes kept only for the backward, when it begins
};

struct Advice {
  // peak_after_all: the peak with the best set of findings fixed. The set excludes alternatives, and findings whose fix
  // would raise the peak. No other set without alternatives has a lower peak (see together.h).
  Bytes peak_before, peak_after_all;
  Time peak_after_all_time;
  // The holders at that peak, the most bytes first. Memory that replaces a finding's bytes is not included.
  std::vector<Remaining> left;
  std::vector<Finding> findings;        // in the order of the entries
  std::vector<Entry> entries;           // in the order in which to fix them
  std::vector<std::string> refused;     // one line for each check that failed, and why
  std::vector<std::string> checks;      // ids of the checks that ran
  std::vector<std::string> not_looked;  // ids of the checks that cannot read an imported recording
  check::SourceTree sources;            // the tree in AdviceOptions::sources that the patches change
  peak::InUse in_use;                   // the techniques and frameworks that the program uses already
  std::vector<std::string> changed;     // user's files that changed since the recording: line numbers may be wrong
  // Set if rewrites are applied. Then the findings and peak_after_all are those of the rewrites.
  std::optional<Prediction> predicted;
  // Only for a device whose allocator reports segments. advise() leaves it empty; allocator_advice() computes it.
  std::optional<AllocatorAdvice> allocator;
};

struct AdviceOptions {
  std::vector<std::string> checks;  // ids; empty: all
  Bytes min_bytes{};                // omits smaller findings, also from peak_after_all
  // "recomputable-save.min-ratio" -> "4"
  std::vector<std::pair<std::string, std::string>> options;
  // Restricts the advice to the exact effect of these rewrites.
  std::optional<Applying> applying{};
  // Possible trees of the program's files, the best first. Without a tree, the advice has no patches.
  std::vector<check::SourceTree> sources{};
};

// Receives the current task and the completed fraction, from 0 to 1. May be empty.
using Progress = std::function<void(std::string_view, double)>;

// The change of the timeline for one finding. It includes saves that other findings drop as well.
struct TimelineChange {
  peak::WhatIf what;
  uint32_t place = 0;  // unique; if several changes drop a save, the change with the lowest place counts
};

// The recording with some findings fixed: `ticked`, in any order. With all findings that have is_in_all, the peak is
// Advice::peak_after_all.
peak::Replay::Outcome without(const Process& process, const peak::Replay& replay,
                              std::span<const TimelineChange* const> ticked);

// Advice about the memory of one device. `changes`: may be null; gets one change for each of Advice::findings, in the
// same order. `longest`: may be null; gets the changes of the applied rewrites if variables release saved tensors as
// late as possible.
Advice advise(const peak::DeviceAnalysis& device, Checks& checks, const AdviceOptions& wanted,
              const Progress& progress = {}, std::vector<TimelineChange>* changes = nullptr,
              std::vector<TimelineChange>* longest = nullptr);

// An error of kind usage if `wanted` names an unknown check or option.
trace::Status valid(const AdviceOptions& wanted, const Checks& checks);

// ---- entries: one for each cause, in the order in which to fix them

// A smaller share of the peak does not justify a change of a program.
inline constexpr double kSignificant = 0.01;

// Sorts findings, and their changes at the same indices, by the entries that they become. `are_applied`: they come from
// applied rewrites, which form one entry with any fixes.
std::vector<Entry> entries_of(const Process& process, const peak::Replay& replay, bool are_applied,
                              std::vector<Finding>& findings, std::vector<TimelineChange>& changes);

// The holders of the allocations in `left`: the peak with all findings fixed, or any other set.
std::vector<Remaining> remaining_of(const Process& process, const Text& text, const std::vector<Step>& steps,
                                    const peak::PeakSet& left);

// ---- the available rewrites of a run, and their changes in the form that the allocator's replay takes
struct RewrittenRun {
  std::string options;  // of `tapelens run`: "--apply lossless", "--allow wide-save"
  // All rewrites together, for each of the two bounds on the variables' release of saved tensors (peak::Analysis).
  std::vector<TimelineChange> changes, longest;
};

// The effect of rewrites on a process, without findings and their scores.
struct RewrittenEffect {
  Bytes peak;  // the higher of the two bounds
  // The rewritten saves of one field in equal modules.
  struct Place {
    std::string rewrite, field, module;  // "GeluBackward0.self", "Net.layers.*.mlp"; module: as in Finding
    uint64_t modules = 0;                // how many of these
    Bytes bytes;                         // the most at one moment
  };
  std::vector<Place> places;
  // The operators that run again in a step have this recorded duration, and this share of the step's estimated cost.
  // They are means over the later half of the steps: the recompute budget is not decided before.
  Time repeated{};
  double repeated_share = 0;
  RewrittenRun run;
};
RewrittenEffect effect_of(const peak::DeviceAnalysis& device, Checks& checks, const Applying& applying);

// Omits rewrites without effect. Levels come first, then each of Tapelens's own rewrites with a predicted effect.
std::vector<RewrittenRun> rewritten_runs(const peak::DeviceAnalysis& device, Checks& checks,
                                         const AdviceOptions& wanted);

}  // namespace tapelens::advise
