#include "plugins/recomputable-save/recomputed.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "plugins/loss-rows/losses.h"
#include "plugins/recomputable-save/recipes.h"
#include "plugins/recomputable-save/rule.h"
#include "trace/record.h"

namespace tapelens::check {

namespace {

Bytes small(const Context& context) {
  return std::min(Bytes{static_cast<int64_t>(recompute::kSmall)}, context.applied->min_bytes());
}

uint64_t number(Bytes bytes) { return static_cast<uint64_t>(std::max<int64_t>(bytes.value, 0)); }

}  // namespace

Recomputed::Recomputed(const Context& context)
    : context_(context),
      contents_(context),
      narrow_(context),
      unneeded_(context),
      gelu_(context.text, {"aten::gelu"}),
      dropout_(context.text, {"aten::native_dropout"}),
      copies_(context.text, {"aten::clone", "aten::_to_copy"}),
      machine_(context.is_on_cuda() ? recompute::Machine::gpu : recompute::Machine::cpu),
      repeatable_(repeatable_operators(context.text, context.applied->repeats_costly())),
      budget_(context.applied->recompute_budget()) {
  const Process& p = context.process;
  for (const LossByRows& loss : losses_by_rows(context)) {
    unmade_.insert(loss.never_made.begin(), loss.never_made.end());
    by_rows_.insert({loss.input, loss.result});
  }
  trained_.insert(p.nodes.parameter.raw.begin(), p.nodes.parameter.raw.end());
  for (const OperatorId op : p.operators.ids()) {
    if (context.provenance.called(op) == op) asked_.push_back(p.operators.begin[op].ns);
  }
  if (!std::ranges::is_sorted(asked_)) std::ranges::sort(asked_);
  const auto operators = static_cast<std::ptrdiff_t>(asked_.size());
  for (const Interval& backward : merged(p.backwards)) {
    backwards_.push_back(backward);
    asked_.push_back(backward.begin.ns);
    if (backward.end == kNever) continue;
    backward_ends_.push_back(backward.end.ns);
    asked_.push_back(backward.end.ns);
  }
  std::ranges::inplace_merge(asked_, asked_.begin() + operators);  // merged backwards are in order
}

// ---- recipes

OperatorId Recomputed::repeatable_maker(AllocationId allocation) const {
  const Operators& o = context_.process.operators;
  const OperatorId called = context_.provenance.maker(allocation);
  OperatorId found;
  for (OperatorId op = context_.process.allocations.op[allocation]; op; op = o.parent[op]) {
    // An operator that writes its input makes no new content. If it keeps a copy of that input, the copying operator
    // made it.
    const bool makes = repeatable_[o.name[op].value] && o.written[op] == 0;
    if (makes && context_.process.freed(allocation) > o.end[op]) found = op;
    if (op == called) break;
  }
  return found;
}

// Whether the operator's first input is all of the storage. The probe records the view only if it is a part.
bool Recomputed::is_whole(OperatorId op, AllocationId allocation) const {
  const auto layouts = context_.provenance.input_layouts(op);
  return layouts.empty() || (layouts[0] != 0 && context_.text.layout_bytes[LayoutId{layouts[0]}] ==
                                                    context_.process.allocations.bytes[allocation]);
}

std::optional<Recomputed::Recipe> Recomputed::recipe_of(OperatorId op, AllocationId result, bool is_in_place) const {
  const Process& p = context_.process;
  if (p.allocations.bytes[result] < context_.applied->min_bytes()) return std::nullopt;
  const Time begin = p.operators.begin[op];
  Recipe recipe{.op = op, .is_in_place = is_in_place};
  const auto add = [&](AllocationId input) {
    if (!input) return;
    if (p.allocations.bytes[input] < small(context_)) {
      recipe.small.push_back(input);
    } else {
      recipe.sources.push_back({input, version_at(input, begin)});
    }
  };
  if (gelu_.has(p.operators.name[op])) {
    // The arguments cannot be recorded, but its node saved the inputs.
    for (const NodeId node : context_.provenance.nodes(op)) {
      for (const SaveId save : saves_of(context_, node)) add(p.saves.allocation[save]);
    }
    if (recipe.sources.empty() && recipe.small.empty()) return std::nullopt;
    return recipe;
  }
  const auto inputs = context_.provenance.inputs(op);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const AllocationId input{inputs[i]};
    if (input == result && !(is_in_place && i == 0)) return std::nullopt;
    add(input);
  }
  if (dropout_.has(p.operators.name[op])) {
    // The mask of the dropout, if its node saved the mask. Otherwise the mask is unknown.
    const size_t before = recipe.sources.size() + recipe.small.size();
    for (const NodeId node : context_.provenance.nodes(op)) {
      for (const SaveId save : saves_of(context_, node)) {
        if (p.saves.allocation[save] == result) return std::nullopt;  // the mask itself cannot be recomputed
        add(p.saves.allocation[save]);
      }
    }
    if (recipe.sources.size() + recipe.small.size() == before) return std::nullopt;
  }
  // An in-place operator on a part of a tensor does not recompute the rest.
  if (is_in_place && !is_whole(op, result)) return std::nullopt;
  if (inputs.empty() || (is_in_place && (recipe.sources.empty() || recipe.sources.front().allocation != result))) {
    return std::nullopt;
  }
  return recipe;
}

