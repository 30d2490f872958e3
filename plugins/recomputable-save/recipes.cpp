#include "plugins/recomputable-save/recipes.h"

#include <algorithm>
#include <span>

namespace tapelens::check {

namespace {

// Scalars and vectors of means: their memory is negligible.
bool is_small_beside(Bytes input, Bytes result) { return input.value <= 4096 || input.value * 256 < result.value; }

}  // namespace

Recipes::Recipes(const Context& context, const Contents& contents, uint32_t most_operators)
    : context_(context),
      contents_(contents),
      cheap_(repeatable_operators(context.text, false)),
      most_(std::min<uint32_t>(most_operators, 100)),
      kept_until_(size_t{context.process.allocations.rows()} + 1, -1),
      recipe_until_(kept_until_.size(), -1),
      operators_(kept_until_.size(), 0),
      sources_begin_(kept_until_.size(), 0),
      sources_count_(kept_until_.size(), 0) {}

OperatorId Recipes::cheap_maker(AllocationId allocation) const {
  const Operators& o = context_.process.operators;
  const OperatorId outermost = context_.provenance.maker(allocation);
  for (OperatorId op = context_.process.allocations.op[allocation]; op; op = o.parent[op]) {
    if (cheap_[o.name[op].value]) return context_.process.freed(allocation) > o.end[op] ? op : OperatorId{};
    if (op == outermost) break;
  }
  return {};
}

Time Recipes::kept_until(AllocationId allocation) const {
  if (const int64_t known = kept_until_[allocation.value]; known >= 0) return Time{known};
  if (contents_.has_role(allocation)) return context_.process.freed(allocation);
  return std::max(context_.lifetimes.program_end(allocation), last_release(context_, allocation));
}

bool Recipes::add_input(AllocationId input, Time since, Recipe& recipe) const {
  const Time kept = kept_until(input), made{recipe_until_[input.value]};
  const uint32_t operators = operators_[input.value];
  const bool can_be_made = operators != 0 && made > kept && operators < most_;
  // A tensor that is freed before the backward begins is useless, but its recipe may be useful.
  Time until = can_be_made ? made : kept;
  if (!can_be_made && kept <= since) return false;
  until = contents_.first_write(input, since, until);
  recipe.until = std::min(recipe.until, until);
  recipe.operators = std::max(recipe.operators, can_be_made ? operators + 1 : 1);
  if (can_be_made) {
    const auto of_input = std::span(sources_).subspan(sources_begin_[input.value], sources_count_[input.value]);
    recipe.sources.insert(recipe.sources.end(), of_input.begin(), of_input.end());
  } else {
    recipe.sources.push_back(input);
  }
  return true;
}

bool Recipes::add_inputs_of(OperatorId op, AllocationId result, Recipe& recipe) const {
  const Process& p = context_.process;
  const Time since = p.operators.end[op];
  const Bytes bytes = p.allocations.bytes[result];
  bool any = false;
  const auto add = [&](AllocationId input) {
    if (!input || input == result) return true;
    any = true;
    return is_small_beside(p.allocations.bytes[input], bytes) || add_input(input, since, recipe);
  };
  const auto inputs = context_.provenance.inputs(op);
  for (const uint32_t input : inputs) {
    if (!add(AllocationId{input})) return false;
  }
  const bool is_dropout = context_.text.string(p.operators.name[op]) == "aten::native_dropout";
  if (inputs.empty() || is_dropout) {
    // Operators whose arguments cannot be recorded (gelu) have no inputs in the recording; the saves of their node are
    // their inputs. A dropout also needs the mask to be recomputed.
    for (const NodeId node : context_.provenance.nodes(op)) {
      for (const SaveId save : saves_of(context_, node)) {
        if (!add(p.saves.allocation[save])) return false;
      }
    }
  }
  return any;
}

Recipes::Recipe Recipes::read(AllocationId allocation) {
  const Process& p = context_.process;
  const OperatorId maker = cheap_maker(allocation);
  if (!maker) return {};
  Recipe recipe{1, kNever, maker, {}};
  if (!add_inputs_of(maker, allocation, recipe)) return {};
  // In-place operators changed the content further (ReLU over a normalisation's result). They must be cheap as well.
  for (const OperatorId op : context_.provenance.uses(allocation)) {
    if (p.operators.begin[op] < p.operators.end[maker] || !context_.provenance.writes(op, allocation)) continue;
    if (!cheap_[p.operators.name[op].value]) return {};
    // Without other inputs the recipe needs no more memory.
    const bool has_others = std::ranges::any_of(
        context_.provenance.inputs(op), [&](uint32_t input) { return input != 0 && input != allocation.value; });
    if (has_others && !add_inputs_of(op, allocation, recipe)) return {};
    ++recipe.operators;
    recipe.last = op;
  }
  if (recipe.operators > most_) return {};
  std::ranges::sort(recipe.sources);
  recipe.sources.erase(std::ranges::unique(recipe.sources).begin(), recipe.sources.end());
  recipe_until_[allocation.value] = recipe.until.ns;
  operators_[allocation.value] = static_cast<uint8_t>(recipe.operators);
  sources_begin_[allocation.value] = sources_.size();
  sources_.insert(sources_.end(), recipe.sources.begin(), recipe.sources.end());
  sources_count_[allocation.value] = static_cast<uint32_t>(recipe.sources.size());
  return recipe;
}

}  // namespace tapelens::check
