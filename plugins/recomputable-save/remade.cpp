#include "plugins/recomputable-save/remade.h"

#include <algorithm>
#include <tuple>

#include "trace/record.h"

namespace tapelens::advise {

namespace {

// As the rewrite has them: profiler/rewrite/{contents,recipes,budget}.cpp.
constexpr uint32_t kMostOperators = 12;
constexpr int64_t kMostLarger = 4;
constexpr Bytes kSmall{int64_t{64} << 10};  // or the least that is rewritten, if that is less
constexpr size_t kStepsMeasured = 3;

uint64_t mixed(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9fb21c651e98df25ULL; }

}  // namespace

Remade::Remade(const Context& context)
    : context_(context),
      contents_(context),
      narrow_(context),
      unneeded_(context),
      cheap_(context.text,
             {"aten::relu",        "aten::relu_",        "aten::gelu",          "aten::gelu_",
              "aten::silu",        "aten::silu_",        "aten::leaky_relu",    "aten::leaky_relu_",
              "aten::hardtanh",    "aten::hardtanh_",    "aten::hardswish",     "aten::hardswish_",
              "aten::hardsigmoid", "aten::hardsigmoid_", "aten::elu",           "aten::elu_",
              "aten::mish",        "aten::mish_",        "aten::softplus",      "aten::sigmoid",
              "aten::sigmoid_",    "aten::tanh",         "aten::tanh_",         "aten::exp",
              "aten::exp_",        "aten::rsqrt",        "aten::rsqrt_",        "aten::sqrt",
              "aten::sqrt_",       "aten::reciprocal",   "aten::reciprocal_",   "aten::neg",
              "aten::neg_",        "aten::abs",          "aten::abs_",          "aten::square",
              "aten::square_",     "aten::pow",          "aten::pow_",          "aten::mul",
              "aten::mul_",        "aten::div",          "aten::div_",          "aten::add",
              "aten::add_",        "aten::sub",          "aten::sub_",          "aten::rsub",
              "aten::where",       "aten::masked_fill",  "aten::masked_fill_",  "aten::clamp",
              "aten::clamp_",      "aten::clamp_min",    "aten::clamp_min_",    "aten::clamp_max",
              "aten::clamp_max_",  "aten::threshold",    "aten::threshold_",    "aten::_to_copy",
              "aten::clone",       "aten::glu",          "aten::relu6",         "aten::relu6_",
              "aten::native_layer_norm", "aten::native_batch_norm", "aten::native_group_norm", "aten::_fused_rms_norm"}),
      gelu_(context.text, {"aten::gelu"}) {
  trained_.insert(context.process.nodes.parameter.raw.begin(), context.process.nodes.parameter.raw.end());
  for (const Interval& backward : merged(context.process.backwards)) {
    if (backward.end != kNever) backward_ends_.push_back(backward.end.ns);
  }
}

// ---- recipes

OperatorId Remade::cheap_maker(AllocationId allocation) const {
  const Operators& o = context_.process.operators;
  const OperatorId called = context_.provenance.maker(allocation);
  OperatorId found;
  for (OperatorId op = context_.process.allocations.op[allocation]; op; op = o.parent[op]) {
    // What writes into its input makes nothing new: a copy that it keeps of that input was made by the copying.
    const bool makes = cheap_.has(o.name[op]) && o.written[op] == 0;
    if (makes && context_.process.freed(allocation) > o.end[op]) found = op;
    if (op == called) break;
  }
  return found;
}

std::optional<Remade::Recipe> Remade::recipe_of(OperatorId op, AllocationId result, bool is_in_place) const {
  const Process& p = context_.process;
  const Time begin = p.operators.begin[op];
  Recipe recipe{op, is_in_place, {}, {}};
  const auto add = [&](AllocationId input) {
    if (!input) return;
    if (p.allocations.bytes[input] < std::min(kSmall, context_.applied->min_bytes())) {
      recipe.small += p.allocations.bytes[input];
    } else {
      recipe.sources.push_back({input, version_at(input, begin)});
    }
  };
  if (gelu_.has(p.operators.name[op])) {
    // What it is given cannot be recorded; its node saved it.
    for (const NodeId node : context_.provenance.nodes(op)) {
      for (const SaveId save : saves_of(context_, node)) add(p.saves.allocation[save]);
    }
    if (recipe.sources.empty() && recipe.small.value == 0) return std::nullopt;
    return recipe;
  }
  const auto inputs = context_.provenance.inputs(op);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const AllocationId input{inputs[i]};
    if (input == result && !(is_in_place && i == 0)) return std::nullopt;
    add(input);
  }
  if (inputs.empty() || (is_in_place && (recipe.sources.empty() || recipe.sources.front().allocation != result))) {
    return std::nullopt;
  }
  return recipe;
}

