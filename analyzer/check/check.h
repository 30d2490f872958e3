// The interface of a check. A check reads one process of a recording and reports the places at which the process holds
// avoidable memory. Tapelens' own checks and third-party shared libraries use the same interface. docs/plugins.md
// explains how to write a check.
//
// A check emits *occurrences*: one save of one node at one moment, with the change of the timeline without it. Tapelens
// groups the occurrences into findings, one for each place in the program, over all steps and repeated layers. It
// replays the timeline without each finding, ranks the findings, and calls describe() for the groups that it reports.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/check/interface_hash.h"
#include "analyzer/check/patch.h"
#include "analyzer/check/sources.h"
#include "analyzer/model/attribution.h"
#include "analyzer/model/device_traits.h"
#include "analyzer/model/provenance.h"
#include "analyzer/model/steps.h"
#include "analyzer/model/words.h"
#include "analyzer/peak/groups.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/in_use.h"
#include "analyzer/peak/replay.h"
#include "analyzer/peak/timeline.h"
#include "policy/registration.h"

namespace tapelens::check {

using namespace model;

// info: an opportunity, or a harmless inefficiency. warning: the program holds avoidable memory. error: the program
// runs out of memory if it runs long enough. Tapelens lowers a warning to info if its fix lowers the peak by less than
// 1 %.
enum class Severity : uint8_t { info, warning, error };
const char* severity_name(Severity severity);  // "info", "warning", "error"

struct Option {
  std::string_view name;           // "min-steps"
  std::string_view default_value;  // in the syntax of the command line
  std::string_view help;           // one line
};

struct CheckInfo {
  std::string_view id;     // "unneeded-save"
  uint32_t version = 1;    // a new number for each change of the results
  std::string_view title;  // "saved tensors that no gradient needs", at most 60 characters
  std::string_view help;   // one paragraph: the inefficiency, why it costs memory, how to fix it
  std::span<const Option> options{};
  // The findings are alternatives to one another, a ranking of options. "The peak without all findings" excludes them.
  bool is_alternative = false;
  // If several findings drop the same save, the finding with the lowest precedence counts. Free fixes come first.
  uint32_t precedence = 10;
  // The level of the rewrite with the same id, which fixes the findings (profiler/rewrite/rewrite.h); -1: no rewrite.
  int rewrite_level = -1;
  // The check needs only blocks, stacks and ImportedFacts. Other checks skip recordings imported from a snapshot. These
  // lack operators, saves and steps, so such a check would mistake an unknown event for an absent one.
  bool reads_imported = false;
};

// The rewrites of a run, and the saves to which they apply.
class AppliedRewrites {
 public:
  // Whether the rewrite applies to a save. A rewrite of a whole storage accepts any save of the storage.
  virtual bool takes(std::string_view rewrite, SaveId save) const = 0;
  virtual Bytes min_bytes() const = 0;          // smallest storage that a rewrite changes
  virtual double recompute_budget() const = 0;  // share of a step's estimated cost
  virtual bool repeats_costly() const = 0;      // recomputation may run costly operators

 protected:
  ~AppliedRewrites() = default;
};

// The input of a check. References are valid during run() and describe().
struct Context {
  const Process& process;
  const Text& text;
  const std::vector<Step>& steps;
  const Phases& phases;
  const Provenance& provenance;
  const peak::Lifetimes& lifetimes;
  // The analyzed device: the user's choice, or else that of run::PeakDevice. `timeline` and `peak` belong to
  // it.
  DeviceId device;
  const peak::Timeline& timeline;
  const peak::PeakSet& peak;       // the peak set before any change
  std::string_view torch_version;  // "2.15.0+cpu"
  // The rewrites to predict, exact to the byte: their temporary memory (a decoded mask) counts as well. Null: the
  // checks assume fixes by hand.
  const AppliedRewrites* applied = nullptr;
  // The program's files, for patches; null: the checks read no files.
  const SourceTree* sources = nullptr;
  // The memory of the device; none: unknown.
  std::optional<Bytes> memory;
  // The techniques and frameworks that the program uses already. Advice must not offer them.
  peak::InUse in_use{};

  bool is_on_cuda() const { return device_type(text.string(text.device_name[device])).is_cuda; }
  // Whether an allocation is on the analyzed device and has at least `least` bytes.
  bool is_looked_at(AllocationId allocation, Bytes least) const {
    return process.allocations.device[allocation] == device && process.allocations.bytes[allocation] >= least;
  }
  // All such allocations, in the order of time.
  auto allocations(Bytes least) const {
    return process.allocations.bytes.ids() |
           std::views::filter([this, least](AllocationId allocation) { return is_looked_at(allocation, least); });
  }
};

// The location of an event in the program. An unset member is unknown or does not apply.
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
  AllocationId allocation;  // that has the bytes; none: several allocations, or no allocation
  Bytes bytes;              // avoidable, or possibly avoidable
  Interval when;            // lifetime of the avoidable bytes
  SaveId save{};            // none: not about a save
  uint64_t number = 0;      // any value of the check, for describe()
  // The operators that a rewrite runs again: their recorded duration, and their share of all steps' estimated cost.
  Time repeated{};
  double repeated_share = 0;
};

