// The columns for the source location, in every table that has one.
#pragma once

#include "analyzer/model/text.h"
#include "analyzer/peak/groups.h"
#include "analyzer/tables/table.h"

namespace tapelens::tables {

// Adds "train.py:42 forward" of the frame that reports show for the stack, and the ids of the frame and the stack.
template <class Key, class StackOf>
void add_source(Declare<Key>& t, StackOf stack_of) {
  const auto frame_of = [stack_of](const Part& p, Key key) { return source_frame(p.text(), stack_of(p, key)); };
  t.named("source", frame_of, [](const Part& p, FrameId frame) { return peak::frame_text(p.text(), frame); });
  t.column("frame", frame_of);
  t.column("stack", stack_of);
}

inline const char* role_name(Role role) {
  switch (role) {
    case Role::parameter:
      return "parameter";
    case Role::buffer:
      return "buffer";
    case Role::gradient:
      return "gradient";
    case Role::optimizer_state:
      return "optimizer_state";
    case Role::none:
      break;
  }
  return "";
}

}  // namespace tapelens::tables
