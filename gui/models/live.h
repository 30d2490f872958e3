// A run that is followed while it is recorded (analyzer/live): its figures for the window, read in the background.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "analyzer/live/figures.h"
#include "analyzer/live/live_run.h"

namespace tapelens::gui {

// One process and device, as values. Text is visible(): it comes from an untrusted spool.
struct LiveFigures {
  // No process has begun, or the shown one has used no device: the figures of the memory are zero then.
  QStringList processes;  // "pid 4242, rank 1"
  size_t process = 0;     // the shown one
  QStringList devices;    // devices of the shown process
  size_t device = 0;
  bool is_over = false;       // all processes have ended, and everything was read
  bool is_recording = false;  // the shown process
  bool is_gone = false;       // the spools do not exist any more
  bool is_sealed = false;     // the recording of the run exists

  QString state, phase;  // "recording", "backward"
  uint64_t events = 0, steps = 0, lost_events = 0, failed_requests = 0;
  std::optional<double> events_per_second;
  trace::Time now;

  trace::Bytes live, peak;
  trace::Time peak_time;
  uint64_t peak_step = 0;
  std::optional<int64_t> growth;  // bytes a step
  trace::Time curve_begin, curve_interval;
  std::vector<live::History::Highest> curve;
  std::vector<live::CategoryRow> categories;
  struct Holder {
    live::HolderKind kind{};
    QString name, line, module;
    trace::Bytes live, at_peak;
  };
  std::vector<Holder> holders;  // the largest
  struct Step {
    uint64_t number = 0;
    trace::Bytes peak, end;
    std::optional<int64_t> change;  // the end of the step minus that of the step before
  };
  std::vector<Step> last_steps;  // the newest first
};

class LiveFollower : public QObject {
  Q_OBJECT
 public:
  // Figures are as old as this at most, and 50 ms (live::Followed::kDelay).
  static constexpr std::chrono::milliseconds kInterval{250};
  static constexpr size_t kMostHolders = 100;

  explicit LiveFollower(live::LiveTarget target, QObject* parent = nullptr);
  ~LiveFollower() override;

  const live::LiveTarget& target() const { return target_; }
  // Null until the spools were read once.
  const std::shared_ptr<const LiveFigures>& figures() const { return figures_; }
  // Shows another process or device. None: the one with the largest peak.
  void choose(std::optional<size_t> process, std::optional<size_t> device);

 Q_SIGNALS:
  void changed();
  void sealed(const QString& path);  // the recording of the run exists; emitted once
  void failed(const QString& sentence);

 private:
  void follow();  // in the thread
  std::shared_ptr<const LiveFigures> describe(const live::LiveRun& run);
  bool wait(std::chrono::steady_clock::time_point until);  // false: the window stops to follow
  bool is_sealed(const live::LiveRun& run) const;
  void pass_on(std::shared_ptr<const LiveFigures> figures);

  const live::LiveTarget target_;
  std::shared_ptr<const LiveFigures> figures_;  // used by the window's thread alone

  std::mutex lock_;  // guards what follows
  std::condition_variable woken_;
  bool is_stopped_ = false, is_chosen_ = false;
  std::optional<size_t> process_, device_;
  std::shared_ptr<const LiveFigures> newest_;  // not yet taken by the window's thread

  std::thread thread_;
};

}  // namespace tapelens::gui
