#include "plugins/duplicate-save/repeats.h"

#include <algorithm>
#include <utility>

namespace tapelens::check {

std::vector<Repeats::Found> Repeats::all() const {
  const Process& p = context_.process;
  std::vector<Found> found;
  const NameSet joining(context_.text, {"aten::cat", "aten::_cat"});
  const NameSet filling(context_.text, {"aten::scatter_", "aten::copy_", "aten::index_copy_"});
  std::vector<uint8_t> seen(size_t{p.allocations.rows()} + 1);
  for (const AllocationId buffer : p.allocations.ids()) {
    if (context_.is_looked_at(buffer, least_) && joining.has(p.operators.name[p.allocations.op[buffer]]) &&
        !p.allocations.evaluation[buffer]) {
      add_joined(buffer, found);
    }
  }
  for (const OperatorId op : p.operators.ids()) {
    if (!filling.has(p.operators.name[op]) || context_.provenance.called(op) != op) continue;
    const auto inputs = context_.provenance.inputs(op);
    if (inputs.size() < 2 || std::exchange(seen[inputs[0]], 1) != 0) continue;
    const AllocationId buffer{inputs[0]};
    if (!buffer || !context_.is_looked_at(buffer, least_)) continue;
    if (contents_.has_role(buffer) || p.allocations.evaluation[buffer]) continue;
    add_filled(buffer, filling, found);
  }
  std::ranges::sort(found, {}, &Found::buffer);
  return found;
}

bool Repeats::is_one_tensor(std::span<const View> parts) const {
  if (parts.size() < 2) return false;
  const View& first = parts[0];
  const uint64_t step = elements(context_.text, first.layout);
  // Slices that are only a part of a tensor (a batch of a data set) count as different content.
  const int64_t bytes = static_cast<int64_t>(parts.size()) * context_.text.layout_bytes[first.layout].value;
  const bool is_whole = first.offset == 0 && context_.process.allocations.bytes[first.allocation] == Bytes{bytes};
  bool repeats = true, continues = is_whole && is_dense(context_.text, first.layout);
  for (size_t i = 1; i < parts.size() && (repeats || continues); ++i) {
    if (parts[i].allocation != first.allocation || parts[i].layout != first.layout) return false;
    repeats = repeats && parts[i].offset == first.offset;
    continues = continues && parts[i].offset == first.offset + i * step;
  }
  return repeats || continues;
}

bool Repeats::add_joined(AllocationId buffer, std::vector<Found>& found) const {
  const Process& p = context_.process;
  const Copied copied = contents_.copied(buffer, most_parts_);
  if (copied.parts.size() < 2) return false;
  std::vector<View> origins;
  for (const View& part : copied.parts) origins.push_back(contents_.origin(part, copied.since));
  const int64_t bytes = static_cast<int64_t>(origins.size()) * context_.text.layout_bytes[origins[0].layout].value;
  const AllocationId source = origins[0].allocation;
  if (!is_one_tensor(origins) || p.allocations.bytes[buffer] != Bytes{bytes}) return false;
  if (!contents_.is_unchanged(buffer, copied.since, p.freed(buffer)) ||
      !contents_.is_unchanged(source, copied.since, context_.lifetimes.last_use(buffer))) {
    return false;
  }
  found.push_back({buffer, source, copied.op, static_cast<uint32_t>(origins.size())});
  return true;
}

View Repeats::written(OperatorId op) const {
  const auto inputs = context_.provenance.inputs(op);
  const AllocationId from{inputs.back()};
  if (!from || from.value == inputs[0]) return {};
  if (const auto layouts = context_.provenance.input_layouts(op); layouts.size() == inputs.size()) {
    return contents_.origin({from, LayoutId{layouts.back()}, context_.provenance.input_offsets(op).back()},
                            context_.process.operators.begin[op]);
  }
  const Copied copied = contents_.copied(from);
  if (copied.parts.empty() || !contents_.is_unchanged(from, copied.since, context_.process.operators.end[op]))
    return {};
  return contents_.origin(copied.parts[0], context_.process.operators.begin[op]);
}

bool Repeats::add_filled(AllocationId buffer, const NameSet& filling, std::vector<Found>& found) const {
  const Process& p = context_.process;
  std::vector<View> origins;
  OperatorId last;
  Time begin = p.allocations.time[buffer];
  const OperatorId maker = context_.provenance.maker(buffer);
  for (const OperatorId op : context_.provenance.uses(buffer)) {
    if (!context_.provenance.writes(op, buffer)) continue;
    if (context_.provenance.called(op) == maker)
      continue;  // torch.zeros() fills the buffer, and the parts overwrite
                 // it
    if (!filling.has(p.operators.name[op]) || origins.size() == most_parts_) return false;
    const View part = written(op);
    if (!part.allocation || !part.layout) return false;
    origins.push_back(part);
    last = op;
  }
  if (origins.size() < 2) return false;
  const int64_t bytes = static_cast<int64_t>(origins.size()) * context_.text.layout_bytes[origins[0].layout].value;
  const AllocationId source = origins[0].allocation;
  if (!is_one_tensor(origins) || p.allocations.bytes[buffer] != Bytes{bytes} || source == buffer) return false;
  if (p.freed(buffer) <= p.operators.end[last]) return false;
  // The source must be older than the buffer, so that the content comes from nothing else. An optimizer step may change
  // a weight after the buffer's last use, because nothing reads the buffer then.
  if (p.allocations.time[source] > begin ||
      !contents_.is_unchanged(source, begin, context_.lifetimes.last_use(buffer))) {
    return false;
  }
  found.push_back({buffer, source, last, static_cast<uint32_t>(origins.size())});
  return true;
}

}  // namespace tapelens::check
