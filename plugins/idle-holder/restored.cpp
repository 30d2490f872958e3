#include "plugins/idle-holder/restored.h"

#include <algorithm>

namespace tapelens::check {

Restored::Restored(const Context& context)
    : context_(context),
      contents_(context),
      views_(context.text, {"aten::set_", "aten::detach", "aten::detach_", "aten::alias", "aten::view", "aten::reshape",
                            "aten::as_strided", "aten::narrow", "aten::slice", "aten::select", "aten::t",
                            "aten::transpose", "aten::permute", "aten::squeeze", "aten::unsqueeze"}),
      is_of_restored_(context.text.frame_line.raw.size()) {
  for (const AllocationId allocation : context.allocations(Bytes{1})) {
    if (reads_of(allocation) != Reads::copies) continue;
    is_of_restored_[source_frame(context.text, place_of(context, allocation).stack).value] = true;
  }
}

bool Restored::has(AllocationId allocation) const {
  const Reads reads = reads_of(allocation);
  return reads == Reads::copies ||
         (reads == Reads::none &&
          is_of_restored_[source_frame(context_.text, place_of(context_, allocation).stack).value]);
}

Restored::Reads Restored::reads_of(AllocationId allocation) const {
  // A copy of a weight may be what a later run begins with again.
  const AllocationId source = context_.provenance.copy_of(allocation).source;
  if (contents_.has_role(allocation) || (source && contents_.has_role(source))) return Reads::other;
  const OperatorId maker = context_.provenance.maker(allocation);
  Reads reads = Reads::none;
  for (const OperatorId use : context_.provenance.uses(allocation)) {
    if (use == maker || views_.has(context_.process.operators.name[use])) continue;
    const bool is_copying = context_.provenance.name(use) == "copy_";
    if (is_copying && context_.provenance.writes(use, allocation)) continue;  // from the file
    if (!is_copying || !writes_state(use, allocation)) return Reads::other;
    reads = Reads::copies;
  }
  return reads;
}

bool Restored::writes_state(OperatorId op, AllocationId source) const {
  return std::ranges::any_of(context_.provenance.inputs(op), [&](uint32_t row) {
    const AllocationId input{row};
    return input && input != source && contents_.has_role(input) && context_.provenance.writes(op, input);
  });
}

}  // namespace tapelens::check