// A copy of a live tensor, or an earlier live result of the same cast of the same tensor.
std::optional<Recomputed::Recipe> Recomputed::made_as(AllocationId allocation, OperatorId maker) {
  const Process& p = context_.process;
  const auto inputs = context_.provenance.inputs(maker);
  const auto layouts = context_.provenance.input_layouts(maker);
  if (!copies_.has(p.operators.name[maker]) || inputs.size() != 1 || layouts.size() != 1 || layouts[0] == 0)
    return std::nullopt;
  const AllocationId source{inputs[0]};
  if (!source || p.allocations.bytes[source] < small(context_)) return std::nullopt;
  const Version version{source, version_at(source, p.operators.begin[maker])};
  const auto same_as = [&](Version known) { return Recipe{.op = maker, .is_same = true, .sources = {known}}; };
  const Bytes bytes = p.allocations.bytes[allocation];
  if (p.allocations.bytes[source] == bytes) {
    const Copied copied = contents_.copied(allocation);
    if (copied.op == maker && copied.parts.size() == 1 && copied.parts[0].offset == 0 &&
        contents_.has_source_layout(allocation, copied)) {
      return same_as(version);
    }
  }
  const uint64_t offset = context_.provenance.input_offsets(maker)[0];
  std::vector<Cast>& casts = casts_[{version, LayoutId{layouts[0]}}];
  const Time now = p.operators.end[maker];
  // Later allocations never ask for these. A frozen weight may be cast in every step.
  std::erase_if(casts, [&](const Cast& cast) { return cast.until <= p.allocations.time[allocation]; });
  for (const Cast& cast : casts) {
    const Version before{cast.made, version_at(cast.made, now)};
    if (cast.offset != offset || before.number != 0 || p.allocations.bytes[cast.made] != bytes ||
        p.operators.name[cast.op] != p.operators.name[maker]) {
      continue;
    }
    if (is_alive(before, now) || has_holds(before, now)) return same_as(before);
  }
  Time until = context_.lifetimes.program_end(allocation);
  for (const SaveId save : context_.provenance.saves(allocation)) until = std::max(until, p.saves.released[save]);
  casts.push_back({allocation, maker, offset, until});
  return std::nullopt;
}

const Recomputed::History& Recomputed::history(AllocationId allocation) const {
  return histories_[history_of_[allocation.value]];
}

uint32_t Recomputed::version_at(AllocationId allocation, Time time) const {
  const auto& writes = history(allocation).writes;
  return static_cast<uint32_t>(std::ranges::lower_bound(writes, time) - writes.begin());
}

// Whether an operator that began before this time made the version.
bool Recomputed::is_made_before(const Version& version, Time begin) const {
  const Operators& o = context_.process.operators;
  const History& history = this->history(version.allocation);
  if (version.number > 0) return history.writes[version.number - 1] < begin;
  return !history.maker || o.begin[history.maker] < begin;
}

// Whether the operator made the version, and cannot make it again: the mask of a dropout.
bool Recomputed::is_kept_result(const Version& version, OperatorId op) const {
  return version.number == 0 && history(version.allocation).maker == op && !recipe_of(op, version.allocation, false);
}

