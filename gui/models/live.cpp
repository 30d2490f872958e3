#include "gui/models/live.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <QMetaObject>
#include <algorithm>
#include <new>
#include <utility>

#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

using trace::Bytes;
using Clock = live::LiveRun::Clock;

Bytes bytes_of(uint64_t bytes) { return {static_cast<int64_t>(bytes)}; }

QString name_of(const live::Followed& process) {
  QString name = QString("pid %1").arg(process.tail().pid());
  if (!process.names().rank().empty()) name += ", rank " + visible(process.names().rank());
  return name;
}

void describe_device(const live::Followed& process, uint8_t number, LiveFigures& figures) {
  const live::DeviceMemory& device = process.memory().devices()[number];
  figures.live = bytes_of(device.live);
  figures.peak = bytes_of(device.peak);
  figures.peak_time = device.peak_time;
  figures.peak_step = device.peak_step;
  figures.growth = live::growth_of(device);
  figures.curve_begin = device.history.begin();
  figures.curve_interval = device.history.interval();
  figures.curve = device.history.intervals(figures.now);
  figures.categories = live::categories(process, number);
  if (figures.is_recording || !device.is_peak_older) {
    for (live::HolderRow& row : live::holders(process, number, LiveFollower::kMostHolders)) {
      figures.holders.push_back({row.kind, visible(row.name), visible(row.line), visible(row.module),
                                 bytes_of(row.live), bytes_of(row.at_peak)});
    }
  }
  // The step that runs is not among them.
  uint64_t step = process.memory().steps();
  for (size_t at = device.steps.size(); at-- > 0;) {
    LiveFigures::Step& row = figures.last_steps.emplace_back();
    row.number = --step;
    row.peak = bytes_of(device.steps[at].peak);
    row.end = bytes_of(device.steps[at].end);
    if (at > 0) row.change = row.end.value - static_cast<int64_t>(device.steps[at - 1].end);
  }
}

}  // namespace

LiveFollower::LiveFollower(live::LiveTarget target, QObject* parent) : QObject(parent), target_(std::move(target)) {
  thread_ = std::thread([this] { follow(); });
}

LiveFollower::~LiveFollower() {
  {
    const std::lock_guard guard(lock_);
    is_stopped_ = true;
  }
  woken_.notify_all();
  thread_.join();
}

void LiveFollower::choose(std::optional<size_t> process, std::optional<size_t> device) {
  {
    const std::lock_guard guard(lock_);
    process_ = process;
    device_ = device;
    is_chosen_ = true;
  }
  woken_.notify_all();
}

void LiveFollower::follow() try {
  setpriority(PRIO_PROCESS, 0, 10);  // 0: this thread. The window has priority
  live::LiveRun run(target_);
  bool was_sealed = false;
  std::shared_ptr<const LiveFigures> passed;
  for (auto next = Clock::now();; next = std::max(Clock::now(), next)) {
    next += kInterval;
    while (!run.poll(next)) {
      if (Clock::now() < next) continue;
      // A spool that is far ahead: shows what was read up to now.
      pass_on(describe(run));
      next = Clock::now() + kInterval;
      if (!wait(Clock::now())) return;
    }
    const auto figures = describe(run);
    // After the end only these change.
    const bool is_same = passed != nullptr && passed->is_over == figures->is_over &&
                         passed->is_gone == figures->is_gone && passed->is_sealed == figures->is_sealed;
    if (!figures->is_over || !is_same) pass_on(figures);
    passed = figures;
    if (figures->is_sealed && !std::exchange(was_sealed, true)) {
      QMetaObject::invokeMethod(this, [this] { Q_EMIT sealed(QString::fromStdString(target_.recording())); });
    }
    if (!wait(next)) return;
    const std::lock_guard guard(lock_);
    if (std::exchange(is_chosen_, false)) passed.reset();
  }
} catch (const std::bad_alloc&) {
  QMetaObject::invokeMethod(this, [this] {
    Q_EMIT failed(QString::fromStdString(target_.title) + tr(": there is not enough memory to follow it."));
  });
}

bool LiveFollower::wait(Clock::time_point until) {
  std::unique_lock guard(lock_);
  woken_.wait_until(guard, until, [this] { return is_stopped_ || is_chosen_; });
  return !is_stopped_;
}

// `record` gives the file its name when it is whole. An older recording may have the same name until then.
bool LiveFollower::is_sealed(const live::LiveRun& run) const {
  struct stat facts {};
  const std::string path = target_.recording();
  if (path.empty() || run.processes().empty() || stat(path.c_str(), &facts) != 0) return false;
  const uint64_t modified =
      static_cast<uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(facts.st_mtim.tv_nsec);
  uint64_t begun = UINT64_MAX;
  for (const auto& process : run.processes()) begun = std::min(begun, process->tail().wall_ns());
  return S_ISREG(facts.st_mode) && modified >= begun;
}

std::shared_ptr<const LiveFigures> LiveFollower::describe(const live::LiveRun& run) {
  std::optional<size_t> chosen_process, chosen_device;
  {
    const std::lock_guard guard(lock_);
    chosen_process = process_;
    chosen_device = device_;
  }
  auto figures = std::make_shared<LiveFigures>();
  figures->is_over = run.is_over();
  struct stat facts {};
  figures->is_gone = stat((target_.folder.empty() ? target_.spool : target_.folder).c_str(), &facts) != 0;
  figures->is_sealed = (figures->is_over || figures->is_gone) && is_sealed(run);
  for (const auto& process : run.processes()) figures->processes << name_of(*process);
  if (run.processes().empty()) return figures;
  figures->process = std::min(chosen_process.value_or(live::main_process(run.processes())), run.processes().size() - 1);
  const live::Followed& process = *run.processes()[figures->process];
  figures->is_recording = process.state() == live::State::recording;
  figures->state = visible(live::state_text(process));
  if (figures->is_recording) figures->phase = process.memory().phase();
  figures->events = process.memory().events();
  figures->steps = process.memory().steps();
  figures->lost_events = process.tail().lost_events();
  figures->failed_requests = process.memory().out_of_memory();
  if (figures->is_recording) figures->events_per_second = process.events_per_second();
  figures->now = process.now();
  const std::vector<uint8_t> used = live::used_devices(process);
  for (const uint8_t device : used) figures->devices << visible(live::device_name(process, device));
  if (used.empty()) return figures;
  figures->device = std::min(chosen_device.value_or(live::main_device(process)), used.size() - 1);
  describe_device(process, used[figures->device], *figures);
  return figures;
}

// The window takes the newest figures when it has time. It never has more than one event of them in its loop.
void LiveFollower::pass_on(std::shared_ptr<const LiveFigures> figures) {
  const std::lock_guard guard(lock_);
  const bool is_waiting = newest_ != nullptr;
  newest_ = std::move(figures);
  if (is_waiting) return;
  QMetaObject::invokeMethod(this, [this] {
    {
      const std::lock_guard taken(lock_);
      figures_ = std::exchange(newest_, nullptr);
    }
    Q_EMIT changed();
  });
}

}  // namespace tapelens::gui