uint32_t Remade::version_at(AllocationId allocation, Time time) const {
  const auto known = histories_.find(allocation.value);
  if (known == histories_.end()) return 0;
  const auto& writes = known->second.writes;
  return static_cast<uint32_t>(std::ranges::lower_bound(writes, time) - writes.begin());
}

// In the order of allocations: what a content is made of has been read before it.
void Remade::read_history(AllocationId allocation) {
  const Process& p = context_.process;
  const Operators& o = p.operators;
  const OperatorId maker = cheap_maker(allocation);
  History& history = histories_[allocation.value];
  history.recipes.push_back(maker ? recipe_of(maker, allocation, false) : std::nullopt);
  const OperatorId made = maker ? maker : p.allocations.op[allocation];
  Time done = made ? o.end[made] : p.allocations.time[allocation];
  for (const OperatorId op : context_.provenance.writers(allocation)) {
    if (o.begin[op] < done) continue;  // inside of one that counts
    const bool is_cheap = cheap_.has(o.name[op]);
    history.recipes.push_back(is_cheap ? recipe_of(op, allocation, true) : std::nullopt);
    history.writes.push_back(o.begin[op]);
    if (is_cheap) done = o.end[op];
  }
}

const Remade::Recipe* Remade::recipe(const Version& version) const {
  const auto known = histories_.find(version.allocation.value);
  if (known == histories_.end() || version.number >= known->second.recipes.size()) return nullptr;
  const auto& found = known->second.recipes[version.number];
  return found ? &*found : nullptr;
}

// ---- what is there

bool Remade::is_unneeded(SaveId save) const {
  return unneeded_.of(save) != nullptr && context_.applied->takes("unneeded-save", save);
}

bool Remade::is_held(SaveId save, bool has_recipe) const {
  const Process& p = context_.process;
  if ((p.nodes.flags[p.saves.node[save]] & trace::kNodeIsCustom) != 0) return false;
  return has_recipe || narrow_.of(save).has_value();
}

bool Remade::is_kept_anyway(AllocationId allocation, Time at) const {
  const Process& p = context_.process;
  const auto uses = context_.provenance.uses(allocation);
  const auto saves = context_.provenance.saves(allocation);
  Time first = kNever;
  if (!uses.empty()) first = p.operators.begin[uses.front()];
  if (!saves.empty()) first = std::min(first, p.saves.time[saves.front()]);
  if (first > at) return false;
  if (trained_.contains(allocation.value)) return true;
  // It lived through a backward.
  const auto ended = std::ranges::lower_bound(backward_ends_, first.ns);
  if (ended != backward_ends_.end() && *ended <= at.ns) return true;
  const bool has_recipe = recipe({allocation, version_at(allocation, at)}) != nullptr;
  return std::ranges::any_of(saves, [&](SaveId save) {
    return p.saves.time[save] <= at && !is_unneeded(save) && !is_held(save, has_recipe);
  });
}

bool Remade::is_alive(const Version& version, Time at) const {
  const Process& p = context_.process;
  if (gone_.contains(version.allocation.value) || version_at(version.allocation, at) != version.number) return false;
  if (context_.lifetimes.program_end(version.allocation) > at) return true;
  return std::ranges::any_of(context_.provenance.saves(version.allocation), [&](SaveId save) {
    return p.saves.time[save] <= at && at < p.saves.released[save] && !is_unneeded(save);
  });
}

bool Remade::is_there(const Version& version, Time at) const {
  if (!is_alive(version, at)) return false;
  if (is_kept_anyway(version.allocation, at)) return true;
  const Process& p = context_.process;
  const bool has_recipe = recipe(version) != nullptr;
  return std::ranges::any_of(context_.provenance.saves(version.allocation), [&](SaveId save) {
    return p.saves.time[save] <= at && at < p.saves.released[save] && !is_unneeded(save) && is_held(save, has_recipe);
  });
}

bool Remade::can_be_made(const Version& version, Time at, Chain& chain) const {
  if (context_.process.allocations.bytes[version.allocation].value / kMostLarger > chain.bytes.value) return false;
  const auto gone = gone_.find(version.allocation.value);
  if (gone != gone_.end() && gone->second == Gone::exact) return true;
  const Recipe* how = recipe(version);
  if (how == nullptr || ++chain.operators > kMostOperators) return false;
  const Operators& o = context_.process.operators;
  chain.time.ns += o.end[how->op].ns - o.begin[how->op].ns;
  chain.key = mixed(chain.key, o.name[how->op].value) + chain.operators;
  return std::ranges::all_of(how->sources, [&](const Version& source) {
    return is_there(source, at) || can_be_made(source, at, chain);
  });
}

// ---- what goes