// Sources are made earlier or not made again, so that no recipe leads back to itself. A forged recording can have
// others.
std::optional<Recomputed::Recipe> Recomputed::in_order(std::optional<Recipe> recipe) const {
  const auto is_earlier = [&](const Version& source) {
    return is_made_before(source, context_.process.operators.begin[recipe->op]) || is_kept_result(source, recipe->op);
  };
  return recipe && std::ranges::all_of(recipe->sources, is_earlier) ? std::move(recipe) : std::nullopt;
}

// Runs for all allocations before any recipe: an in-place operator may read a later allocation.
void Recomputed::read_writes(AllocationId allocation) {
  const Operators& o = context_.process.operators;
  history_of_[allocation.value] = static_cast<uint32_t>(histories_.size());
  History& history = histories_.emplace_back();
  history.maker = repeatable_maker(allocation);
  const OperatorId made = history.maker ? history.maker : context_.process.allocations.op[allocation];
  Time done = made ? o.end[made] : context_.process.allocations.time[allocation];
  for (const OperatorId op : context_.provenance.writers(allocation)) {
    if (o.begin[op] < done) continue;  // inside an operator that counts
    history.writes.push_back(o.begin[op]);
    history.writers.push_back(op);
    if (repeatable_[o.name[op].value]) done = o.end[op];
  }
}

// Runs in the order of allocations, so that earlier results of the same cast are known.
void Recomputed::read_recipes(AllocationId allocation) {
  const Process& p = context_.process;
  const Operators& o = p.operators;
  const auto ran = [&](OperatorId op) {
    if (p.allocations.bytes[allocation] < context_.applied->min_bytes() || is_in_backward(op)) return;
    for (OperatorId outer = o.parent[op]; outer; outer = o.parent[outer]) {
      if (repeatable_[o.name[outer].value]) return;  // the outer operator counts
    }
    const recompute::Repeatable& made_by = repeatable_[o.name[op].value];
    ran_.push_back({o.end[op], recompute::cost(made_by, number(p.allocations.bytes[allocation]), machine_)});
  };
  History& history = histories_[history_of_[allocation.value]];
  std::optional<Recipe> first;
  if (history.maker) {
    // The host counts and repeats an operator for its first output.
    AllocationId& output = first_[history.maker.value];
    const bool is_first = !output || output == allocation;
    output = is_first ? allocation : output;
    if (is_first) ran(history.maker);
    if (is_first || !repeatable_[o.name[history.maker].value].is_costly)
      first = recipe_of(history.maker, allocation, false);
  }
  if (first) {
    if (auto same = made_as(allocation, history.maker)) first = std::move(same);
  }
  history.recipes.push_back(in_order(std::move(first)));
  for (const OperatorId op : history.writers) {
    const bool may_repeat = bool{repeatable_[o.name[op].value]};
    history.recipes.push_back(may_repeat ? in_order(recipe_of(op, allocation, true)) : std::nullopt);
    if (may_repeat && is_whole(op, allocation)) ran(op);
  }
}

// The engine's own operators, which add gradients, belong to no evaluation.
bool Recomputed::is_in_backward(OperatorId op) const {
  const Operators& o = context_.process.operators;
  if (o.evaluation[op]) return true;
  const auto after = std::ranges::upper_bound(backwards_, o.begin[op], {}, &Interval::begin);
  return after != backwards_.begin() && std::prev(after)->contains(o.begin[op]);
}

uint64_t Recomputed::product_cost(OperatorId op, recompute::Product product) const {
  std::array<std::vector<int64_t>, 3> sizes;
  std::array<std::span<const int64_t>, 3> views;
  const auto layouts = context_.provenance.input_layouts(op);
  const size_t count = std::min(layouts.size(), sizes.size());
  for (size_t i = 0; i < count; ++i) {
    for (const uint64_t size : context_.text.sizes(LayoutId{layouts[i]}))
      sizes[i].push_back(static_cast<int64_t>(size));
    views[i] = sizes[i];
  }
  recompute::Factors factors{.sizes = std::span(views).first(count), .machine = machine_};
  if (count != 0) factors.element_bytes = context_.text.layout_element_bytes[LayoutId{layouts[0]}];
  return recompute::cost(product, factors);
}

