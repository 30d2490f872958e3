// The interface of a check: it reads one process of a recording and says at which places it holds memory that is
// avoidable. Tapelens' own checks and those of a third party's shared library use the same. docs/plugins.md tells how
// to write one.
//
// A check emits *occurrences* (this save, of this node, at this moment) with what would change without them. Tapelens
// groups them into findings (one for each place in the program, over all steps and repeated layers), replays the
// timeline without them, ranks them, and asks the check for words only about those that are shown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/check/patch.h"
#include "analyzer/check/sources.h"
#include "analyzer/model/attribution.h"
#include "analyzer/model/provenance.h"
#include "analyzer/model/steps.h"
#include "analyzer/model/words.h"
#include "analyzer/peak/groups.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/replay.h"
#include "analyzer/peak/timeline.h"
#include "rewrites/registration.h"

namespace tapelens::check {

using namespace model;

// info: an opportunity, or something of no consequence; warning: the program holds memory that is avoidable; error: it
// will run out of memory if it runs long enough. A finding that does not lower the peak is info, whatever its check
// says, unless it is an error.
enum class Severity : uint8_t { info, warning, error };
const char* severity_name(Severity severity);  // "info", "warning", "error"

struct Option {
  std::string_view name;           // "min-steps"
  std::string_view default_value;  // the default, as it would be typed
  std::string_view help;           // one line
};

struct CheckInfo {
  std::string_view id;     // "unneeded-save"
  uint32_t version = 1;    // of the check: raised when it finds other things than before
  std::string_view title;  // "saved tensors that no gradient needs", at most 60 characters
  std::string_view help;   // what it finds, why that costs memory, and what to do: one paragraph
  std::span<const Option> options{};
  // Alternatives to one another, a ranking of what could be done: not part of "the peak without all findings".
  bool is_alternative = false;
  // Of several findings that drop one save, that of the least counts among all: what costs nothing comes first.
  uint32_t precedence = 10;
  // Level of the rewrite of the same id that fixes what it finds (profiler/rewrite/rewrite.h); -1: there is none.
  int rewrite_level = -1;
  // Blocks, stacks and ImportedFacts are enough for it. Others do not look at what was imported from a snapshot: where
  // operators, saves and steps are missing, they would take what is not known for what did not happen.
  bool reads_imported = false;
};

// Which rewrites a run is to have, and where.
class AppliedRewrites {
 public:
  // Whether it is applied to a save: for a rewrite of a whole storage, that of any of the saves on it will do.
  virtual bool takes(std::string_view rewrite, SaveId save) const = 0;
  virtual Bytes min_bytes() const = 0;          // of a storage that is touched
  virtual double recompute_budget() const = 0;  // share of a step's time

 protected:
  ~AppliedRewrites() = default;
};

// What a check is given. References are valid while it runs and describes.
struct Context {
  const Process& process;
  const Text& text;
  const std::vector<Step>& steps;
  const Phases& phases;
  const Provenance& provenance;
  const peak::Lifetimes& lifetimes;
  // Of the device that is looked at, the one with the largest peak unless the user says another.
  DeviceId device;
  const peak::Timeline& timeline;
  const peak::PeakSet& peak;       // the peak set before any change
  std::string_view torch_version;  // "2.15.0+cpu"
  // The rewrites that are to be predicted, to the byte: what one needs for a moment (a mask decoded again) counts as
  // well. Null: the program is looked at as a person would fix it.
  const AppliedRewrites* applied = nullptr;
  // Where the program's files are, for patches; null: they are not looked at.
  const SourceTree* sources = nullptr;
  // What the device has in all; none: not known.
  std::optional<Bytes> memory;

  bool is_on_cuda() const { return text.string(text.device_name[device]).starts_with("cuda"); }
  // Whether an allocation is on the device that is looked at, and of so many bytes or more.
  bool is_looked_at(AllocationId allocation, Bytes least) const {
    return process.allocations.device[allocation] == device && process.allocations.bytes[allocation] >= least;
  }
  // Those, in the order of time.
  auto allocations(Bytes least) const {
    return process.allocations.bytes.ids() |
           std::views::filter([this, least](AllocationId allocation) { return is_looked_at(allocation, least); });
  }
};

// Where a thing happened in the program. What is none is not known, or does not apply.
struct Place {
  OperatorId op;  // the operator that the program called
  NodeId node;
  StringId field;
  ModuleId module;
  StackId stack;
};
Place place_of(const Context& context, SaveId save);
Place place_of(const Context& context, OperatorId op);
Place place_of(const Context& context, AllocationId allocation);
Place place_of(const Context& context, NodeId node);
// "train.py:42 main", the line to edit; empty if no frame is known.
std::string line_of(const Context& context, const Place& place);

struct Occurrence {
  Place place;
  AllocationId allocation;  // that the bytes are of; none: bytes of several, or of none
  Bytes bytes;              // avoidable, or at stake
  Interval when;            // for how long
  SaveId save{};            // if it is about one
  uint64_t number = 0;      // whatever the check wants to find again in describe()
};

// Occurrences of one place: same check, variant, operator, node.field, module (numbers in its path aside) and line.
struct Group {
  std::span<const Occurrence> occurrences;  // in the order in which they were emitted; never empty
  uint32_t variant = 0;
  Bytes bytes;                      // the most that they hold at one moment, each allocation counted once
  Bytes retained_at_peak;           // by how much the peak falls without this finding alone
  Bytes retained_at_peak_with_all;  // by how much more it falls with this finding, if all others are fixed too
  const Occurrence& biggest() const;
};

enum class FixKind : uint8_t { rewrite, patch, advice };
const char* fix_name(FixKind kind);  // "rewrite", "patch", "advice"
struct Fix {
  FixKind kind = FixKind::advice;
  std::string rewrite;    // id: "unneeded-save"
  FileEdits edits;        // of files of the user's repository, each file once
  std::string text;       // what to do, one or two sentences; always
  bool is_small = false;  // one line of the program, and no result changes: to be done first, whatever its severity