// Occurrences of one place: same check, variant, operator, node.field, line, and module (except numbers in its path).
struct Group {
  std::span<const Occurrence> occurrences;  // in the order in which they were emitted; never empty
  uint32_t variant = 0;
  Bytes bytes;                      // maximum at one moment, each allocation counted once
  Bytes retained_at_peak;           // reduction of the peak by this fix alone
  Bytes retained_at_peak_with_all;  // further reduction if all other findings are fixed
  const Occurrence& biggest() const;
  uint64_t alive_at(Time time) const;  // number of occurrences
};

enum class FixKind : uint8_t { rewrite, patch, advice };
const char* fix_name(FixKind kind);  // "rewrite", "patch", "advice"
struct Fix {
  FixKind kind = FixKind::advice;
  std::string rewrite;    // id: "unneeded-save"
  FileEdits edits;        // files of the user's repository, each file once
  std::string text;       // instruction, one or two sentences; required
  bool is_small = false;  // changes one line and no result; comes first at any severity

  // Without edits (the source has no known form) the fix remains advice.
  void use_edits(FileEdits changes) {
    if (changes.empty()) return;
    kind = FixKind::patch;
    edits = std::move(changes);
  }
};

// A line of the program to edit.
struct EditLine {
  FrameId frame;      // a frame of a recorded stack
  uint32_t line = 0;  // another line of the frame's file; 0: the frame's own line

  explicit operator bool() const { return bool{frame}; }
};

// The text of the report about one group.
struct Description {
  Severity severity = Severity::warning;
  std::string title;               // "conv input kept for an unused weight gradient"; no full stop
  std::string message;             // the cause, and why it costs memory: one to three sentences
  std::vector<std::string> notes;  // further evidence; Tapelens adds the allocations and their holders
  Bytes growth;                    // unbounded growth in each step; 0: no growth, or only of nodes
  bool is_proved = true;           // false: the recording cannot prove the finding; the message says what to check
  Fix fix;
  EditLine edit;  // none: the line of own_frame() of the biggest occurrence
};

class Sink {
 public:
  // `change`: the input of the replay without this occurrence. `variant` separates findings of one check at one place.
  virtual void add(const Occurrence& occurrence, const peak::WhatIf& change, uint32_t variant = 0) = 0;

 protected:
  ~Sink() = default;
};

// The values of the check's options, as typed by the user or the defaults.
class Options {
 public:
  explicit Options(std::vector<std::pair<std::string, std::string>> values) : values_(std::move(values)) {}
  std::string_view text(std::string_view name) const;
  // Throws std::runtime_error with one sentence for the user if the value is invalid. Sizes may have units: "64KiB".
  int64_t number(std::string_view name) const;
  Bytes bytes(std::string_view name) const;
  // The option's percentage of a size, from 1 % to 100 %.
  Bytes share(std::string_view name, Bytes of) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// One object for each run. If a check throws, Tapelens omits it and shows the exception's text to the user.
class Check {
 public:
  virtual ~Check() = default;
  virtual CheckInfo info() const = 0;
  virtual void run(const Context& context, const Options& options, Sink& sink) = 0;
  virtual Description describe(const Context& context, const Group& group) const = 0;
};

// ---- registration ------------------------------------------------------------------------------------------------

// A hash of the text of this header and of all that it includes, of the compiler's ABI and of the sizes of the
// exchanged types, which options of the compiler may change. A shared library must have the same hash and the same
// kVersion.
constexpr uint64_t interface_layout() {
  uint64_t hash = kInterfaceHash;
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
  // Increment for each change of this file, or of the files that it includes, that breaks a compiled check.
  static constexpr uint32_t kVersion = 9;
  using BuiltFor = uint64_t;
  static constexpr BuiltFor kBuiltFor = interface_layout();
};
using Plugin = policy::Registration<CheckInterface>;

}  // namespace tapelens::check

// Registers the checks of a folder or of a shared library in one line: TAPELENS_CHECKS(MyCheck)
#ifndef TAPELENS_PLUGIN_SYMBOL
#define TAPELENS_PLUGIN_SYMBOL tapelens_plugin
#endif
#define TAPELENS_CHECKS(...) TAPELENS_REGISTRATION(TAPELENS_PLUGIN_SYMBOL, tapelens::check::CheckInterface, __VA_ARGS__)