// Finds the cost of products: with that of the cheap operators, the cost of a forward.
void Recomputed::read_products() {
  const Operators& o = context_.process.operators;
  std::vector<recompute::Product> products(context_.text.string_begin.size());
  for (uint32_t id = 1; id + 1 < context_.text.string_begin.size(); ++id) {
    products[id] = recompute::product(context_.text.string(StringId{id}));
  }
  for (uint32_t row = 1; row <= o.rows(); ++row) {
    const OperatorId op{row};
    const recompute::Product product = products[o.name[op].value];
    if (product == recompute::Product::none || is_in_backward(op)) continue;
    ran_.push_back({o.end[op], product_cost(op, product)});
  }
  std::ranges::sort(ran_, {}, &Ran::when);
}

const Recomputed::Recipe* Recomputed::recipe(const Version& version) const {
  const auto& recipes = history(version.allocation).recipes;
  if (version.number >= recipes.size()) return nullptr;
  const auto& found = recipes[version.number];
  return found ? &*found : nullptr;
}

recompute::Repeatable Recomputed::maker(const Version& version) const {
  const Recipe& recipe = *this->recipe(version);
  return recipe.is_same ? recompute::Repeatable{} : repeatable_[context_.process.operators.name[recipe.op].value];
}

bool Recomputed::is_kept_once_made(const Version& version) const {
  const auto released = recomputed_.find(version.allocation.value);
  return released != recomputed_.end() && released->second == version.number;
}

Bytes Recomputed::small_bytes(const Recipe& recipe) const {
  Bytes bytes{};
  for (const AllocationId source : recipe.small) bytes += context_.process.allocations.bytes[source];
  return bytes;
}

bool Recomputed::has_small_sources(const Version& version, Time at) const {
  if (const auto known = counted_.find(version); known != counted_.end() && known->second.is_secured) return true;
  const Recipe& how = *recipe(version);
  const Time read = context_.process.operators.end[how.op];
  return std::ranges::none_of(how.small,
                              [&](AllocationId source) { return contents_.first_write(source, read, at) < at; });
}

// ---- live versions

bool Recomputed::is_unneeded(SaveId save) const {
  if (by_rows_.contains(save)) return true;
  return unneeded_.of(save) != nullptr && context_.applied->takes(plugins::unneeded_save::kRewrite.id, save);
}

bool Recomputed::is_held(SaveId save, bool has_recipe) const {
  const Process& p = context_.process;
  if ((p.nodes.flags[p.saves.node[save]] & trace::kNodeIsCustom) != 0) return false;
  return has_recipe || narrow_.of(save).has_value();
}

bool Recomputed::is_kept_anyway(AllocationId allocation, Time at) const {
  const Process& p = context_.process;
  const auto uses = context_.provenance.uses(allocation);
  const auto saves = context_.provenance.saves(allocation);
  Time first = kNever;
  if (!uses.empty()) first = p.operators.begin[uses.front()];
  if (!saves.empty()) first = std::min(first, p.saves.time[saves.front()]);
  if (first > at) return false;
  if (trained_.contains(allocation.value)) return true;
  // It stays alive through a backward.
  const auto ended = std::ranges::lower_bound(backward_ends_, first.ns);
  if (ended != backward_ends_.end() && *ended <= at.ns) return true;
  const bool has_recipe = recipe({allocation, version_at(allocation, at)}) != nullptr;
  return std::ranges::any_of(
      saves, [&](SaveId save) { return p.saves.time[save] <= at && !is_unneeded(save) && !is_held(save, has_recipe); });
}

bool Recomputed::is_alive(const Version& version, Time at) const {
  const Process& p = context_.process;
  if (gone_.contains(version.allocation.value) || version_at(version.allocation, at) != version.number) return false;
  if (p.allocations.time[version.allocation] > at) return false;
  if (context_.lifetimes.program_end(version.allocation) > at) return true;
  return std::ranges::any_of(context_.provenance.saves(version.allocation), [&](SaveId save) {
    return p.saves.time[save] <= at && at < p.saves.released[save] && !is_unneeded(save);
  });
}

bool Recomputed::has_holds(const Version& version, Time at) const {
  const Process& p = context_.process;
  const bool has_recipe = recipe(version) != nullptr;
  return std::ranges::any_of(context_.provenance.saves(version.allocation), [&](SaveId save) {
    return p.saves.time[save] <= at && at < p.saves.released[save] && !is_unneeded(save) && is_held(save, has_recipe);
  });
}

