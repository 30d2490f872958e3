// Which operators are cheap enough to be run again, and what of each call has to be known for that.
#pragma once

#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <vector>

#include "profiler/rewrite/contents.h"

namespace tapelens::rewrite {

// One overload of a deterministic operator that costs a pass over memory or two.
struct CheapOperator {
  std::string name;  // "aten::relu_"
  c10::OperatorHandle op;
  bool is_in_place = false;         // the first argument is made again and overwritten
  bool copies = false;              // its result may hold what its argument holds
  bool is_gelu = false;             // not boxable: its input comes from its node
  bool drops_running_stats = false;  // batch normalisation: a second update must not happen
};

// Null: not one of them. By schema name and overload: to be asked once for each.
const CheapOperator* cheap_operator(const at::RecordFunction& function);

// One call that is under way.
struct Call {
  const CheapOperator* op = nullptr;
  std::unique_ptr<Recipe> recipe;  // null: nothing of it can be known
  uint64_t begun = 0;              // ns
};
Call begin_call(const CheapOperator& op, const at::RecordFunction& function);
void end_call(Call call, const at::RecordFunction& function);

}  // namespace tapelens::rewrite
