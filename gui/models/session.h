// What the pages share: the recording that is open, what of it is looked at, and the way back. Pages change it by
// look() and follow viewChanged(); none of them knows another.
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
#include "gui/models/search.h"
#include "gui/models/whatif.h"
#include "gui/pages.h"

class QThreadPool;

namespace tapelens::gui {

// A place in a recording: all that back and forward go through.
struct View {
  PageId page = PageId::timeline;
  size_t subject = 0;              // index into Document::subjects()
  Interval range;                  // of the timeline that is shown
  std::optional<peak::Moment> at;  // the moment of the peak page; none: the peak
  AllocationId allocation;         // the selected one
  uint32_t step = UINT32_MAX;      // the selected one; UINT32_MAX: none
  peak::By by = peak::By::category;
  QString filter;   // as typed; see matches()
  QString finding;  // fingerprint of the selected one

  friend bool operator==(const View&, const View&);
};

// What was alive at a moment, in words, by the same code as `tapelens report`.
struct MomentSet {
  peak::PeakSet set;
  report::Peak described;                 // all allocations
  std::vector<peak::SegmentAt> segments;  // of a device that tells of them, by address
};

class Session : public QObject {
  Q_OBJECT
 public:
  explicit Session(QObject* parent = nullptr);
  ~Session() override;

  // In the background; opened() or failed() follows. What is open stays until then.
  void open(const QString& path);
  void cancel();  // what is being opened; a part that is being made goes on
  bool is_opening() const { return opening_job_ != nullptr; }
  void close();

  // Null while nothing is open.
  const Document* document() const { return document_.get(); }
  const std::shared_ptr<Document>& shared() const { return document_; }
  // The one that is looked at. Only while a document is open.
  const Subject& subject() const { return document_->subject(view_.subject); }
  bool has(Part part) const;

  const View& view() const { return view_; }
  // `is_step`: back() comes back to what is shown now. A zoom or a pan that goes on is one step: those that begin
  // within half a second of each other on the same page are joined.
  void look(const View& next, bool is_step = true);
  void back();
  void forward();
  bool can_go_back() const { return !past_.empty(); }
  bool can_go_forward() const { return !future_.empty(); }

  // At view().at; null while it is being found out.
  const std::shared_ptr<const MomentSet>& moment() const { return moment_; }

  // The findings that are ticked, by fingerprint, and the memory without them; null if none is or while it is found
  // out.
  const QSet<QString>& ticked() const { return ticked_; }
  void tick(const QString& finding, bool on);
  void tick_all(const QSet<QString>& findings);
  const std::shared_ptr<const WhatIfResult>& what_if() const { return what_if_; }

  // What view().filter finds; null if it is empty or while it is being looked for.
  const std::shared_ptr<const SearchResult>& found() const { return found_; }

 Q_SIGNALS:
  void opened();
  void closed();
  void failed(const QString& sentence);
  void progressed(const QString& what, double share);  // share 1: nothing is being done
  void made(tapelens::gui::Part part);                 // of the subject that is looked at
  void viewChanged(const tapelens::gui::View& before);
  void momentChanged();
  void tickedChanged();
  void whatIfChanged();
  void foundChanged();

 private:
  struct Job;
  void show(View next);
  void make_parts();
  void stop_parts();
  void find_moment();
  void find_what_if();
  void find_filter();
  void show_document(std::shared_ptr<Document> document);
  void run(QThreadPool& pool, std::shared_ptr<Job> job, std::function<std::function<void()>(const Progress&)> work);

  std::shared_ptr<Document> document_;
  View view_;
  std::vector<View> past_, future_;
  qint64 last_look_ms_ = 0;
  std::shared_ptr<const MomentSet> moment_;
  std::shared_ptr<const WhatIfResult> what_if_;
  std::shared_ptr<const SearchResult> found_;
  QSet<QString> ticked_;
  std::vector<std::array<bool, kParts>> made_;  // by subject and part
  uint64_t moment_number_ = 0, what_if_number_ = 0, filter_number_ = 0;
  std::shared_ptr<Job> opening_job_, parts_job_;
  bool last_was_zoom_ = false;
  // Parts are made one after another; what a click asks for does not wait for them.
  QThreadPool *parts_pool_, *pool_;
};

// Whether a text has all the words of a filter, whatever their case. An empty filter matches everything.
bool matches(const QString& filter, const QString& text);

}  // namespace tapelens::gui
