#include "analyzer/export/exported_processes.h"

#include <algorithm>

#include "analyzer/peak/groups.h"
#include "analyzer/text/escape.h"

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
    std::string printable = text::printable(raw);
    if (printable != raw) changed_[id.value] = std::make_unique<const std::string>(std::move(printable));
  }
  return changed_[id.value] ? std::string_view(*changed_[id.value]) : raw;
}

std::string Names::source(FrameId frame) const {
  return frame ? text::printable(peak::frame_text(text_, frame)) : std::string();
}

FrameId Names::source_frame(StackId stack) const {
  uint32_t& frame = frame_of_[stack.value];
  if (frame == UINT32_MAX) frame = model::source_frame(text_, stack).value;
  return FrameId{frame};
}

std::vector<FrameId> program_frames(const Text& text, StackId stack) {
  std::vector<FrameId> own;
  const auto frames = text.stack(stack);
  for (size_t i = frames.size(); i-- > 0;) {
    const FrameId frame = frames[i];
    if (!is_library_frame(text.string(text.frame_file[frame]), text.string(text.frame_function[frame])))
      own.push_back(frame);
  }
  return own;
}

ExportedProcesses::ExportedProcesses(const run::Run& run, const ExportSelection& wanted)
    : run_(run), wanted_(wanted), names_(run.text()) {
  refuse_damaged(text().left_out);
}

std::string ExportedProcesses::command() const { return text::printable(recording().command()); }

std::unique_ptr<ExportedProcess> ExportedProcesses::load(uint32_t index) {
  if (wanted_.process && *wanted_.process != recording().processes()[index].pid) return nullptr;
  auto exported = std::make_unique<ExportedProcess>(run_.process(index));
  refuse_damaged(exported->process.left_out);
  const run::DeviceSelection selected = selection();
  for (const run::DeviceRun* device : exported->of->devices()) {
    if (selected.has(*device)) exported->devices.push_back(device->id());
  }
  return exported->devices.empty() ? nullptr : std::move(exported);
}

void ExportedProcesses::refuse() const { throw CannotExport{run::no_memory(run_, selection())}; }

void ExportedProcesses::each(const std::function<void(const ExportedProcess&)>& visit) {
  const uint32_t count = run_.processes();
  bool any = false;
  for (uint32_t index = 0; index < count; ++index) {
    const auto exported = load(index);
    if (!exported) continue;
    any = true;
    exported->part = 1.0 / count;
    exported->before = static_cast<double>(index) / count;
    progress(*exported, 0);
    visit(*exported);
  }
  if (!any) refuse();
}

std::unique_ptr<const ExportedProcess> ExportedProcesses::largest() {
  std::unique_ptr<ExportedProcess> chosen;
  run::PeakDevice peak(selection());
  for (uint32_t index = 0; index < run_.processes(); ++index) {
    auto exported = load(index);
    if (exported && peak.offer(exported->of)) chosen = std::move(exported);
  }
  if (!chosen) refuse();
  return chosen;
}

void ExportedProcesses::progress(const ExportedProcess& exported, double fraction) const {
  if (wanted_.progress) wanted_.progress("exporting", exported.before + exported.part * std::min(fraction, 1.0));
}

}  // namespace tapelens::exporting