Remade::Made Remade::make(const Version& version, Time at, Found& found, bool is_counted) const {
  const Bytes bytes = context_.process.allocations.bytes[version.allocation];
  const auto gone = gone_.find(version.allocation.value);
  if (gone != gone_.end() && gone->second == Gone::exact) return {bytes, bytes};
  const Recipe* how = recipe(version);
  if (how == nullptr) return {};
  // What went before has its own copies of what is small.
  if (is_counted) found.small += how->small;
  Bytes live{}, most{};
  bool is_ours = false;
  for (size_t i = 0; i < how->sources.size(); ++i) {
    const Version& source = how->sources[i];
    if (!gone_.contains(source.allocation.value) && is_there(source, at)) {
      found.sources.push_back(source.allocation);
      continue;
    }
    const Made made = make(source, at, found, is_counted && !gone_.contains(source.allocation.value));
    most = std::max(most, live + made.most);
    live += made.own;
    if (i == 0 && how->is_in_place) is_ours = true;
  }
  if (!is_ours) most = std::max(most, live + bytes);
  return {bytes, most};
}

void Remade::settle(AllocationId allocation, std::vector<Found>& found) {
  const Process& p = context_.process;
  const Time at = context_.lifetimes.program_end(allocation);
  const Version version{allocation, version_at(allocation, at)};
  const Recipe* how = recipe(version);
  std::vector<SaveId> held;
  bool is_narrow = true, is_exact = false, may_encode = false, may_recompute = false;
  Bytes narrow{};
  for (const SaveId save : context_.provenance.saves(allocation)) {
    if (is_unneeded(save)) continue;
    if (!is_held(save, how != nullptr)) return;
    held.push_back(save);
    may_recompute = may_recompute || context_.applied->takes("recomputable-save", save);
    if (const auto form = narrow_.of(save)) {
      narrow += form->bytes;
      is_exact = is_exact || (form->is_exact && p.saves.offset[save] == 0);
      may_encode = may_encode || context_.applied->takes("wide-save", save);
    } else {
      is_narrow = false;
    }
  }
  if (held.empty()) return;
  if (is_narrow && may_encode && narrow < p.allocations.bytes[allocation]) {
    gone_.emplace(allocation.value, is_exact ? Gone::exact : Gone::masked);
    return;
  }
  Chain chain{p.allocations.bytes[allocation], {}};
  if (how == nullptr || !may_recompute || !can_be_made(version, at, chain)) return;
  const StringId node_op = p.operators.name[p.nodes.op[p.saves.node[held.front()]]];
  if (!budget_allows(mixed(chain.key, node_op.value), p.allocations.bytes[allocation], chain.time, at)) return;
  Found one{allocation, std::move(held), how->op, chain.operators, {}, {}, {}};
  one.most = make(version, at, one, true).most;
  gone_.emplace(allocation.value, Gone::remade);
  found.push_back(std::move(one));
}

bool Remade::budget_allows(uint64_t key, Bytes bytes, Time time, Time at) {
  const auto ended = static_cast<size_t>(std::ranges::upper_bound(backward_ends_, at.ns) - backward_ends_.begin());
  if (ended > steps_) {
    if (steps_ < kStepsMeasured && ended >= kStepsMeasured) choose_sites();
    for (auto& [site, spent] : sites_) spent.bytes = Bytes{}, spent.time = Time{};
    steps_ = ended;
  }
  Site& site = sites_[key];
  site.bytes += bytes;
  site.time.ns += time.ns;
  return site.is_on;
}

// Most bytes for a nanosecond first, until the share of the step's time is spent.
void Remade::choose_sites() {
  std::vector<Site*> order;
  for (auto& [key, site] : sites_) {
    if (site.time.ns > 0) order.push_back(&site);
  }
  const auto worth = [](const Site* site) {
    return static_cast<double>(site->bytes.value) / static_cast<double>(site->time.ns);
  };
  std::ranges::stable_sort(order, std::ranges::greater(), worth);
  const int64_t step = backward_ends_[kStepsMeasured - 1] - backward_ends_[kStepsMeasured - 2];
  double left = static_cast<double>(step) * context_.applied->recompute_budget();
  for (Site* site : order) {
    site->is_on = static_cast<double>(site->time.ns) <= left;
    if (site->is_on) left -= static_cast<double>(site->time.ns);
  }
}

std::vector<Remade::Found> Remade::all() {
  const Process& p = context_.process;
  std::vector<AllocationId> order;
  for (uint32_t row = 1; row <= p.allocations.rows(); ++row) {
    const AllocationId allocation{row};
    if (p.allocations.bytes[allocation] >= std::min(kSmall, context_.applied->min_bytes())) {
      read_history(allocation);
    }
    if (p.allocations.device[allocation] != context_.device || contents_.has_role(allocation) ||
        p.allocations.bytes[allocation] < context_.applied->min_bytes()) {
      continue;
    }
    const Interval kept = kept_by_saves(context_, allocation);
    if (kept.begin < kept.end) order.push_back(allocation);
  }
  std::ranges::stable_sort(order, {}, [&](AllocationId id) { return context_.lifetimes.program_end(id); });
  std::vector<Found> found;
  for (const AllocationId allocation : order) settle(allocation, found);
  return found;
}

}  // namespace tapelens::advise
