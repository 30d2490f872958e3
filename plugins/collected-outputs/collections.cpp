#include "plugins/collected-outputs/collections.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyzer/check/content.h"

namespace tapelens::check::collected {

namespace {

constexpr uint32_t kFewest = 4;  // outputs at the peak

using Key = std::pair<uint32_t, uint32_t>;  // stack, name of the operator

Key key_of(const Context& context, AllocationId allocation) {
  const OperatorId maker = context.provenance.maker(allocation);
  return {stack_of(context.process, context.text, allocation).value, context.process.operators.name[maker].value};
}

class Finder {
 public:
  Finder(const Context& context, Bytes least, int64_t ratio)
      : context_(context),
        p_(context.process),
        least_(least),
        ratio_(ratio),
        is_held_(held_besides_saves(p_)),
        kept_(p_.operators.rows() + 1) {
    for (const OperatorId op : p_.operators.end.ids()) {
      if (p_.operators.end[op] != kNever) last_ = std::max(last_, p_.operators.end[op]);
    }
  }

  std::vector<Collection> all() {
    const std::map<Key, std::vector<AllocationId>> lines = lines_at_peak();
    if (lines.empty()) return {};
    index_results();
    std::vector<Collection> found;
    for (const auto& [key, outputs] : lines) {
      for (std::vector<CollectedOutput>& round : rounds(outputs)) {
        if (const Collection one = collection(std::move(round)); !one.outputs.empty()) found.push_back(one);
      }
    }
    return found;
  }

 private:
  bool can_be_output(AllocationId allocation) const {
    return bool{context_.provenance.maker(allocation)} && !is_held_[allocation.value] &&
           !p_.allocations.evaluation[allocation];
  }

  // All outputs of the lines of which enough are alive at the peak.
  std::map<Key, std::vector<AllocationId>> lines_at_peak() const {
    struct Alive {
      uint32_t count = 0;
      Bytes bytes, smallest;
    };
    std::map<Key, Alive> alive;
    for (const peak::Member& member : context_.peak.members) {
      const auto holders = context_.peak.holders_of(member);
      const bool is_programs = std::ranges::all_of(holders, [](const peak::Holder& holder) {
        return holder.kind == peak::HolderKind::program || holder.kind == peak::HolderKind::op;
      });
      if (!is_programs || !can_be_output(member.allocation)) continue;
      Alive& of = alive[key_of(context_, member.allocation)];
      ++of.count;
      of.bytes += member.bytes;
      of.smallest = member.bytes;  // the biggest come first
    }
    std::map<Key, std::vector<AllocationId>> lines;
    Bytes smallest = least_;
    for (const auto& [key, of] : alive) {
      if (of.count < kFewest || of.bytes < least_) continue;
      lines[key];
      smallest = std::min(smallest, of.smallest);
    }
    if (lines.empty()) return lines;
    for (const AllocationId allocation : context_.allocations(smallest)) {
      if (!can_be_output(allocation)) continue;
      if (const auto at = lines.find(key_of(context_, allocation)); at != lines.end()) at->second.push_back(allocation);
    }
    return lines;
  }

  // The bytes that each operator leaves behind, and the allocations, by operator.
  void index_results() {
    for (const AllocationId result : context_.allocations(Bytes{1})) {
      const OperatorId maker = context_.provenance.maker(result);
      if (!maker || p_.freed(result) <= p_.operators.end[maker]) continue;
      kept_[maker.value] += p_.allocations.bytes[result].value;
      results_[maker.value].push_back(result);
    }
  }

  // Divides the outputs of a line into rounds. The first later use of an output comes after the last output of its
  // round.
  std::vector<std::vector<CollectedOutput>> rounds(const std::vector<AllocationId>& outputs) const {
    std::vector<std::vector<CollectedOutput>> all(1);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Time next = i + 1 < outputs.size() ? p_.allocations.time[outputs[i + 1]] : kNever;
      if (!all.back().empty() && all.back().back().read < p_.allocations.time[outputs[i]]) all.emplace_back();
      all.back().push_back(divide(outputs[i], next, all.back().empty() ? kNever : all.back().front().read));
    }
    return all;
  }

