// Which operators are cheap enough to be run again, and what of each call has to be known for that.
#pragma once

#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <vector>

#include "profiler/rewrite/contents.h"
#include "rewrites/recompute/operators.h"

namespace tapelens::rewrite {

// One overload of an operator that rewrites/recompute/operators.h names.
struct CheapOperator {
  recompute::Cheap cheap;
  c10::OperatorHandle op;
  bool is_in_place = false;          // the first argument is made again and overwritten
  bool copies = false;               // its result may hold what its argument holds
  bool is_gelu = false;              // not boxable: its input comes from its node
  bool drops_running_stats = false;  // batch normalisation: a second update must not happen
};

// Null: not one of them. By schema name and overload: to be asked once for each.
const CheapOperator* cheap_operator(const at::RecordFunction& function);

// One call that is under way.
struct Call {
  const CheapOperator* op = nullptr;
  std::unique_ptr<Recipe> recipe;  // null: nothing of it can be known
};
Call begin_call(const CheapOperator& op, const at::RecordFunction& function);
// `is_outermost`: no other such call is around it.
void end_call(Call call, const at::RecordFunction& function, bool is_outermost);
// A product that the program calls: what the budget is a share of.
void count_product(recompute::Product product, const at::RecordFunction& function);

}  // namespace tapelens::rewrite
