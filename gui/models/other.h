// The recording that the one that is open is compared with: opened and asked in the background.
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

  // What was open stays until the new one is there, or changed() with a problem follows.
  void open(const QString& path);
  void cancel();
  void close();
  bool is_opening() const { return opening_ != nullptr; }
  const QString& problem() const { return problem_; }  // of the last one that was opened; empty: none

  const Document* document() const { return document_.get(); }  // null: none
  // The device and process that are compared: of the same name in both, else the one with the largest peak.
  const Subject& subject() const { return document_->subject(subject_); }

  // Null while there are not two recordings, or it is being found out.
  const Comparison* comparison() const { return comparison_.get(); }
  std::optional<uint32_t> step() const { return step_; }  // none: that of each one's peak
  peak::By by() const { return by_; }
  void compare(std::optional<uint32_t> step, peak::By by);

 Q_SIGNALS:
  void progressed(const QString& what, double share);
  void changed();   // which recordings there are
  void compared();  // the comparison

 private:
  struct Job {
    std::atomic<bool> cancelled = false;
  };
  void show(const Loaded& loaded);
  void find();

  Session& session_;
  std::shared_ptr<Document> document_;
  size_t subject_ = 0;
  std::shared_ptr<const Comparison> comparison_;
  std::optional<uint32_t> step_;
  peak::By by_ = peak::By::field;
  QString problem_;
  std::shared_ptr<Job> opening_;
  uint64_t number_ = 0;  // of the comparison that is waited for
  QThreadPool* pool_;
};

}  // namespace tapelens::gui