  // `next`: birth of the next output of the line; `others`: the first later use of the round's first output.
  CollectedOutput divide(AllocationId allocation, Time next, Time others) const {
    CollectedOutput output{allocation, returned(context_, allocation), kNever};
    for (const SaveId save : context_.provenance.saves(allocation)) {
      output.idle = std::max(output.idle, p_.saves.released[save]);
    }
    for (const OperatorId use : context_.provenance.uses(allocation)) {
      const Time begin = p_.operators.begin[use];
      if (begin < std::min(next, others)) {
        output.idle = std::max(output.idle, p_.operators.end[use]);
      } else {
        output.read = std::min(output.read, begin);
      }
    }
    return output;
  }

  // The program keeps the view, not the output: small-view has the finding.
  bool is_small_view(const CollectedOutput& output) const {
    const Bytes bytes = p_.allocations.bytes[output.allocation];
    bool any = false;
    for (const OperatorId use : context_.provenance.uses(output.allocation)) {
      if (p_.operators.begin[use] < output.read || views_.has(p_.operators.name[use])) continue;
      const Bytes read = read_by(context_, use, output.allocation);
      if (read.value == 0 || read.value > bytes.value / ratio_) return false;
      any = true;
    }
    return any;
  }

  Collection collection(std::vector<CollectedOutput> round) {
    std::erase_if(round, [this](const CollectedOutput& output) {
      return output.read == kNever || output.read <= output.idle || is_small_view(output);
    });
    Bytes at_peak;
    uint32_t count = 0;
    for (const CollectedOutput& output : round) {
      if (!context_.peak.when.holds(p_, output.allocation) || output.idle > context_.peak.when.time) continue;
      at_peak += p_.allocations.bytes[output.allocation];
      ++count;
    }
    if (count < kFewest || at_peak < least_) return {};
    Collection found;
    found.outputs = std::move(round);
    for (const CollectedOutput& output : found.outputs)
      found.freed = std::max(found.freed, p_.freed(output.allocation));
    return follow(found) ? found : Collection{};
  }

  // Adds what the later operators make of the outputs. False: the operators belong to a model or to a graph, or
  // something else reads the outputs.
  bool follow(Collection& found) {
    std::unordered_set<uint32_t> seen;
    std::vector<OperatorId> readers;
    std::vector<std::pair<AllocationId, Time>> todo;
    for (const CollectedOutput& output : found.outputs) todo.emplace_back(output.allocation, output.read);
    while (!todo.empty()) {
      const auto [allocation, since] = todo.back();
      todo.pop_back();
      bool is_read = false;
      for (const OperatorId use : context_.provenance.uses(allocation)) {
        if (p_.operators.begin[use] < since) continue;
        const OperatorId op = context_.provenance.called(use);
        if (views_.has(p_.operators.name[op])) continue;
        is_read |= kept_[op.value] != 0 || copies_.has(p_.operators.name[op]);
        if (!seen.insert(op.value).second) continue;
        if (context_.provenance.writes(use, allocation) || !add_results(op, found, todo)) return false;
        readers.push_back(op);
      }
      if (!is_read) return false;  // NumPy may read it, without an operator
    }
    found.is_separable =
        std::ranges::all_of(readers, [&](OperatorId op) { return rowwise_.has(p_.operators.name[op]); }) ||
        reads_one_each(found, std::move(readers));
    return bool{found.reader};
  }

  // Whether each operator reads one output, or tensors that other operators made from this output.
  bool reads_one_each(const Collection& found, std::vector<OperatorId> readers) const {
    std::unordered_map<uint32_t, AllocationId> output_of;
    for (const CollectedOutput& output : found.outputs) output_of.emplace(output.allocation.value, output.allocation);
    std::ranges::sort(readers, {}, [&](OperatorId op) { return p_.operators.begin[op]; });
    for (const OperatorId op : readers) {
      AllocationId read;
      for (const uint32_t input : context_.provenance.inputs(op)) {
        const auto at = output_of.find(input);
        if (at == output_of.end() || at->second == read) continue;
        if (read) return false;
        read = at->second;
      }
      const auto results = results_.find(op.value);
      if (results == results_.end()) continue;
      for (const AllocationId result : results->second) output_of.emplace(result.value, read);
    }
    return true;
  }

