#include "gui/models/document.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "analyzer/model/load.h"
#include "analyzer/report/detail.h"
#include "analyzer/report/sentences.h"
#include "analyzer/run/peak_device.h"
#include "gui/models/visible_text.h"
#include "plugins/builtin.h"

namespace tapelens::gui {

namespace {

QString text_of(std::string_view utf8) { return visible(utf8); }

QString subject_name(const Process& process, const Text& text, DeviceId device, bool is_alone) {
  QString name = text_of(text.string(text.device_name[device]));
  if (is_alone) return name;
  if (process.summary.rank < 0) return name + QString(", %1").arg(process.summary.pid);
  return name + QString(", rank %1 (pid %2)").arg(process.summary.rank).arg(process.summary.pid);
}

// Uses the peak within the analyzed steps: in a recording of some steps, the peak must not precede them.
peak::DevicePeak at_peak(peak::DevicePeak device, const peak::DeviceAnalysis& analysis) {
  device.peak = analysis.largest().bytes;
  device.when = analysis.largest().when;
  return device;
}

}  // namespace

ProcessView::ProcessView(std::shared_ptr<const run::ProcessRun> shown)
    : of(std::move(shown)),
      process(of->process()),
      analysis(of->analysis()),
      steps(analysis.steps()),
      phases(analysis.phases()),
      bands(model::bands(process, steps, phases)) {}

Subject::Subject(ProcessView& view, const peak::DevicePeak& found, QString called)
    : of(view),
      name(std::move(called)),
      label(name.section(" (", 0, 0)),
      analysis(view.of->device(found.device).analysis()),
      timeline(analysis.timeline()),
      peak(analysis.peak()),
      device(at_peak(found, analysis)),
      without_pauses(view.process.duration, peak::find_pauses(view.process, found.device)),
      by_events(view.process.duration, timeline) {
  const auto category = static_cast<size_t>(peak::By::category);
  curves[category] = std::make_unique<const picture::Curve>(
      timeline, peak::group(view.process, view.analysis.text(), view.steps, peak, peak::By::category));
  if (view.analysis.traits(found.device).has_blocks) {
    lines = std::make_unique<const picture::DeviceLines>(view.analysis.memory(found.device));
  }
  for (const model::OutOfMemoryId row : view.process.out_of_memory.ids()) {
    if (view.process.out_of_memory.device[row] == found.device) out_of_memory.push_back(row);
  }
}

const picture::TimeScale* Subject::scale(picture::AxisKind kind) const {
  switch (kind) {
    case picture::AxisKind::time:
      return nullptr;
    case picture::AxisKind::without_pauses:
      return has_pauses() ? &without_pauses : nullptr;
    case picture::AxisKind::events:
      return &by_events;
  }
  return nullptr;
}

Interval Subject::busy() const {
  if (timeline.events() == 0) return {Time{0}, Time{std::max(of.process.duration.ns, picture::kLeastShown)}};
  const auto& phases = of.bands.phases;
  const bool is_training = !phases.empty() && phases.front().when.begin <= device.when.time;
  const Time first = is_training ? phases.front().when.begin : timeline.time_of(0);
  const Time last = timeline.time_of(timeline.events() - 1);
  return with_room({first, last}, 0.01);
}

Interval Subject::with_room(Interval interval, double share) const {
  return picture::with_room(scale(picture::AxisKind::without_pauses), interval, share,
                            Time{std::max(of.process.duration.ns, picture::kLeastShown)});
}

Interval Subject::first_shown() const {
  constexpr size_t kFew = 12;  // the largest number of steps that fit a readable view
  const Interval all = busy();
  const std::vector<Interval>& steps = of.bands.steps;
  // The last interval is the time after the last step, or the whole run if it has no optimizer.
  const size_t whole = !of.steps.empty() && of.steps.back().when.end == model::kNever ? steps.size() - 1 : steps.size();
  const auto found = std::ranges::find_if(steps, [&](const Interval& step) { return step.contains(device.when.time); });
  const auto at = static_cast<size_t>(found - steps.begin());
  if (whole == 0 || at >= whole) {
    // A run that failed for lack of memory: up to the failure, without the time in which the program ends.
    if (out_of_memory.empty()) return all;
    const Time failed = of.process.out_of_memory.time[out_of_memory.back()];
    const Time begin = whole == 0 ? all.begin : std::max(steps[whole <= kFew ? 0 : whole - 1].begin, all.begin);
    if (failed <= begin || (whole > 0 && steps[whole - 1].end > failed)) return all;
    const Interval shown = with_room({begin, failed}, 0.02);
    return device.when.time >= shown.end ? all : shown;
  }
  const size_t first = whole <= kFew ? 0 : at - std::min<size_t>(at, 1);
  const size_t last = whole <= kFew ? whole - 1 : std::min(at + 1, whole - 1);
  const Interval shown{std::max(steps[first].begin, all.begin), std::min(steps[last].end, all.end)};
  return with_room(shown, 0.02);
}

Loaded Document::load(const QString& path, const Progress& progress) try {
  const auto tell = [&](const char* what, double share) {
    if (progress) progress(QString::fromUtf8(what), share);
  };
  tell("Opening", 0);
  auto opened = run::Run::open(path.toStdString());
  if (!opened) return failure(text_of(opened.error().message));
  const auto fail = [&](const std::string& message) { return Loaded(failure(path + ": " + text_of(message))); };
  std::shared_ptr<Document> document(new Document(std::move(*opened)));
  const run::Run& run = document->run_;
  const trace::Recording& r = run.recording();
  DocumentFacts& facts = document->facts_;
  facts.path = path;
  facts.command = text_of(r.command());
  facts.duration = r.duration();
  facts.events = r.events();
  facts.file_bytes = r.file_bytes();

  const Text& words = run.text();
  facts.lost = run::losses_of(words);
  struct Found {
    ProcessView* process;
    peak::DevicePeak device;
    run::Precedence precedence;
  };
  std::vector<Found> found;
  report::Report said;  // the report, for its first lines
  for (uint32_t i = 0; i < r.processes().size(); ++i) {
    tell("Reading", 0.1 + 0.5 * i / static_cast<double>(r.processes().size()));
    ProcessView& view = *document->processes_.emplace_back(std::make_unique<ProcessView>(run.process(i)));
    std::ranges::move(run::losses_of(view.process), std::back_inserter(facts.lost));
    const peak::Analysis& analysis = view.analysis;
    if (facts.torch_version.isEmpty()) facts.torch_version = text_of(analysis.information("torch_version"));
    if (said.recording.simulated_gpu.empty()) said.recording.simulated_gpu = analysis.information("simulated_gpu");
    report::ProcessFacts& of_process = said.processes.emplace_back();
    of_process.cuda_allocator = analysis.information("cuda_allocator");
    of_process.value_reads = peak::value_reads(analysis);
    of_process.external_estimate = report::estimate_external(analysis);
    for (const peak::DevicePeak& device : analysis.devices()) {
      found.push_back({&view, device, run::precedence(view.of->device(device.device))});
    }
  }
  facts.complete = run::is_complete(facts.lost);
  facts.simulated = text_of(report::simulated_text(said.recording));
  for (const std::string& more : {report::estimates_text(said), report::value_reads_text(said)}) {
    if (!more.empty()) facts.simulated += " " + text_of(more);
  }
  facts.hidden = text_of(report::hidden_text(said.processes));
  if (found.empty()) {
    return fail(run::no_memory(run, {}).message);
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &Found::precedence);
  for (size_t i = 0; i < found.size(); ++i) {
    tell("Drawing the curve", 0.6 + 0.4 * static_cast<double>(i) / static_cast<double>(found.size()));
    ProcessView& view = *found[i].process;
    document->subjects_.push_back(std::make_unique<Subject>(
        view, found[i].device,
        subject_name(view.process, words, found[i].device.device, document->processes_.size() == 1)));
  }
  return document;
} catch (const std::bad_alloc&) {
  return failure(path + QStringLiteral(": there is not enough memory to open it."));
}

void Document::make(size_t at, Part part, const Progress& progress) {
  Subject& subject = *subjects_[at];
  ProcessView& view = subject.of;
  const auto tell = [&](const QString& what, double share) {
    if (progress) progress(what, share);
  };
  switch (part) {
    case Part::tracks:
      if (view.tracks) return;
      tell("Laying out modules and operators", 0.1);
      view.tracks = std::make_unique<const picture::Tracks>(
          view.process, load_threads(run_.recording(), view.process, view.of->index()));
      return;
    case Part::blocks:
      if (subject.blocks) return;
      tell("Laying out allocations", 0.25);
      subject.blocks = std::make_unique<const picture::Blocks>(view.process, subject.timeline, subject.device.peak);
      return;
    case Part::curves:
      for (size_t by = 0; by < kCurveBys; ++by) {
        if (subject.curves[by]) continue;
        tell("Grouping", 0.35 + 0.25 * static_cast<double>(by) / kCurveBys);
        subject.curves[by] = std::make_unique<const picture::Curve>(
            subject.timeline, peak::group(view.process, text(), view.steps, subject.peak, static_cast<peak::By>(by)));
      }
      return;
    case Part::relations:
      tell("Finding who used what", 0.6);
      view.analysis.lifetimes();  // computes them from the provenance
      return;
    case Part::modules: {
      if (subject.modules) return;
      tell("Summing by module", 0.63);
      subject.modules = std::make_unique<const std::vector<report::ModuleTable>>(
          report::describe_modules(subject.analysis, subject.peak, {}));
      return;
    }
    case Part::advice:
      if (subject.advised) return;
      make(at, Part::relations, progress);
      make_advice(subject, progress);
      return;
    case Part::fit:
      if (subject.fit) return;
      make(at, Part::relations, progress);
      make_fit(subject, progress);
      return;
  }
}

void Document::make_advice(Subject& subject, const Progress& progress) {
  advise::Checks checks = plugins::builtin_checks();
  const std::vector<std::string> refused = checks.load_folders();
  advise::AdviceOptions wanted;
  wanted.sources = check::source_trees(facts_.path.toStdString());
  const advise::Progress told = [&](std::string_view what, double share) {
    if (progress) progress("Looking for avoidable memory: " + text_of(what), 0.65 + 0.35 * share);
  };
  auto advised = std::make_unique<Advised>();
  advised->advice = advise::advise(subject.analysis, checks, wanted, told, &advised->changes);
  std::ranges::copy(refused, std::back_inserter(advised->advice.refused));
  subject.advised = std::move(advised);
}

void Document::make_fit(Subject& subject, const Progress& progress) {
  advise::Checks checks = plugins::builtin_checks();
  const auto tell = [&](double share) {
    if (progress) progress("Predicting less memory for more time", share);
  };
  subject.fit = std::make_unique<const plan::Curve>(plan::curve_of(subject.analysis, checks, tell));
}

}  // namespace tapelens::gui
