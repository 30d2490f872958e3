// Finds tensors that a few cheap operators recompute from tensors that stay alive for another reason.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/check/content.h"
#include "analyzer/model/text.h"
#include "policy/recompute/operators.h"

namespace tapelens::check {

class Recipes {
 public:
  Recipes(const Context& context, const Contents& contents, uint32_t most_operators);

  // Call read() in the order of allocations: the sources of a tensor come before it.
  struct Recipe {
    uint32_t operators = 0;             // number in a row; 0: no recipe
    Time until;                         // its inputs exist unchanged until then
    OperatorId last;                    // the cheap operator that makes the tensor
    std::vector<AllocationId> sources;  // the inputs of the chain, which other holders keep
  };
  // Reads the allocation's history, and stores it for tensors that are made from it.
  Recipe read(AllocationId allocation);
  // Drops the saves of the allocation: tensors made from it must use its recipe.
  void drop(AllocationId allocation) { kept_until_[allocation.value] = context_.lifetimes.program_end(allocation).ns; }

 private:
  OperatorId cheap_maker(AllocationId allocation) const;
  // False: not alive long enough, or the result of an expensive operator.
  bool add_input(AllocationId input, Time since, Recipe& recipe) const;
  bool add_inputs_of(OperatorId op, AllocationId result, Recipe& recipe) const;
  Time kept_until(AllocationId allocation) const;

  const Context& context_;
  const Contents& contents_;
  const std::vector<recompute::Repeatable> cheap_;  // by StringId
  uint32_t most_;
  std::vector<int64_t> kept_until_, recipe_until_;  // by allocation
  std::vector<uint8_t> operators_;                  // by allocation: number of operators in its recipe
  std::vector<AllocationId> sources_;               // of all recipes in turn
  std::vector<size_t> sources_begin_;               // by allocation: the first source of its recipe
  std::vector<uint32_t> sources_count_;             // by allocation
};

// The operators of policy/recompute that may run again, by the names of a recording. By StringId. `with_costly`: as the
// level `recompute`.
inline std::vector<recompute::Repeatable> repeatable_operators(const model::Text& text, bool with_costly) {
  std::vector<recompute::Repeatable> all(text.string_begin.size());
  for (uint32_t id = 1; id + 1 < text.string_begin.size(); ++id) {
    const std::string_view name = text.string(model::StringId{id});
    all[id] = with_costly ? recompute::repeatable(name) : recompute::cheap(name);
  }
  return all;
}

}  // namespace tapelens::check
