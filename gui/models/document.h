// A recording that is open: its columns, and what is worked out of them once. Nothing here is a widget.
//
// load() gives the first parts, those that the first picture needs; the rest is made by make(), in the background, part
// by part. A part is written once and never changed after; whoever asks before it is there gets null.
#pragma once

#include <QString>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/model/bands.h"
#include "analyzer/model/model.h"
#include "analyzer/model/text.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/peak/grouping.h"
#include "analyzer/peak/groups.h"
#include "analyzer/report/report.h"
#include "gui/picture/blocks.h"
#include "gui/picture/curve.h"
#include "gui/picture/device_lines.h"
#include "gui/picture/tracks.h"
#include "trace/recording.h"
#include "trace/result.h"

namespace tapelens::gui {

using model::AllocationId;
using model::Bytes;
using model::DeviceId;
using model::Interval;
using model::Process;
using model::Text;
using model::Time;

inline constexpr size_t kCurveBys = peak::kBys - 1;  // of peak::By: all but the stack, of which there are too many

// What there is of a process whichever device is looked at.
struct ProcessView {
  ProcessView(Process loaded, trace::ProcessIndex at, const Text& text);

  trace::ProcessIndex index;
  Process process;
  // Its provenance and lifetimes are made with Part::relations: before that nobody who must not wait asks for them.
  peak::Analysis analysis;
  const std::vector<model::Step>& steps;
  const model::Phases& phases;
  model::Bands bands;  // steps and phases
  std::unique_ptr<const picture::Tracks> tracks;
};

// What the checks found, and what the replay needs to take any of it away.
struct Advised {
  advise::Advice advice;
  std::vector<advise::Change> changes;  // at the same places as advice.findings
};

// The memory that is looked at: one device of one process.
struct Subject {
  Subject(ProcessView& view, const peak::DevicePeak& found, QString called);

  // From just before the first forward, or else the first allocation, to just behind the last event: a run begins with
  // imports.
  Interval busy() const;
  // What is shown first: the training steps; of many that of the peak with its neighbours. Without steps, busy().
  Interval first_shown() const;

  ProcessView& of;
  QString name;   // "cpu", with several processes "cpu, rank 1 (pid 4242)" or "cpu, 4242"
  QString label;  // the same for where there is no room: "cpu", "cpu, rank 1"
  peak::DeviceAnalysis analysis;
  const peak::Timeline& timeline;
  const peak::PeakSet& peak;  // of analysis, as the timeline
  peak::DevicePeak device;    // at that peak
  std::array<std::unique_ptr<const picture::Curve>, kCurveBys>
      curves;                                         // by peak::By; that of By::category is always there
  std::unique_ptr<const picture::DeviceLines> lines;  // null: the device tells of no blocks
  std::vector<model::OutOfMemoryId> out_of_memory;    // requests that it had no memory for, in the order of time
  std::unique_ptr<const picture::Blocks> blocks;
  std::unique_ptr<const std::vector<report::ModuleTable>> modules;  // at the peak of each phase
  std::unique_ptr<const Advised> advised;
};

enum class Part : uint8_t { tracks, blocks, curves, relations, modules, advice };
inline constexpr size_t kParts = static_cast<size_t>(Part::advice) + 1;

struct DocumentFacts {
  QString path, command, torch_version;
  QString simulated;  // of a run on simulated GPUs, in a sentence or more: what that means for what is shown
  QString hidden;     // CUDA's memory is not in the recording, and why, in a sentence or more
  Time duration;
  uint64_t events = 0, file_bytes = 0;
  std::vector<report::Lost> lost;
  bool complete = true;
};

// What is being done and how much of it is done, of 1. Throws Cancelled if nobody wants the result any more.
using Progress = std::function<void(const QString&, double)>;
struct Cancelled {};

class Document;
using Loaded = trace::Result<std::shared_ptr<Document>>;

class Document {
 public:
  // Throws what `progress` throws.
  static Loaded load(const QString& path, const Progress& progress);

  const DocumentFacts& facts() const { return facts_; }
  const Text& text() const { return text_; }
  // The largest peak first. Never empty.
  const std::vector<std::unique_ptr<Subject>>& subjects() const { return subjects_; }
  const Subject& subject(size_t at) const { return *subjects_[at]; }

  // One part of one subject, if it is not there yet. One thread at a time.
  void make(size_t subject, Part part, const Progress& progress);

 private:
  explicit Document(trace::Recording recording) : recording_(std::move(recording)) {}
  void make_advice(Subject& subject, const Progress& progress);

  trace::Recording recording_;
  DocumentFacts facts_;
  Text text_;
  std::vector<std::unique_ptr<ProcessView>> processes_;
  std::vector<std::unique_ptr<Subject>> subjects_;
};

}  // namespace tapelens::gui
