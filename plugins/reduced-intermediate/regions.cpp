#include "plugins/reduced-intermediate/regions.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/check/content.h"

namespace tapelens::check::reduced {

namespace {

// Connected components of large allocations. Two allocations are connected if one operator made both, or made one from
// the other.
class Components {
 public:
  Components(const Context& context, Bytes least)
      : context_(context), p_(context.process), of_(p_.allocations.rows() + 1), made_(p_.operators.rows() + 1) {
    const std::vector<bool> is_kept = held_besides_saves(p_);
    for (const AllocationId allocation : context.allocations(least)) {
      const OperatorId maker = context.provenance.maker(allocation);
      if (!maker || is_kept[allocation.value]) continue;
      members_.push_back(allocation);
      of_[allocation.value] = allocation.value;
      if (made_[maker.value] == 0) made_[maker.value] = allocation.value;
      unite(allocation.value, made_[maker.value]);
    }
    for (const AllocationId allocation : members_) {
      for (const OperatorId use : context.provenance.uses(allocation)) {
        if (const uint32_t made = made_[context.provenance.called(use).value]) unite(allocation.value, made);
      }
    }
  }

  const std::vector<AllocationId>& members() const { return members_; }
  bool is_member(AllocationId allocation) const { return of_[allocation.value] != 0; }
  uint32_t root(AllocationId allocation) {
    uint32_t at = allocation.value;
    while (of_[at] != at) at = of_[at] = of_[of_[at]];
    return at;
  }

 private:
  void unite(uint32_t a, uint32_t b) {
    a = root(AllocationId{a}), b = root(AllocationId{b});
    of_[std::max(a, b)] = std::min(a, b);
  }

  const Context& context_;
  const Process& p_;
  std::vector<AllocationId> members_;
  std::vector<uint32_t> of_;    // by allocation: a member of the same component; 0: not a member
  std::vector<uint32_t> made_;  // by operator: the first member that it made; 0: none
};

// The properties of a component that decide its Form.
struct Facts {
  Region region;
  bool is_refused = false;
  bool is_saved = false;
  bool has_ordinary_root = false;  // its first operator neither broadcasts nor makes zeros
  bool has_zeros = false, has_scatter = false;
  bool has_difference = false, has_power = false, has_sum = false;
  bool is_in_transform = true;
};

class Finder {
 public:
  Finder(const Context& context, Bytes least, int64_t ratio)
      : context_(context),
        p_(context.process),
        ratio_(ratio),
        components_(context, least),
        component_read_by_(p_.operators.rows() + 1),
        makes_(p_.operators.rows() + 1) {}

  std::vector<Region> all() {
    if (components_.members().empty()) return {};
    for (const AllocationId allocation : context_.allocations(Bytes{1})) {
      makes_[context_.provenance.maker(allocation).value] = 1;
    }
    for (const AllocationId member : components_.members()) look_at(member);
    add_results();
    std::vector<Region> found;
    for (const AllocationId member : components_.members()) {
      const auto at = facts_.find(member.value);
      if (at == facts_.end() || !is_reduced(at->second)) continue;
      found.push_back(std::move(at->second.region));
    }
    return found;
  }

 private:
  Bytes bytes(AllocationId allocation) const { return p_.allocations.bytes[allocation]; }
  bool is(const NameSet& names, OperatorId op) const { return names.has(p_.operators.name[op]); }
  bool is_far_less(Bytes a, Bytes than) const { return a.value <= than.value / ratio_; }

  void look_at(AllocationId member) {
    Facts& facts = facts_[components_.root(member)];
    Region& region = facts.region;
    const OperatorId maker = context_.provenance.maker(member);
    region.members.push_back(member);
    if (!region.largest || bytes(member) > bytes(region.largest)) region.largest = member;
    facts.is_refused |= p_.freed(member) == kNever;
    facts.is_saved |= !context_.provenance.saves(member).empty();
    facts.is_in_transform &= is_in_transform(member);
    look_at_inputs(member, maker, facts);
    bool is_read = p_.freed(member) <= p_.operators.end[maker];
    for (const OperatorId use : context_.provenance.uses(member)) {
      const bool is_later = p_.operators.begin[use] >= p_.operators.end[maker];
      is_read |= is_later && makes_[context_.provenance.called(use).value] != 0;
      look_at_use(member, use, facts);
    }
    facts.is_refused |= !is_read;  // only views were made; numpy() may read it
  }

  void look_at_inputs(AllocationId member, OperatorId maker, Facts& facts) {
    bool is_root = true, is_of_little = true;
    size_t inputs = 0;
    Bytes made_of;
    for (const uint32_t row : context_.provenance.inputs(maker)) {
      const AllocationId input{row};
      if (!input || input == member) continue;
      ++inputs;
      made_of += bytes(input);
      if (components_.is_member(input)) {
        is_root = false;
      } else {
        is_of_little &= is_far_less(bytes(input), bytes(member));
      }
    }
    facts.is_refused |= !is_of_little;
    if (!is_root) return;
    facts.has_zeros |= is(zeros_, maker);
    if (is(differences_, maker)) {
      facts.has_difference = true;
      facts.region.made_of = std::max(facts.region.made_of, made_of);
    }
    const bool is_broadcast = (is(pointwise_, maker) && inputs > 1) || is(repeating_, maker);
    facts.has_ordinary_root |= !is_broadcast && !is(zeros_, maker);
  }