bool Recomputed::is_there(const Version& version, Time at) const {
  if (const auto known = counted_.find(version); known != counted_.end() && known->second.is_there(at)) return true;
  return is_alive(version, at) && (is_kept_anyway(version.allocation, at) || has_holds(version, at));
}

// The versions of a recording at one moment, in the form that recompute::can_be_made() reads.
struct Recomputed::View {
  const Recomputed& recomputed;
  Time at;

  uint64_t bytes(const Version& version) const {
    return number(recomputed.context_.process.allocations.bytes[version.allocation]);
  }
  bool is_encoded(const Version& version) const {
    const auto gone = recomputed.gone_.find(version.allocation.value);
    return gone != recomputed.gone_.end() && gone->second == Gone::exact;
  }
  bool has_recipe(const Version& version) const { return recomputed.recipe(version) != nullptr; }
  recompute::Repeatable maker(const Version& version) const { return recomputed.maker(version); }
  uint64_t cost(const Version& version) const {
    const recompute::Repeatable maker = recomputed.maker(version);
    return maker.product != recompute::Product::none
               ? recomputed.product_cost(recomputed.recipe(version)->op, maker.product)
               : recompute::cost(maker, bytes(version), recomputed.machine_);
  }
  bool is_kept_once_made(const Version& version) const { return recomputed.is_kept_once_made(version); }
  bool is_there(const Version& version) const { return recomputed.is_there(version, at); }
  template <class Follow>
  bool all_sources(const Version& version, Follow follow) const {
    return recomputed.has_small_sources(version, at) &&
           std::ranges::all_of(recomputed.recipe(version)->sources, follow);
  }
};

// ---- releases

// The host settles waiting allocations when the program calls an operator, and around backwards.
Time Recomputed::asked_at(AllocationId allocation) const {
  const Time end = context_.lifetimes.program_end(allocation);
  const auto asked = std::ranges::lower_bound(asked_, end.ns);
  return asked != asked_.end() ? Time{*asked} : end;
}

// The pinned versions at one moment, in the form that recompute::pin_source() reads.
struct Recomputed::Pinning {
  Recomputed& recomputed;
  Time at, until;

  void depend(const Version& source, uint64_t bytes, uint32_t operators) const {
    Counted& counted = recomputed.counted_[source];
    counted.dependents.add(bytes, operators);
    const Time written = recomputed.written(source);
    if (at <= written && written < until && !recomputed.gone_.contains(source.allocation.value))
      counted.copied = written;
  }
  bool is_certain(const Version& source) const {
    return recomputed.counted_[source].is_there(at) || recomputed.gone_.contains(source.allocation.value);
  }
  bool is_alive(const Version& source) const { return recomputed.is_alive(source, at); }
  bool is_held_by_program(const Version& source) const { return recomputed.is_kept_anyway(source.allocation, at); }
  bool has_hooks(const Version& source) const { return recomputed.has_holds(source, at); }
  bool pin(const Version& source) const { return recomputed.counted_[source].is_held = true; }
  bool pin_sources(const Version& source, uint32_t operators, uint64_t&) const {
    recomputed.secure(source, operators, at, until);
    return true;
  }
};

Time Recomputed::written(const Version& version) const {
  const auto& writes = history(version.allocation).writes;
  return version.number < writes.size() ? writes[version.number] : kNever;
}

void Recomputed::secure(const Version& version, uint32_t operators, Time at, Time until) {
  const Recipe* how = recipe(version);
  if (how == nullptr || std::exchange(counted_[version].is_secured, true)) return;
  const Pinning pinning{*this, at, until};
  uint64_t copied = 0;  // part of Found::small, for all recomputed versions
  for (const Version& source : how->sources)
    recompute::pin_source(pinning, source, number(context_.process.allocations.bytes[version.allocation]), operators,
                          copied);
}

