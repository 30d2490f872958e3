// The state that pages share: the open recording, the view of it, and the history of views. Pages change the view with
// look() and follow viewChanged(). No page knows another.
#pragma once

#include <QObject>
#include <QSet>
#include <QString>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/document.h"
#include "gui/models/range.h"
#include "gui/models/search.h"
#include "gui/models/whatif.h"
#include "gui/pages.h"

class QThreadPool;

namespace tapelens::gui {

// A place in a recording; back and forward move between these.
struct ViewState {
  PageId page = PageId::timeline;
  size_t subject = 0;              // index into Document::subjects()
  Interval range;                  // shown range of the timeline
  std::optional<peak::Moment> at;  // time of the peak page; none: the peak
  AllocationId allocation;         // the selected allocation
  uint32_t step = UINT32_MAX;      // the selected step; UINT32_MAX: none
  peak::By by = peak::By::category;
  picture::AxisKind axis = picture::AxisKind::without_pauses;  // without pauses to leave out: as AxisKind::time
  QString filter;                                              // as typed; see matches()
  QString finding;                                             // fingerprint of the selected finding

  friend bool operator==(const ViewState&, const ViewState&);
};

// The allocations alive at one time, described by the code of `tapelens report`.
struct MomentSet {
  peak::PeakSet set;
  report::Peak described;                 // all allocations
  std::vector<peak::SegmentAt> segments;  // by address; only of devices with segment events
};

class Session : public QObject {
  Q_OBJECT
 public:
  explicit Session(QObject* parent = nullptr);
  ~Session() override;

  // Opens in the background; opened() or failed() follows. The current recording stays open until then.
  void open(const QString& path);
  void cancel();  // cancels the opening; parts go on
  bool is_opening() const { return opening_job_ != nullptr; }
  void close();

  // Null if no recording is open.
  const Document* document() const { return document_.get(); }
  const std::shared_ptr<Document>& shared() const { return document_; }
  // The subject of the current view. Requires an open document.
  const Subject& subject() const { return document_->subject(view_.subject); }
  bool has(Part part) const;

  const ViewState& view() const { return view_; }
  // `is_step`: adds the current view to the history of back(). Zooms and pans that start within half a second of each
  // other on the same page are one step.
  void look(const ViewState& next, bool is_step = true);
  void back();
  void forward();
  bool can_go_back() const { return !past_.empty(); }
  bool can_go_forward() const { return !future_.empty(); }

  // The allocations at view().at; null while they are computed.
  const std::shared_ptr<const MomentSet>& moment() const { return moment_; }

  // The ticked findings by fingerprint, and the memory without them. Null if none is ticked, and during the
  // computation.
  const QSet<QString>& ticked() const { return ticked_; }
  void tick(const QString& finding, bool on);
  void tick_all(const QSet<QString>& findings);
  const std::shared_ptr<const WhatIfResult>& what_if() const { return what_if_; }

  // The selected range of the timeline, and its answers: null if none is selected, and during the computation.
  void select_range(std::optional<Interval> range);
  const std::optional<Interval>& selected_range() const { return selected_range_; }
  const std::shared_ptr<const RangeFacts>& range_facts() const { return range_facts_; }

  // The results of view().filter; null if it is empty, and during the search.
  const std::shared_ptr<const SearchResult>& found() const { return found_; }

 Q_SIGNALS:
  void opened();
  void closed();
  void failed(const QString& sentence);
  void progressed(const QString& what, double share);  // share 1: idle
  void made(tapelens::gui::Part part);                 // a part of the current subject is ready
  void viewChanged(const tapelens::gui::ViewState& before);
  void momentChanged();
  void tickedChanged();
  void whatIfChanged();
  void foundChanged();
  void rangeChanged();

 private:
  struct Job;
  void show(ViewState next);
  void make_parts();
  void stop_parts();
  void find_moment();
  void find_what_if();
  void find_filter();
  void show_document(std::shared_ptr<Document> document);
  void run(QThreadPool& pool, std::shared_ptr<Job> job, std::function<std::function<void()>(const Progress&)> work);

  std::shared_ptr<Document> document_;
  ViewState view_;
  std::vector<ViewState> past_, future_;
  qint64 last_look_ms_ = 0;
  std::shared_ptr<const MomentSet> moment_;
  std::shared_ptr<const WhatIfResult> what_if_;
  std::shared_ptr<const SearchResult> found_;
  std::optional<Interval> selected_range_;
  std::shared_ptr<const RangeFacts> range_facts_;
  QSet<QString> ticked_;
  std::vector<std::array<bool, kParts>> made_;  // by subject and part
  uint64_t moment_number_ = 0, what_if_number_ = 0, filter_number_ = 0, range_number_ = 0;
  std::shared_ptr<Job> opening_job_, parts_job_;
  bool last_was_zoom_ = false;
  // Parts are computed one after another. User requests run in another pool and do not wait for them.
  QThreadPool *parts_pool_, *pool_;
};

// Whether a text has the words of a filter (filter_words.h). An empty filter matches everything.
bool matches(const QString& filter, const QString& text);

}  // namespace tapelens::gui