  void look_at_use(AllocationId member, OperatorId use, Facts& facts) {
    const OperatorId op = context_.provenance.called(use);
    uint32_t& reader = component_read_by_[op.value];
    if (reader == 0) reader = components_.root(member);
    facts.has_power |= is(powers_, op);
    facts.has_sum |= is(sums_, op);
    facts.has_scatter |= is(scatters_, op);
    if (p_.operators.written[use] == 0) return;
    for (const uint32_t input : context_.provenance.inputs(use)) {
      if (!components_.is_member(AllocationId{input}) && context_.provenance.writes(use, AllocationId{input})) {
        facts.region.kept = std::max(facts.region.kept, bytes(AllocationId{input}));
      }
    }
  }

  // Adds the results and temporaries of the operators that read members.
  void add_results() {
    for (const AllocationId result : context_.allocations(Bytes{1})) {
      if (components_.is_member(result)) continue;
      const OperatorId maker = context_.provenance.maker(result);
      const uint32_t component = component_read_by_[maker.value];
      if (component == 0) continue;
      Region& region = facts_.at(component).region;
      if (p_.freed(result) <= p_.operators.end[maker]) {
        region.temporaries.push_back(result);
        continue;
      }
      region.results.push_back(result);
      region.kept = std::max(region.kept, bytes(result));
    }
  }

  bool is_reduced(Facts& facts) const {
    Region& region = facts.region;
    if (facts.is_refused || region.results.empty() || !is_far_less(region.kept, bytes(region.largest))) return false;
    const bool is_distance =
        facts.has_difference && facts.has_power && facts.has_sum && !facts.has_ordinary_root && !facts.has_zeros;
    if (facts.is_saved && !is_distance) return false;
    region.is_in_graph = facts.is_saved;
    if (facts.is_in_transform) {
      region.form = Form::transform;
    } else if (facts.has_ordinary_root) {
      return false;
    } else if (facts.has_zeros) {
      region.form = Form::scatter;
      return facts.has_scatter;
    } else {
      region.form = is_distance ? Form::distance : Form::chunks;
    }
    return true;
  }

  bool is_in_transform(AllocationId allocation) {
    const StackId stack = stack_of(p_, context_.text, allocation);
    const auto [at, is_new] = in_transform_.try_emplace(stack.value, false);
    if (is_new) at->second = bool{transform_of(context_.text, stack).caller};
    return at->second;
  }

  const Context& context_;
  const Process& p_;
  int64_t ratio_;
  Components components_;
  std::unordered_map<uint32_t, Facts> facts_;        // by the component's root, its first member
  std::vector<uint32_t> component_read_by_;          // by operator: root of the component; 0: none
  std::vector<uint8_t> makes_;                       // by operator: whether it allocates anything
  std::unordered_map<uint32_t, bool> in_transform_;  // by stack
  const NameSet pointwise_{
      context_.text,
      {"aten::add",         "aten::sub",        "aten::mul",   "aten::div",   "aten::max",         "aten::min",
       "aten::maximum",     "aten::minimum",    "aten::pow",   "aten::eq",    "aten::ne",          "aten::lt",
       "aten::le",          "aten::gt",         "aten::ge",    "aten::where", "aten::logical_and", "aten::logical_or",
       "aten::bitwise_and", "aten::bitwise_or", "aten::atan2", "aten::fmod",  "aten::remainder",   "aten::rsub"}};
  const NameSet repeating_{
      context_.text, {"aten::repeat", "aten::repeat_interleave", "aten::one_hot", "aten::contiguous", "aten::clone"}};
  const NameSet zeros_{context_.text, {"aten::zeros", "aten::new_zeros", "aten::zeros_like", "aten::full"}};
  const NameSet scatters_{context_.text,
                          {"aten::scatter", "aten::scatter_", "aten::scatter_add", "aten::scatter_add_",
                           "aten::index_put_", "aten::index_put", "aten::index_add", "aten::index_add_"}};
  const NameSet differences_{context_.text, {"aten::sub"}};
  const NameSet powers_{context_.text, {"aten::pow", "aten::square", "aten::mul", "aten::abs"}};
  const NameSet sums_{context_.text, {"aten::sum", "aten::mean"}};
};

}  // namespace

Transform transform_of(const Text& text, StackId stack) {
  constexpr std::string_view kFiles[] = {"/torch/_functorch/apis.py", "/torch/_functorch/eager_transforms.py",
                                         "/torch/_functorch/vmap.py"};
  const auto frames = text.stack(stack);
  const auto is_of_transform = [&](FrameId frame) {
    const std::string_view file = text.string(text.frame_file[frame]);
    return std::ranges::any_of(kFiles, [&](std::string_view name) { return file.ends_with(name); });
  };
  const auto outermost = std::find_if(frames.rbegin(), frames.rend(), is_of_transform);
  if (outermost == frames.rend() || outermost == frames.rbegin()) return {};
  const FrameId caller = *std::prev(outermost);
  if (!is_own_frame(text, caller)) return {};
  const std::string_view function = text.string(text.frame_function[*outermost]);
  return {caller, function.substr(0, function.find('.'))};
}

std::vector<Region> find_regions(const Context& context, Bytes least, int64_t ratio) {
  return Finder(context, least, ratio).all();
}

}  // namespace tapelens::check::reduced