  // None, since the source is not of a form that is known, leave the sentence alone.
  void use_edits(FileEdits changes) {
    if (changes.empty()) return;
    kind = FixKind::patch;
    edits = std::move(changes);
  }
};

// A line of the program to edit.
struct EditLine {
  FrameId frame;      // of a recorded stack
  uint32_t line = 0;  // in the frame's file, if it is not the frame's own

  explicit operator bool() const { return bool{frame}; }
};

// The words for one group.
struct Description {
  Severity severity = Severity::warning;
  std::string title;               // "conv input kept for a weight gradient that nobody asked for"; no full stop
  std::string message;             // what happens here and why it costs memory: one to three sentences
  std::vector<std::string> notes;  // evidence beyond the list of allocations and their holders, which Tapelens adds
  Bytes growth;                    // by how much each step raises it, to no end; 0: it does not grow, or only in nodes
  bool is_proved = true;           // false: the recording cannot show it for certain; the message says what to look at
  Fix fix;
  EditLine edit;  // none: the line of own_frame() of the biggest occurrence
};

class Sink {
 public:
  // `change`: what the replay does without this occurrence. `variant` tells apart what one check finds at one place.
  virtual void add(const Occurrence& occurrence, const peak::WhatIf& change, uint32_t variant = 0) = 0;

 protected:
  ~Sink() = default;
};

// The values of the check's options, as typed by the user or the defaults.
class Options {
 public:
  explicit Options(std::vector<std::pair<std::string, std::string>> values) : values_(std::move(values)) {}
  std::string_view text(std::string_view name) const;
  // What cannot be read is a std::runtime_error with one sentence for the user. Sizes may have units: "64KiB".
  int64_t number(std::string_view name) const;
  Bytes bytes(std::string_view name) const;
  // Percent of a size, from 1 % to 100 %.
  Bytes share(std::string_view name, Bytes of) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// One object a run. It may throw: then it is left out, with a line to the user that has the exception's words.
class Check {
 public:
  virtual ~Check() = default;
  virtual CheckInfo info() const = 0;
  virtual void run(const Context& context, const Options& options, Sink& sink) = 0;
  virtual Description describe(const Context& context, const Group& group) const = 0;
};

// ---- how a check is registered ------------------------------------------------------------------------------------

// What a shared library and Tapelens must agree on besides: the layout of what they hand to each other.
constexpr uint64_t interface_layout() {
  uint64_t hash = 14695981039346656037ULL;
  for (const uint64_t size :
       {sizeof(Context), sizeof(Process), sizeof(Text), sizeof(Provenance), sizeof(peak::Lifetimes),
        sizeof(peak::Timeline), sizeof(peak::PeakSet), sizeof(peak::WhatIf), sizeof(Occurrence), sizeof(Group),
        sizeof(Description), sizeof(CheckInfo), sizeof(std::string), size_t{__GXX_ABI_VERSION}}) {
    hash = (hash ^ size) * 1099511628211ULL;
  }
  return hash;
}

struct CheckInterface {
  using Made = Check;  // owned by the caller
  // Raised with every change of this file or of what it includes that a compiled check would notice.
  static constexpr uint32_t kVersion = 7;
  using BuiltFor = uint64_t;
  static constexpr BuiltFor kBuiltFor = interface_layout();
};
using Plugin = rewrites::Registration<CheckInterface>;

}  // namespace tapelens::check

// The one line that registers the checks of a folder or of a shared library: TAPELENS_CHECKS(MyCheck)
#ifndef TAPELENS_PLUGIN_SYMBOL
#define TAPELENS_PLUGIN_SYMBOL tapelens_plugin
#endif
#define TAPELENS_CHECKS(...) TAPELENS_REGISTRATION(TAPELENS_PLUGIN_SYMBOL, tapelens::check::CheckInterface, __VA_ARGS__)
