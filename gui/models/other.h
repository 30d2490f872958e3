// The second recording of a comparison: opened and compared in the background.
#pragma once

#include <QObject>
#include <atomic>
#include <memory>
#include <optional>

#include "gui/models/compare.h"
#include "gui/models/session.h"

namespace tapelens::gui {

class Other : public QObject {
  Q_OBJECT
 public:
  explicit Other(Session& session, QObject* parent = nullptr);
  ~Other() override;

  // The previous recording stays until the new one is open, or until changed() reports a problem.
  void open(const QString& path);
  void cancel();
  void close();
  bool is_opening() const { return opening_ != nullptr; }
  const QString& problem() const { return problem_; }  // error of the last open(); empty: none

  const Document* document() const { return document_.get(); }  // null: no recording is open
  // The compared device and process: the one with the same name in both, else that with the peak.
  const Subject& subject() const { return document_->subject(subject_); }

  // Null without a second recording and while the comparison runs.
  const MomentComparison* comparison() const { return comparison_.get(); }
  std::optional<uint32_t> step() const { return step_; }  // none: at each one's peak
  peak::By by() const { return by_; }
  void compare(std::optional<uint32_t> step, peak::By by);

 Q_SIGNALS:
  void progressed(const QString& what, double share);
  void changed();   // a recording was opened or closed
  void compared();  // the comparison is ready

 private:
  struct Job {
    std::atomic<bool> cancelled = false;
  };
  void show(const Loaded& loaded);
  void find();

  Session& session_;
  std::shared_ptr<Document> document_;
  size_t subject_ = 0;
  std::shared_ptr<const MomentComparison> comparison_;
  std::optional<uint32_t> step_;
  peak::By by_ = peak::By::field;
  QString problem_;
  std::shared_ptr<Job> opening_;
  uint64_t number_ = 0;  // number of the pending comparison
  QThreadPool* pool_;
};

}  // namespace tapelens::gui