  // A temporary of the last operators is freed before the list of the outputs is.
  bool is_kept_to_the_end(const Collection& found, AllocationId result) const {
    const Time freed = p_.freed(result);
    return freed == kNever || (freed >= last_ && found.freed < freed);
  }

  // Large results of an operator are derived, small ones are kept.
  bool add_results(OperatorId op, Collection& found, std::vector<std::pair<AllocationId, Time>>& todo) {
    if (!context_.provenance.nodes(op).empty()) return false;
    int64_t read = 0;
    for (const uint32_t row : context_.provenance.inputs(op)) {
      const AllocationId input{row};
      if (!input) continue;
      if (is_held_[row]) return false;  // a parameter
      read += p_.allocations.bytes[input].value;
    }
    found.reader = op;
    for (const AllocationId result : results_[op.value]) {
      const Bytes bytes = p_.allocations.bytes[result];
      if (bytes.value <= read / ratio_) {
        found.kept += bytes;
        continue;
      }
      if (is_held_[result.value] || is_kept_to_the_end(found, result) || !context_.provenance.saves(result).empty()) {
        return false;
      }
      found.derived.push_back(result);
      todo.emplace_back(result, p_.operators.end[op]);
    }
    return true;
  }

  const Context& context_;
  const Process& p_;
  Bytes least_;
  int64_t ratio_;
  Time last_;  // end of the last operator: Python frees the tensors that the program keeps to its end after it
  std::vector<bool> is_held_;
  std::vector<int64_t> kept_;                                        // by operator: bytes of its results
  std::unordered_map<uint32_t, std::vector<AllocationId>> results_;  // by operator, without temporaries
  // To another device, perhaps.
  const NameSet copies_{context_.text, {"aten::to", "aten::_to_copy", "aten::copy_"}};
  const NameSet views_{context_.text,
                       {"aten::view", "aten::reshape", "aten::squeeze", "aten::unsqueeze", "aten::flatten",
                        "aten::transpose", "aten::permute", "aten::t", "aten::detach", "aten::select", "aten::slice",
                        "aten::expand", "aten::alias", "aten::unbind", "aten::split", "aten::chunk"}};
  // These compute each row from the same row of their inputs, join rows, or add them up.
  const NameSet rowwise_{context_.text,
                         {"aten::cat",
                          "aten::concat",
                          "aten::concatenate",
                          "aten::stack",
                          "aten::vstack",
                          "aten::hstack",
                          "aten::argmax",
                          "aten::argmin",
                          "aten::max",
                          "aten::min",
                          "aten::amax",
                          "aten::amin",
                          "aten::sum",
                          "aten::mean",
                          "aten::eq",
                          "aten::ne",
                          "aten::lt",
                          "aten::le",
                          "aten::gt",
                          "aten::ge",
                          "aten::topk",
                          "aten::softmax",
                          "aten::log_softmax",
                          "aten::sigmoid",
                          "aten::exp",
                          "aten::log",
                          "aten::gather",
                          "aten::nll_loss",
                          "aten::nll_loss_nd",
                          "aten::cross_entropy_loss",
                          "aten::mse_loss",
                          "aten::l1_loss",
                          "aten::smooth_l1_loss",
                          "aten::abs",
                          "aten::sub",
                          "aten::add",
                          "aten::mul",
                          "aten::div",
                          "aten::pow",
                          "aten::square",
                          "aten::clamp",
                          "aten::where",
                          "aten::isnan",
                          "aten::logsumexp",
                          "aten::norm",
                          "aten::linalg_vector_norm",
                          "aten::to",
                          "aten::_to_copy",
                          "aten::float",
                          "aten::contiguous",
                          "aten::clone",
                          "aten::round",
                          "aten::any",
                          "aten::all",
                          "aten::count_nonzero",
                          "aten::binary_cross_entropy",
                          "aten::binary_cross_entropy_with_logits"}};
};

}  // namespace

std::vector<Collection> find_collections(const Context& context, Bytes least, int64_t ratio) {
  return Finder(context, least, ratio).all();
}

}  // namespace tapelens::check::collected
