#include "gui/models/facts.h"

#include <algorithm>
#include <cstdlib>

#include "analyzer/model/attribution.h"
#include "analyzer/report/categories.h"
#include "analyzer/text/format.h"
#include "gui/models/visible_text.h"
#include "trace/record.h"

namespace tapelens::gui {

namespace {

QString role_words(const Process& p, const Text& text, AllocationId id) {
  for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
    const model::RoleId role{row};
    if (p.roles.allocation[role] != id) continue;
    const QString name = visible(text.string(p.roles.name[role]));
    switch (p.roles.kind[role]) {
      case model::Role::parameter:
        return "parameter " + name;
      case model::Role::gradient:
        return "gradient " + name;
      case model::Role::optimizer_state:
        return "optimizer state " + name;
      case model::Role::buffer:
        return "buffer " + name;
      case model::Role::none:
        break;
    }
  }
  return {};
}

AllocationFacts::Save describe(const Document& document, const Process& p, model::SaveId save) {
  const Text& text = document.text();
  const model::NodeId node = p.saves.node[save];
  return {p.saves.time[save], p.saves.released[save], visible(peak::field_text(p, text, node, p.saves.field[save])),
          visible(text.string(p.operators.name[p.nodes.op[node]]))};
}

}  // namespace

QString bytes_words(Bytes bytes) { return visible(text::bytes_text(bytes)); }
QString signed_bytes(Bytes change) {
  if (change == Bytes{}) return bytes_words(change);
  return (change < Bytes{} ? "\u2212" : "+") + bytes_words(Bytes{std::abs(change.value)});
}
QString address_words(uint64_t address) { return "0x" + QString::number(address, 16); }
QString pool_words(uint64_t stream, uint32_t graph_pool, uint32_t user_pool) {
  QString words = stream == 0 ? QStringLiteral("default stream") : "stream " + address_words(stream);
  if (graph_pool != 0) words += QString(", graph pool %1").arg(graph_pool);
  if (user_pool != 0) words += QString(", pool %1").arg(user_pool);
  return words;
}
QString time_words(Time time) { return visible(text::time_text(time)); }

AllocationFacts facts_of(const Document& document, const Subject& subject, AllocationId id, bool has_relations,
                         size_t most) {
  const Process& p = subject.of.process;
  const Text& text = document.text();
  AllocationFacts f;
  f.id = id;
  f.bytes = p.allocations.bytes[id];
  const Time freed = p.freed(id);
  f.is_freed = freed != model::kNever;
  f.life = {p.allocations.time[id], f.is_freed ? freed : p.duration};
  f.op = visible(text.string(called_name_of(p, text, id)));
  f.module = visible(text.string(text.module_path[module_of(p, id)]));
  const model::StackId stack = stack_of(p, text, id);
  if (const model::FrameId frame = source_frame(text, stack)) f.source = visible(peak::frame_text(text, frame));
  for (const model::FrameId frame : text.stack(stack)) {
    f.stack.push_back({std::string(text.string(text.frame_file[frame])),
                       std::string(text.string(text.frame_function[frame])), text.frame_line[frame]});
  }
  if (const model::DeviceBlockId block = p.device_blocks.of(id)) {
    const model::DeviceBlocks& b = p.device_blocks;
    f.block = QString("%1 at %2, %3")
                  .arg(bytes_words(b.rounded[block]), address_words(b.address[block]),
                       pool_words(b.stream[block], b.graph_pool[block], b.user_pool[block]));
  }
  model::LayoutId layout;
  if (has_relations) {
    for (const model::SaveId save : subject.of.analysis.provenance().saves(id)) {
      if (!layout) layout = p.saves.layout[save];
      if (f.saves.size() < most) f.saves.push_back(describe(document, p, save));
    }
    for (const model::OperatorId op : subject.of.analysis.provenance().uses(id)) {
      if (f.uses.size() == most) break;
      const Interval when{p.operators.begin[op], p.operators.end[op]};
      const bool is_backward = subject.of.phases.at(when.begin) == model::Phase::backward;
      f.uses.push_back({when, visible(text.string(p.operators.name[op])), is_backward});
    }
  }
  if (layout) f.layout = visible(layout_text(text, layout));
  f.what = role_words(p, text, id);
  if (f.what.isEmpty() && !f.saves.empty()) f.what = f.saves.front().field;
  if (f.what.isEmpty()) {
    const auto kind = subject.curves[static_cast<size_t>(peak::By::category)]->grouping().of[id.value];
    f.what = visible(report::label(static_cast<peak::HolderKind>(kind)));
  }
  return f;
}

}  // namespace tapelens::gui