void Recomputed::settle(AllocationId allocation, Time at, std::vector<Found>& found) {
  const Process& p = context_.process;
  const Version version{allocation, version_at(allocation, at)};
  const Recipe* how = recipe(version);
  std::vector<SaveId> held;
  bool is_narrow = true, is_exact = false, may_encode = false, may_recompute = false;
  Bytes narrow{};
  for (const SaveId save : context_.provenance.saves(allocation)) {
    if (is_unneeded(save)) continue;
    if (!is_held(save, how != nullptr)) return;
    held.push_back(save);
    may_recompute = may_recompute || context_.applied->takes(plugins::recomputable_save::kRewrite.id, save);
    if (const auto form = narrow_.of(save)) {
      narrow += form->bytes;
      is_exact = is_exact || (form->is_exact && p.saves.offset[save] == 0);
      may_encode = may_encode || context_.applied->takes(plugins::wide_save::kRewrite.id, save);
    } else {
      is_narrow = false;
    }
  }
  if (held.empty()) return;
  const uint64_t bytes = number(p.allocations.bytes[allocation]);
  const recompute::Dependents dependents = counted_[version].dependents;
  const auto chain = recompute::chain_of(View{*this, at}, version, dependents);
  if (is_narrow && may_encode && narrow < p.allocations.bytes[allocation]) {
    // A version that recipes read must be restored exactly.
    if (dependents.count > 0 && !is_exact) {
      if (!chain) return;
      secure(version, recompute::operators_from(*chain, dependents), at, last_release(context_, allocation));
    }
    gone_.emplace(allocation.value, is_exact ? Gone::exact : Gone::masked);
    return;
  }
  if (!may_recompute || !chain) return;
  const StringId node_op = p.operators.name[p.nodes.op[p.saves.node[held.front()]]];
  const uint64_t candidate = recompute::candidate_of(*chain, context_.text.string(node_op));
  if (!budget_allows(candidate, bytes, recompute::cost_of(*chain, dependents), at)) return;
  secure(version, recompute::operators_from(*chain, dependents), at, last_release(context_, allocation));
  gone_.emplace(allocation.value, Gone::recomputed);
  recomputed_.emplace(allocation.value, version.number);
  found.push_back({.allocation = allocation,
                   .saves = std::move(held),
                   .last = how->op,
                   .operators = chain->operators,
                   .sources = {}});
}

bool Recomputed::budget_allows(uint64_t candidate, uint64_t bytes, uint64_t cost, Time at) {
  for (; backwards_done_ < backward_ends_.size() && backward_ends_[backwards_done_] < at.ns; ++backwards_done_) {
    for (; next_ran_ < ran_.size() && ran_[next_ran_].when.ns < backward_ends_[backwards_done_]; ++next_ran_) {
      budget_.ran(ran_[next_ran_].cost);
    }
    budget_.backward_ended();
  }
  return budget_.allows(candidate, bytes, cost);
}

// Whether a version that is not released exists in the backward: through a save, or through a clone of it.
bool Recomputed::is_there_later(const Version& version) const {
  if (const auto counted = counted_.find(version); counted != counted_.end() && counted->second.is_held) return true;
  if (recipe(version) == nullptr) return true;
  return std::ranges::any_of(context_.provenance.saves(version.allocation), [&](SaveId save) {
    return !is_unneeded(save) && version_at(version.allocation, context_.process.saves.time[save]) == version.number;
  });
}

// The values are alive from the first to the last evaluation of a node that saved them.
void Recomputed::read_again(std::vector<Found>& found) const {
  const Process& p = context_.process;
  const std::vector<EvaluationId> evaluations = last_evaluations(p);
  for (Found& one : found) {
    for (const SaveId save : one.saves) {
      const EvaluationId evaluation = evaluations[p.saves.node[save].value];
      if (!evaluation) continue;
      one.again.begin = std::min(one.again.begin, p.evaluations.begin[evaluation]);
      one.again.end = std::max(one.again.end, p.evaluations.end[evaluation]);
    }
  }
}

void Recomputed::count(const Version& version, Found& found, Time at) const {
  const auto& operators = context_.process.operators;
  const OperatorId op = recipe(version)->op;
  found.cost += View{*this, at}.cost(version);
  found.duration.ns += operators.end[op].ns - operators.begin[op].ns;
}

uint64_t Recomputed::cost_of_steps() const {
  uint64_t forward = 0;
  for (const Ran& ran : ran_) forward += ran.cost;
  return recompute::kForwardsOfStep * forward;
}

