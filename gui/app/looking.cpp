// Shows the place that the command line requests.
#include <algorithm>

#include "analyzer/text/format.h"
#include "gui/app/main_window.h"
#include "gui/models/facts.h"
#include "gui/models/out_of_memory.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

trace::Status MainWindow::look_at(const WindowOptions& options) {
  if (!options.device.isEmpty()) {
    if (const auto looked = look_at_device(options.device); !looked) return looked;
  }
  return options.at ? look_at(*options.at) : trace::Status(trace::Done{});
}

// If several processes use the device, takes the one with the largest peak on it.
trace::Status MainWindow::look_at_device(const QString& name) {
  const Document& document = *session_.document();
  const auto device_of = [&](const std::unique_ptr<Subject>& subject) {
    return visible(document.text().string(document.text().device_name[subject->device.device]));
  };
  const auto& subjects = document.subjects();
  const auto at = std::ranges::find(subjects, name, device_of);
  if (at == subjects.end()) {
    QStringList there;
    for (const auto& subject : subjects) there << device_of(subject);
    there.removeDuplicates();
    there.sort();
    return failure(
        tr("the recording has no memory of '%1', only of %2").arg(visible(name.toStdString()), there.join(", ")));
  }
  ViewState next = session_.view();
  next.subject = static_cast<size_t>(at - subjects.begin());
  next.range = (*at)->first_shown();
  session_.look(next, false);
  return trace::Done{};
}

trace::Status MainWindow::look_at(const report::At& at) {
  const Subject& subject = session_.subject();
  ViewState next = session_.view();
  switch (at.kind) {
    case report::At::Kind::peak:
      next.at.reset();
      break;
    case report::At::Kind::step: {
      const auto& steps = subject.of.bands.steps;
      const uint32_t first = subject.of.bands.first_step;
      if (at.step < first || at.step - first >= steps.size()) {
        return failure(tr("step %1 is not in the recording, which has steps %2 to %3")
                           .arg(at.step)
                           .arg(first)
                           .arg(first + steps.size() - 1));
      }
      next.step = at.step;
      next.at = subject.timeline.largest(subject.of.steps[at.step - first].when).when;
      next.range = steps[at.step - first];
      break;
    }
    case report::At::Kind::out_of_memory: {
      const auto& requests = subject.out_of_memory;
      if (requests.empty()) return failure(tr("%1 never ran out of memory").arg(subject.name));
      // "oom" without a number is the last request.
      const size_t which = at.step == UINT32_MAX ? requests.size() - 1 : at.step;
      if (which >= requests.size()) {
        return failure(tr("oom:%1 is not in the recording: %2 found no memory on %3, from oom:0 on")
                           .arg(at.step)
                           .arg(visible(text::plural(requests.size(), "request", "requests")), subject.name));
      }
      next = at_out_of_memory(session_, requests[which]);
      break;
    }
    case report::At::Kind::time: {
      const Time duration = session_.document()->facts().duration;
      if (at.time > duration) {
        return failure(tr("%1 is after the end of the recording, which is %2 long")
                           .arg(time_words(at.time), time_words(duration)));
      }
      peak::Moment moment = subject.timeline.at(at.time);
      moment.time = at.time;
      next.at = moment;
      break;
    }
  }
  session_.look(next, false);
  return trace::Done{};
}

}  // namespace tapelens::gui
