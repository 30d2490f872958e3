#include "gui/models/session.h"

#include <sys/resource.h>

#include <QDateTime>
#include <QMetaObject>
#include <QStringList>
#include <QThreadPool>
#include <algorithm>

#include "analyzer/report/detail.h"
#include "gui/models/filter_words.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

constexpr qint64 kOneStepMs = 500;
constexpr size_t kMostSteps = 200;  // limit of the history
// In the order of computation.
constexpr std::array<Part, kParts> kOrder = {Part::tracks,  Part::blocks, Part::curves, Part::relations,
                                             Part::modules, Part::advice, Part::fit};

bool same_moment(const peak::Moment& a, const peak::Moment& b) {
  return a.time == b.time && a.last_allocation == b.last_allocation && a.last_free == b.last_free;
}

}  // namespace

bool operator==(const ViewState& a, const ViewState& b) {
  const bool same_at = a.at.has_value() == b.at.has_value() && (!a.at || same_moment(*a.at, *b.at));
  return same_at && a.page == b.page && a.subject == b.subject && a.range == b.range && a.allocation == b.allocation &&
         a.step == b.step && a.by == b.by && a.axis == b.axis && a.filter == b.filter && a.finding == b.finding;
}

// Cancelled work stops at its next progress report.
struct Session::Job {
  std::atomic<bool> cancelled = false;
};

Session::Session(QObject* parent) : QObject(parent), parts_pool_(new QThreadPool(this)), pool_(new QThreadPool(this)) {
  for (QThreadPool* pool : {parts_pool_, pool_}) pool->setMaxThreadCount(1);
}

Session::~Session() {
  for (const auto& job : {opening_job_, parts_job_}) {
    if (job) job->cancelled = true;
  }
  for (QThreadPool* pool : {parts_pool_, pool_}) {
    pool->clear();
    pool->waitForDone();
  }
}

// `work` runs in the background and returns a function, which then runs in this thread with the result.
void Session::run(QThreadPool& pool, std::shared_ptr<Job> job,
                  std::function<std::function<void()>(const Progress&)> work) {
  pool.start([this, job = std::move(job), work = std::move(work)] {
    if (job->cancelled) return;
    setpriority(PRIO_PROCESS, 0, 10);  // 0: this thread. The window has priority
    const Progress progress = [&](const QString& what, double share) {
      if (job->cancelled) throw Cancelled{};
      QMetaObject::invokeMethod(this, [this, job, what, share] {
        if (!job->cancelled) Q_EMIT progressed(what, share);
      });
    };
    try {
      std::function<void()> then = work(progress);
      QMetaObject::invokeMethod(this, [job, then = std::move(then)] {
        if (!job->cancelled) then();
      });
    } catch (const Cancelled&) {
    }
  });
}

void Session::open(const QString& path) {
  cancel();
  opening_job_ = std::make_shared<Job>();
  Q_EMIT progressed(tr("Opening"), 0);
  run(*pool_, opening_job_, [this, path](const Progress& progress) -> std::function<void()> {
    return [this, loaded = Document::load(path, progress)] {
      opening_job_.reset();
      Q_EMIT progressed({}, 1);
      if (!loaded) {
        Q_EMIT failed(sentence(loaded.error()));
        return;
      }
      show_document(*loaded);
    };
  });
}

void Session::show_document(std::shared_ptr<Document> document) {
  close();
  document_ = std::move(document);
  made_.assign(document_->subjects().size(), {});
  view_ = {};
  view_.range = document_->subject(0).first_shown();
  Q_EMIT opened();
  make_parts();
  find_moment();
}

void Session::cancel() {
  if (!opening_job_) return;
  opening_job_->cancelled = true;
  opening_job_.reset();
  Q_EMIT progressed({}, 1);
}

// Stops the computation of the remaining parts, and resets the progress.
void Session::stop_parts() {
  if (!parts_job_) return;
  parts_job_->cancelled = true;
  parts_job_.reset();
  Q_EMIT progressed({}, 1);
}

void Session::close() {
  stop_parts();
  if (!document_) return;
  ++moment_number_;
  ++what_if_number_;
  ++filter_number_;
  ++range_number_;
  found_.reset();
  selected_range_.reset();
  range_facts_.reset();
  past_.clear();
  future_.clear();
  ticked_.clear();
  moment_.reset();
  what_if_.reset();
  // Background work keeps the document alive until it notices the cancellation.
  document_.reset();
  Q_EMIT closed();
}

bool Session::has(Part part) const { return document_ && made_[view_.subject][static_cast<size_t>(part)]; }

void Session::make_parts() {
  stop_parts();
  parts_job_ = std::make_shared<Job>();
  const size_t subject = view_.subject;
  for (const Part part : kOrder) {
    if (made_[subject][static_cast<size_t>(part)]) continue;
    run(*parts_pool_, parts_job_,
        [this, document = document_, subject, part](const Progress& progress) -> std::function<void()> {
          document->make(subject, part, progress);
          return [this, document, subject, part] {
            if (document != document_) return;
            made_[subject][static_cast<size_t>(part)] = true;
            if (part == Part::advice || part == Part::fit) Q_EMIT progressed({}, 1);
            if (subject == view_.subject) Q_EMIT made(part);
            if (part == Part::advice) find_what_if();
          };
        });
  }
}