Recomputed::Made Recomputed::make(const Version& version, Found& found, bool is_own, Time at) {
  const Process& p = context_.process;
  const Bytes bytes = p.allocations.bytes[version.allocation];
  const auto kept = is_kept_once_made(version) ? kept_.find(version.allocation.value) : kept_.end();
  if (!is_own && kept != kept_.end() && kept->second->again.begin < at && at < kept->second->again.end)
    return {};  // it was made before, and is still there
  if (const auto counted = counted_.find(version); !is_own && counted != counted_.end()) {
    if (counted->second.copied != kNever) {
      if (!std::exchange(counted->second.is_copy_told, true)) found.copies.push_back({counted->second.copied, bytes});
      return {};
    }
  }
  const auto gone = gone_.find(version.allocation.value);
  if (!is_own && gone == gone_.end() && is_there_later(version)) {
    found.sources.push_back(version.allocation);
    return {};
  }
  if (gone != gone_.end() && gone->second == Gone::exact) return {bytes, bytes};
  const Recipe* how = recipe(version);
  if (how == nullptr) return {};
  if (!how->is_same) count(version, found, at);
  bool is_costly = maker(version).is_costly;
  // A chain that was released by itself has its own copies of small sources.
  if (is_own || gone == gone_.end()) found.small += small_bytes(*how);
  Bytes live{}, most{};
  bool is_ours = how->is_same;
  for (size_t i = 0; i < how->sources.size(); ++i) {
    const Made made = make(how->sources[i], found, false, at);
    is_costly = is_costly || made.is_costly;
    most = std::max(most, live + made.most);
    live += made.own;
    if (i == 0 && how->is_in_place && made.own > Bytes{}) is_ours = true;
  }
  if (!is_ours) most = std::max(most, live + bytes);
  most = std::max(most, bytes);
  if (!is_own && is_costly && kept != kept_.end() && at < kept->second->again.end) {
    kept->second->again.begin = at;  // its own bytes count from now on
    return {Bytes{}, most - bytes, true};
  }
  return {bytes, most, is_costly};
}

std::vector<Recomputed::Found> Recomputed::all() {
  const Process& p = context_.process;
  struct Waiting {
    AllocationId allocation;
    Time at, since;
  };
  std::vector<Waiting> order;
  const auto is_followed = [&](AllocationId allocation) {
    return p.allocations.bytes[allocation] >= small(context_) && !unmade_.contains(allocation);
  };
  const auto followed = static_cast<size_t>(std::ranges::count_if(p.allocations.ids(), is_followed));
  history_of_.resize(p.allocations.rows() + 1);
  histories_.reserve(1 + followed);
  histories_.emplace_back();
  first_.resize(p.operators.rows() + 1);
  for (const AllocationId allocation : p.allocations.ids()) {
    if (is_followed(allocation)) read_writes(allocation);
  }
  for (const AllocationId allocation : p.allocations.ids()) {
    if (is_followed(allocation)) read_recipes(allocation);
    if (p.allocations.device[allocation] != context_.device || contents_.has_role(allocation) ||
        p.allocations.bytes[allocation] < context_.applied->min_bytes()) {
      continue;
    }
    const Interval kept = kept_by_saves(context_, allocation);
    if (kept.begin >= kept.end) continue;
    order.push_back({allocation, asked_at(allocation), p.saves.time[context_.provenance.saves(allocation).front()]});
  }
  read_products();
  // Among versions that the host finds at one moment, the newest come first.
  std::ranges::stable_sort(
      order, [](const Waiting& a, const Waiting& b) { return a.at != b.at ? a.at < b.at : a.since > b.since; });
  std::vector<Found> found;
  for (const Waiting& waiting : order) settle(waiting.allocation, waiting.at, found);
  read_again(found);
  std::vector<std::pair<Time, Found*>> asked;
  for (Found& one : found) {
    asked.emplace_back(one.again.begin, &one);
    if (one.again.begin < one.again.end) kept_.emplace(one.allocation.value, &one);
  }
  std::ranges::stable_sort(asked, {}, &std::pair<Time, Found*>::first);
  for (const auto& [first, one] : asked) {
    const Version version{one->allocation,
                          version_at(one->allocation, context_.lifetimes.program_end(one->allocation))};
    const bool was_made = one->again.begin < first;  // for another version, which has the cost
    one->most = make(version, *one, true, first).most;
    if (was_made) {
      one->most = p.allocations.bytes[one->allocation];
      one->cost = 0;
      one->duration = {};
    }
  }
  return found;
}

}  // namespace tapelens::check
