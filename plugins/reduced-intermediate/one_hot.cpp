#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/check/content.h"
#include "plugins/reduced-intermediate/regions.h"

namespace tapelens::check::reduced {

namespace {

// How the readers of a tensor use it.
enum class Use : uint8_t { none, multiplied, masked, other };

Use joined(Use a, Use b) {
  if (a == Use::none || a == b) return b;
  return b == Use::none ? a : Use::other;
}

class OneHotFinder {
 public:
  explicit OneHotFinder(const Context& context) : context_(context), p_(context.process) {}

  std::vector<OneHot> all(Bytes least) {
    for (const AllocationId allocation : context_.allocations(least)) add(allocation);
    // A copy comes after its source, and its readers read the content of the source.
    for (auto copy = members_.rbegin(); copy != members_.rend(); ++copy) {
      if (copy->source) members_[*copy->source].use = joined(members_[*copy->source].use, copy->use);
    }
    for (Member& copy : members_) {
      if (copy.source && members_[*copy.source].use == Use::other) copy.use = Use::other;
    }
    std::vector<OneHot> found;
    for (const Member& member : members_) {
      if (member.use == Use::multiplied) found.push_back({Form::embedding, member.allocation});
      if (member.use == Use::masked) found.push_back({Form::picked, member.allocation});
    }
    return found;
  }

 private:
  struct Member {
    AllocationId allocation;
    std::optional<size_t> source;  // index of the member that it copies
    Use use = Use::none;
  };

  void add(AllocationId allocation) {
    const OperatorId maker = context_.provenance.maker(allocation);
    if (!maker) return;
    std::optional<size_t> source;
    if (!one_hot_.has(p_.operators.name[maker])) {
      const auto inputs = context_.provenance.inputs(maker);
      const auto at = inputs.empty() ? index_.end() : index_.find(inputs.front());
      if (!copies_.has(p_.operators.name[maker]) || at == index_.end()) return;
      source = at->second;
    }
    index_.emplace(allocation.value, members_.size());
    members_.push_back({allocation, source, p_.freed(allocation) == kNever ? Use::other : use_of(allocation)});
  }

  // A product selects rows if the one-hot tensor is its left side. On the right side, or transposed, the tensor adds
  // rows up by class. A backward does that for the table.
  bool selects(OperatorId op, AllocationId allocation) const {
    if (p_.operators.evaluation[op]) return true;
    const auto inputs = context_.provenance.inputs(op);
    const size_t left = added_products_.has(p_.operators.name[op]) ? 1 : 0;
    return inputs.size() > left && AllocationId{inputs[left]} == allocation;
  }

  Use use_by(OperatorId op, AllocationId allocation) const {
    const StringId name = p_.operators.name[op];
    if (products_.has(name) || added_products_.has(name)) {
      return selects(op, allocation) ? Use::multiplied : Use::other;
    }
    if (transposing_.has(name)) return p_.operators.evaluation[op] ? Use::none : Use::other;
    if (views_.has(name) || copies_.has(name)) return Use::none;
    return masks_.has(name) ? Use::masked : Use::other;
  }

  Use use_of(AllocationId allocation) const {
    Use all = Use::none;
    const Time made = p_.operators.end[context_.provenance.maker(allocation)];
    for (const OperatorId use : context_.provenance.uses(allocation)) {
      if (p_.operators.begin[use] < made) continue;
      all = joined(all, use_by(context_.provenance.called(use), allocation));
    }
    return all;
  }

  const Context& context_;
  const Process& p_;
  std::vector<Member> members_;                 // in the order of time
  std::unordered_map<uint32_t, size_t> index_;  // of members, by allocation
  const NameSet one_hot_{context_.text, {"aten::one_hot"}};
  const NameSet copies_{context_.text, {"aten::to", "aten::_to_copy", "aten::type_as", "aten::float"}};
  const NameSet products_{context_.text, {"aten::matmul", "aten::mm", "aten::linear"}};
  const NameSet added_products_{context_.text, {"aten::addmm"}};
  const NameSet transposing_{context_.text,
                             {"aten::t", "aten::transpose", "aten::numpy_T", "aten::mT", "aten::permute",
                              "aten::adjoint", "aten::matrix_H", "aten::swapaxes"}};
  const NameSet masks_{context_.text, {"aten::mul"}};
  const NameSet views_{
      context_.text,
      {"aten::view", "aten::reshape", "aten::squeeze", "aten::unsqueeze", "aten::flatten", "aten::detach"}};
};

}  // namespace

std::vector<OneHot> find_one_hot(const Context& context, Bytes least) { return OneHotFinder(context).all(least); }

}  // namespace tapelens::check::reduced
