// An open recording: its columns, and the data derived from them. Contains no widgets.
//
// load() computes the parts that the first picture needs. make() computes the others one by one, in the background. A
// part is written once and never changes afterwards; before that it is null.
#pragma once

#include <QString>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/model/model.h"
#include "analyzer/model/steps.h"
#include "analyzer/model/text.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/peak/grouping.h"
#include "analyzer/peak/groups.h"
#include "analyzer/plan/curve.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"
#include "gui/picture/blocks.h"
#include "gui/picture/curve.h"
#include "gui/picture/device_lines.h"
#include "gui/picture/tracks.h"
#include "trace/result.h"

namespace tapelens::gui {

using model::AllocationId;
using model::Bytes;
using model::DeviceId;
using model::Interval;
using model::Process;
using model::Text;
using model::Time;

// All groupings of peak::By but the stack, which has too many groups.
inline constexpr size_t kCurveBys = peak::kBys - 1;

// The data of a process that does not depend on the device.
struct ProcessView {
  explicit ProcessView(std::shared_ptr<const run::ProcessRun> shown);

  std::shared_ptr<const run::ProcessRun> of;
  const Process& process;
  // Provenance and lifetimes are computed by Part::relations. Only code that may wait requests them before that.
  const peak::Analysis& analysis;
  const std::vector<model::Step>& steps;
  const model::Phases& phases;
  model::Bands bands;  // steps and phases
  std::unique_ptr<const picture::Tracks> tracks;
};

// The findings of the checks, and the changes with which the replay removes each of them.
struct Advised {
  advise::Advice advice;
  std::vector<advise::TimelineChange> changes;  // at the same indices as advice.findings
};

// The memory that the user looks at: one device of one process.
struct Subject {
  Subject(ProcessView& view, const peak::DevicePeak& found, QString called);

  // The layout of times of a kind; null: every nanosecond is equally wide.
  const picture::TimeScale* scale(picture::AxisKind kind) const;
  bool has_pauses() const { return !without_pauses.pauses().all.empty(); }
  // From just before the first forward, or else the first allocation, to just after the last event. This excludes
  // imports, with which a run begins.
  Interval busy() const;
  // The first range to show: the training steps or, if there are many, the step of the peak and its neighbors. A run
  // whose last step failed for lack of memory: up to the failure. Without steps: busy().
  Interval first_shown() const;

  ProcessView& of;
  QString name;   // "cpu", with several processes "cpu, rank 1 (pid 4242)" or "cpu, 4242"
  QString label;  // a short form: "cpu", "cpu, rank 1"
  const peak::DeviceAnalysis& analysis;
  const peak::Timeline& timeline;
  const peak::PeakSet& peak;  // in `analysis`, like the timeline
  peak::DevicePeak device;    // at that peak
  picture::TimeScale without_pauses, by_events;
  std::array<std::unique_ptr<const picture::Curve>, kCurveBys>
      curves;                                         // by peak::By; that of By::category always exists
  std::unique_ptr<const picture::DeviceLines> lines;  // null: the device has no block events
  std::vector<model::OutOfMemoryId> out_of_memory;    // failed requests on this device, in the order of time
  std::unique_ptr<const picture::Blocks> blocks;
  std::unique_ptr<const std::vector<report::ModuleTable>> modules;  // at the peak of each phase
  std::unique_ptr<const Advised> advised;
  std::unique_ptr<const plan::Curve> fit;  // memory against added time

 private:
  Interval with_room(Interval interval, double share) const;
};

enum class Part : uint8_t { tracks, blocks, curves, relations, modules, advice, fit };
inline constexpr size_t kParts = static_cast<size_t>(Part::fit) + 1;

struct DocumentFacts {
  QString path, command, torch_version;
  QString simulated;  // limits of the shown values on simulated GPUs, in sentences; empty without them
  QString hidden;     // why the recording lacks CUDA memory, in sentences; empty if it has it
  Time duration;
  uint64_t events = 0, file_bytes = 0;
  std::vector<run::Lost> lost;
  bool complete = true;
};

// Reports the current work and its share from 0 to 1. Throws Cancelled if the result is no longer needed.
using Progress = std::function<void(const QString&, double)>;
struct Cancelled {};

class Document;
using Loaded = trace::Result<std::shared_ptr<Document>>;

class Document {
 public:
  // Throws the exceptions of `progress`.
  static Loaded load(const QString& path, const Progress& progress);

  const DocumentFacts& facts() const { return facts_; }
  const Text& text() const { return run_.text(); }
  // In the order of run::Precedence: that with the peak first. Never empty.
  const std::vector<std::unique_ptr<Subject>>& subjects() const { return subjects_; }
  const Subject& subject(size_t at) const { return *subjects_[at]; }

  // Computes one part of one subject, unless it exists. Call from one thread at a time.
  void make(size_t subject, Part part, const Progress& progress);

 private:
  explicit Document(run::Run run) : run_(std::move(run)) {}
  void make_advice(Subject& subject, const Progress& progress);
  static void make_fit(Subject& subject, const Progress& progress);

  run::Run run_;
  DocumentFacts facts_;
  std::vector<std::unique_ptr<ProcessView>> processes_;
  std::vector<std::unique_ptr<Subject>> subjects_;
};

}  // namespace tapelens::gui
