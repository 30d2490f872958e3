// What the checks found in one process of a recording, scored by the replay: plain text and numbers, no ids of the
// model.
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
#include "analyzer/peak/groups.h"

namespace tapelens::advise {

using namespace model;

struct Frame {
  std::string file, function;
  uint32_t line = 0;
};

// One allocation of a finding, the biggest of those that look the same.
struct Evidence {
  Bytes bytes;
  uint64_t count = 1;                // of this field, layout and holders among the occurrences
  std::string node, field;           // the save, if it is about one
  std::string op;                    // that made the allocation: "aten::relu"
  std::string layout;                // "float32 [8, 64, 56, 56]", if known
  std::vector<std::string> kept_by;  // by whom else: "ReluBackward0.result", "parameter layer1.0.weight", "program"
  Time begin, end;                   // kNever: to the end of the recording
};

struct Finding {
  std::string id;  // the fingerprint, 16 hexadecimal digits: the same in every run of the same program
  std::string check;
  uint32_t check_version = 1;
  check::Severity severity{};
  bool is_proved = true;
  bool is_alternative = false;
  std::string title, message;
  Bytes bytes;  // the most that its occurrences hold at one moment, each allocation once
  uint64_t occurrences = 0;
  uint64_t sites = 0;           // different places in the module tree: "12 sites like this"
  std::vector<uint32_t> steps;  // in which steps, at most the first and the last few; see step_count
  uint32_t step_count = 0;
  Bytes peak_before, peak_after;        // alone
  Bytes retained_at_peak_with_all;      // by how much more the peak falls with it, if all others are fixed too
  bool is_in_all = false;               // it counts in Advice::peak_after_all: it makes that no higher
  std::string node, field, op, module;  // module: numbers that differ between the sites are '*'
  std::vector<Frame> stack;             // innermost first; library frames too
  Frame source;                         // the line to edit: the innermost one of the user's own files
  Frame library;                        // innermost of an installed package, where that is further in; else empty
  Frame innermost;                      // that is not PyTorch's: what the fingerprint and a plan's site go by
  std::string statement;                // what stands at `source`; empty: not known, or changed since
  std::vector<Evidence> evidence;       // at most 8, the biggest first
  uint64_t evidence_left_out = 0;
  Bytes growth;  // by how much each step raises it, to no end; 0: it does not grow, or only in nodes
  std::vector<std::string> notes;
  check::Fix fix;

  // What a person reads first: those that lower the peak, by how much; then errors; then by bytes.
  Bytes retained_at_peak() const { return std::max(peak_before - peak_after, retained_at_peak_with_all); }
};

// Findings that one change of the program, or one command, fixes.
struct Entry {
  // In the order in which they are said. error: it grows without bound; code: the user's own line fixes it, and no
  // result changes; consider: code that trades numerics, or more than a line; automatic: rewrites do it, in a run of
  // the program as it is; trade: memory for time, alternatives to one another.
  enum class Kind : uint8_t { error, code, consider, automatic, trade };
  Kind kind{};
  std::vector<uint32_t> findings;  // places in Advice::findings; the first gives the entry its words
  Bytes peak_before, peak_after;   // with all entries before it fixed, and this one as well; a trade: alone
  // No error, and lowers the peak by less than 1 %, or not at all: behind all others, unless one of those needs it.
  bool is_small = false;

  Bytes change() const { return peak_before - peak_after; }
};

// Who holds memory at the peak with all findings fixed.
struct Remaining {
  peak::HolderKind kind{};
  Bytes bytes;
  uint64_t allocations = 0;
  std::string largest;  // of its groups: "aten::convolution_backward", "ReluBackward0.result"; empty: they are roles
  Bytes largest_bytes;
  std::string module;  // where the biggest allocation of that group was made
  Frame source;
};

// What the rewrites that are applied do, all of them together. A recording does not have when variables released what
// is saved as well: where that makes a difference, `at_most` is more than `after`.
struct Prediction {
  std::string name;  // of what is applied: "lossless"
  Bytes peak_before, peak_after, peak_at_most;
  Bytes saved_before, saved_after, saved_at_most;  // the most that is kept for the backward alone when one begins
};

struct Advice {
  // After: without all findings but alternatives, and those without which the peak is lower than with them. No other
  // set of findings that are no alternatives has a lower one (see together.h).
  Bytes peak_before, peak_after_all;
  Time peak_after_all_time;
  // Who holds that peak, the most bytes first; what is there instead of a finding's bytes is in none.
  std::vector<Remaining> left;
  std::vector<Finding> findings;        // in the order of the entries
  std::vector<Entry> entries;           // in the order in which to do them
  std::vector<std::string> refused;     // one line for each check that failed, and why
  std::vector<std::string> checks;      // ids of those that ran
  std::vector<std::string> not_looked;  // and of those that need what an imported recording does not have
  check::SourceTree sources;            // that of Wanted::sources that the patches are of
  std::vector<std::string> changed;     // the user's files that findings name, changed since: their lines may be off
  // If rewrites were applied: then findings are theirs, and peak_after_all is with them.
  std::optional<Prediction> predicted;
  // Of a device whose allocator tells of segments; whoever wants it asks allocator_advice() for it.
  std::optional<AllocatorAdvice> allocator;
};

struct Wanted {
  std::vector<std::string> checks;  // ids; empty: all
  Bytes min_bytes{};                // findings of less are left out (and not fixed in peak_after_all)
  // "recomputable-save.min-ratio" -> "4"
  std::vector<std::pair<std::string, std::string>> options;
  // Only what these rewrites do, and exactly that.
  std::optional<Applying> applying{};
  // Where the program's files may be, the best first; without any there are no patches.
  std::vector<check::SourceTree> sources{};
};

// Called now and then with what is being done and how much of it, of 1. May be empty.
using Progress = std::function<void(std::string_view, double)>;

// What the replay takes away for a finding: all of it, whoever else finds the same.
struct Change {
  peak::WhatIf what;
  uint32_t place = 0;  // changes that drop the same saves share them in the order of their places; no two are equal
};

// The recording without some of its findings; `ticked` in any order. Without those that are in all it is
// Advice::peak_after_all.
peak::Replay::Outcome without(const Process& process, const peak::Replay& replay,
                              std::span<const Change* const> ticked);

// Of the memory of one device. `changes`, if asked for, are at the same places as Advice::findings. `longest`: what the
// rewrites that are applied change if variables release what is saved as late as they may.
Advice advise(const peak::DeviceAnalysis& device, Checks& checks, const Wanted& wanted, const Progress& progress = {},
              std::vector<Change>* changes = nullptr, std::vector<Change>* longest = nullptr);

// An error of kind usage if it asks for a check or an option that there is not.
trace::Status valid(const Wanted& wanted, const Checks& checks);

}  // namespace tapelens::advise
