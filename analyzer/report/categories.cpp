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

const char* label(peak::HolderKind kind) {
  switch (kind) {
    case peak::HolderKind::save:
      return "saved for backward";
    case peak::HolderKind::parameter:
      return "parameters";
    case peak::HolderKind::gradient:
      return "gradients";
    case peak::HolderKind::optimizer_state:
      return "optimizer state";
    case peak::HolderKind::buffer:
      return "buffers";
    case peak::HolderKind::packed:
      return "packed by a hook";
    case peak::HolderKind::checkpointing:
      return "kept by checkpointing";
    case peak::HolderKind::context:
      return "kept on ctx";
    case peak::HolderKind::recomputed:
      return "recomputed in backward";
    case peak::HolderKind::communication:
      return "communication";
    case peak::HolderKind::op:
      return "operator temporaries";
    case peak::HolderKind::allocator:
      return "freed, waits for a stream";
    case peak::HolderKind::unknown:
      return "holder not known";
    case peak::HolderKind::program:
      break;
  }
  return "other live tensors";
}

std::string group_text(const std::string& key) {
  for (size_t i = 0; i < peak::kHolderKinds; ++i) {
    const auto kind = static_cast<peak::HolderKind>(i);
    if (key == peak::category_name(kind)) return label(kind);
  }
  return key;
}

}  // namespace tapelens::report