void Session::look(const ViewState& next, bool is_step) {
  if (!document_ || next == view_) return;
  const qint64 now = QDateTime::currentMSecsSinceEpoch();
  ViewState zoomed = view_;
  zoomed.range = next.range;
  const bool goes_on = zoomed == next && now - last_look_ms_ < kOneStepMs && last_was_zoom_;
  if (is_step && !goes_on) {
    past_.push_back(view_);
    if (past_.size() > kMostSteps) past_.erase(past_.begin());
    future_.clear();
  }
  last_was_zoom_ = zoomed == next;
  last_look_ms_ = now;
  show(next);
}

void Session::back() {
  if (past_.empty()) return;
  future_.push_back(view_);
  const ViewState next = past_.back();
  past_.pop_back();
  last_was_zoom_ = false;
  show(next);
}

void Session::forward() {
  if (future_.empty()) return;
  past_.push_back(view_);
  const ViewState next = future_.back();
  future_.pop_back();
  last_was_zoom_ = false;
  show(next);
}

void Session::show(ViewState next) {
  next.subject = std::min(next.subject, document_->subjects().size() - 1);
  next.range = picture::inside(next.range, document_->facts().duration);
  const ViewState before = view_;
  view_ = std::move(next);
  const bool other_subject = before.subject != view_.subject;
  if (other_subject) {
    ticked_.clear();
    what_if_.reset();
    ++what_if_number_;
  }
  const bool other_moment =
      before.at.has_value() != view_.at.has_value() || (view_.at && !same_moment(*before.at, *view_.at));
  if (other_subject || other_moment) moment_.reset();
  if (other_subject) select_range({});
  Q_EMIT viewChanged(before);
  if (other_subject) {
    make_parts();
    Q_EMIT tickedChanged();
    Q_EMIT whatIfChanged();
  }
  if (other_subject || other_moment) find_moment();
  if (other_subject || before.filter != view_.filter) find_filter();
}

void Session::find_moment() {
  const uint64_t number = ++moment_number_;
  const size_t at = view_.subject;
  const ViewState view = view_;
  run(*pool_, std::make_shared<Job>(),
      [this, document = document_, at, view, number](const Progress&) -> std::function<void()> {
        const Subject& subject = document->subject(at);
        auto found = std::make_shared<MomentSet>();
        found->set =
            view.at ? peak_set(subject.of.process, document->text(), subject.device.device, *view.at) : subject.peak;
        const report::Options options;
        found->described = describe_peak(subject.of.analysis, found->set, options);
        found->segments = segments_at(subject.of.process, subject.device.device, found->set.when);
        return [this, number, found] {
          if (number != moment_number_) return;
          moment_ = found;
          Q_EMIT momentChanged();
        };
      });
}

void Session::find_filter() {
  const uint64_t number = ++filter_number_;
  if (view_.filter.trimmed().isEmpty()) {
    found_.reset();
    Q_EMIT foundChanged();
    return;
  }
  run(*pool_, std::make_shared<Job>(),
      [this, document = document_, at = view_.subject, filter = view_.filter,
       number](const Progress&) -> std::function<void()> {
        auto found = std::make_shared<const SearchResult>(search(*document, document->subject(at), filter));
        return [this, number, found] {
          if (number != filter_number_) return;
          found_ = found;
          Q_EMIT foundChanged();
        };
      });
}

void Session::select_range(std::optional<Interval> range) {
  if (!document_ || range == selected_range_) return;
  const uint64_t number = ++range_number_;
  selected_range_ = range;
  range_facts_.reset();
  Q_EMIT rangeChanged();
  if (!range) return;
  run(*pool_, std::make_shared<Job>(),
      [this, document = document_, at = view_.subject, range = *range,
       number](const Progress&) -> std::function<void()> {
        auto found = std::make_shared<const RangeFacts>(gui::range_facts(*document, document->subject(at), range));
        return [this, number, found] {
          if (number != range_number_) return;
          range_facts_ = found;
          Q_EMIT rangeChanged();
        };
      });
}

void Session::tick(const QString& finding, bool on) {
  QSet<QString> next = ticked_;
  if (on) {
    next.insert(finding);
  } else {
    next.remove(finding);
  }
  tick_all(next);
}

void Session::tick_all(const QSet<QString>& findings) {
  if (findings == ticked_) return;
  ticked_ = findings;
  Q_EMIT tickedChanged();
  find_what_if();
}

void Session::find_what_if() {
  const uint64_t number = ++what_if_number_;
  if (ticked_.isEmpty() || !has(Part::advice)) {
    if (what_if_) {
      what_if_.reset();
      Q_EMIT whatIfChanged();
    }
    return;
  }
  run(*pool_, std::make_shared<Job>(),
      [this, document = document_, at = view_.subject, ticked = ticked_,
       number](const Progress&) -> std::function<void()> {
        auto found = std::make_shared<const WhatIfResult>(gui::what_if(document->subject(at), ticked));
        return [this, number, found] {
          if (number != what_if_number_) return;
          what_if_ = found;
          Q_EMIT whatIfChanged();
        };
      });
}

bool matches(const QString& filter, const QString& text) {
  const FilterWords words(filter);
  const auto is_in = [&](const FilterWord& word) { return word.is_in(text); };
  return std::ranges::all_of(words.wanted, is_in) && std::ranges::none_of(words.left_out, is_in);
}

}  // namespace tapelens::gui
