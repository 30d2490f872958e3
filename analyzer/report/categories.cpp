#include "analyzer/report/categories.h"

#include "analyzer/peak/groups.h"

namespace tapelens::report {

using text::Paint;

Paint paint_of(peak::HolderKind kind) {
  switch (kind) {
    case peak::HolderKind::save:
      return Paint::cyan;
    case peak::HolderKind::parameter:
      return Paint::blue;
    case peak::HolderKind::gradient:
      return Paint::magenta;
    case peak::HolderKind::optimizer_state:
      return Paint::yellow;
    case peak::HolderKind::buffer:
      return Paint::blue;
    case peak::HolderKind::packed:
    case peak::HolderKind::checkpointing:
    case peak::HolderKind::context:
    case peak::HolderKind::recomputed:
      return Paint::cyan;
    case peak::HolderKind::communication:
      return Paint::yellow;
    case peak::HolderKind::op:
    case peak::HolderKind::allocator:
      return Paint::green;
    case peak::HolderKind::unknown:
      return Paint::blue;
    case peak::HolderKind::program:
      break;
  }
  return Paint::red;
}

std::string group_text(const std::string& key) {
  for (size_t i = 0; i < peak::kHolderKinds; ++i) {
    const auto kind = static_cast<peak::HolderKind>(i);
    if (key == peak::category_name(kind)) return label(kind);
  }
  return key;
}

}  // namespace tapelens::report
