#include "analyzer/export/subjects.h"

#include <algorithm>

#include "analyzer/peak/groups.h"
#include "analyzer/report/escape.h"

namespace tapelens::exporting {
namespace {

void refuse_damaged(const std::vector<LeftOut>& left_out) {
  if (left_out.empty()) return;
  std::string tables;
  for (const LeftOut& table : left_out) tables += (tables.empty() ? "" : "; ") + table.name + ": " + table.why;
  throw CannotExport{{"tables contradict each other, so what is left of it is not what happened (" + tables + ")"}};
}

}  // namespace

Names::Names(const Text& text)
    : text_(text),
      changed_(text.string_begin.size()),
      is_known_(text.string_begin.size()),
      frame_of_(text.stack_begin.size(), UINT32_MAX) {}

std::string_view Names::operator[](StringId id) const {
  const std::string_view raw = text_.string(id);
  if (is_known_[id.value] == 0) {
    is_known_[id.value] = 1;
    std::string printable = report::printable(raw);
    if (printable != raw) changed_[id.value] = std::make_unique<const std::string>(std::move(printable));
  }
  return changed_[id.value] ? std::string_view(*changed_[id.value]) : raw;
}

std::string Names::source(FrameId frame) const {
  return frame ? report::printable(peak::frame_text(text_, frame)) : std::string();
}

FrameId Names::source_frame(StackId stack) const {
  uint32_t& frame = frame_of_[stack.value];
  if (frame == UINT32_MAX) frame = model::source_frame(text_, stack).value;
  return FrameId{frame};
}

Subjects::Subjects(const trace::Recording& recording, const Wanted& wanted)
    : recording_(recording), wanted_(wanted), text_(load_text(recording)), names_(text_) {
  refuse_damaged(text_.left_out);
}

std::string Subjects::command() const { return report::printable(recording_.command()); }

std::unique_ptr<Subject> Subjects::load(uint32_t index) {
  const trace::ProcessSummary& summary = recording_.processes()[index];
  if (wanted_.process && *wanted_.process != summary.pid) {
    seen_ += (seen_.empty() ? "" : ", ") + std::to_string(summary.pid);
    return nullptr;
  }
  const trace::ProcessIndex at{index};
  auto subject = std::make_unique<Subject>(load_process(recording_, text_, at), text_, at);
  refuse_damaged(subject->process.left_out);
  seen_ += (seen_.empty() ? "" : ", ") + std::to_string(summary.pid) + " (";
  for (const peak::DevicePeak& device : subject->analysis.devices()) {
    const std::string_view name = text_.string(text_.device_name[device.device]);
    seen_ += (seen_.back() == '(' ? "" : ", ") + std::string(name);
    if (!wanted_.device || *wanted_.device == name) subject->devices.push_back(device.device);
  }
  seen_ += ")";
  return subject->devices.empty() ? nullptr : std::move(subject);
}

void Subjects::refuse() const {
  if (wanted_.process || wanted_.device) {
    throw CannotExport{{"nothing was allocated by that process on that device: the recording has pid " + seen_,
                        trace::ErrorKind::usage}};
  }
  throw CannotExport{{"the recording holds no memory of any device: nothing was allocated while it was recorded",
                      trace::ErrorKind::nothing_recorded}};
}

void Subjects::each(const std::function<void(const Subject&)>& visit) {
  const auto count = static_cast<uint32_t>(recording_.processes().size());
  bool any = false;
  seen_.clear();
  for (uint32_t index = 0; index < count; ++index) {
    const auto subject = load(index);
    if (!subject) continue;
    any = true;
    subject->part = 1.0 / count;
    subject->before = static_cast<double>(index) / count;
    progress(*subject, 0);
    visit(*subject);
  }
  if (!any) refuse();
}

std::unique_ptr<const Subject> Subjects::largest() {
  std::unique_ptr<Subject> chosen;
  Bytes most{-1};
  seen_.clear();
  for (uint32_t index = 0; index < recording_.processes().size(); ++index) {
    auto subject = load(index);
    if (!subject) continue;
    Bytes peak{-1};
    for (const peak::DevicePeak& device : subject->analysis.devices()) {
      const bool is_wanted = std::ranges::find(subject->devices, device.device) != subject->devices.end();
      if (is_wanted) peak = std::max(peak, device.peak);
    }
    if (peak <= most) continue;
    most = peak;
    chosen = std::move(subject);
  }
  if (!chosen) refuse();
  return chosen;
}

void Subjects::progress(const Subject& subject, double fraction) const {
  if (wanted_.progress) wanted_.progress("exporting", subject.before + subject.part * std::min(fraction, 1.0));
}

}  // namespace tapelens::exporting
