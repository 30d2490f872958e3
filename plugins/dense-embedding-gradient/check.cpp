// Finds gradients of embeddings that are as large as the table, although the batch reads few rows.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "analyzer/check/content.h"

namespace tapelens::check {
namespace {

constexpr std::array kOptions = {
    Option{"min-share", "10", "percent of the peak that the gradients of one line must be"},
    Option{"ratio", "8", "how many times the table must be larger than the rows that are looked up"},
};

// Optimizers of torch.optim that accept sparse gradients.
constexpr std::string_view kSparse[] = {"SGD", "SparseAdam", "Adagrad"};

// One lookup, and the gradient of the whole table that its backward makes.
struct Lookup {
  NodeId node;
  AllocationId table, gradient;
  Bytes sparse;  // indices and rows
};

class DenseEmbeddingGradient final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "dense-embedding-gradient",
            .title = "dense gradients of embeddings, of which few rows are written",
            .help =
                "The gradient of nn.Embedding and nn.EmbeddingBag is a tensor of the table's size, zeros but for the "
                "rows that the batch looked up. With sparse=True it has those rows alone. SGD, SparseAdam and Adagrad "
                "take such gradients.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Bytes share = options.share("min-share", context.peak.bytes);
    const int64_t ratio = std::clamp<int64_t>(options.number("ratio"), 2, 1 << 20);
    const std::vector<Lookup> all = lookups(context, ratio);
    std::map<StackId, Bytes> at_peak;
    for (const Lookup& one : all) {
      if (!context.peak.when.holds(p, one.gradient)) continue;
      at_peak[place_of(context, one.node).stack] += p.allocations.bytes[one.gradient];
    }
    std::erase_if(at_peak, [&](const auto& line) { return line.second < share; });
    for (const Lookup& one : all) {
      const Place place = place_of(context, one.node);
      if (!at_peak.contains(place.stack)) continue;
      const Interval life{p.allocations.time[one.gradient], p.freed(one.gradient)};
      peak::WhatIf change;
      change.never_make(p, one.gradient);
      change.extras.push_back({one.gradient, life, one.sparse});
      sink.add({.place = place,
                .allocation = one.gradient,
                .bytes = p.allocations.bytes[one.gradient],
                .when = life,
                .number = one.table.value},
               change);
      Bytes& rows = rows_[one.table.value];
      rows = std::max(rows, one.sparse);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    const auto& steps = context.process.optimizer_steps;
    const bool takes_sparse = !steps.empty() && std::ranges::all_of(steps, [&](const OptimizerStep& step) {
      const std::string_view name = context.text.string(step.optimizer);
      return std::ranges::any_of(kSparse, [&](std::string_view known) {
        return name.starts_with(known) && (name.size() == known.size() || !std::isalpha(name[known.size()]));
      });
    });
    Description words;
    words.severity = Severity::info;
    words.title = "the embedding's gradient is dense, for few rows";
    std::set<uint64_t> tables;
    for (const Occurrence& one : group.occurrences) tables.insert(one.number);
    words.message = tables.size() == 1
                        ? "Each backward makes a gradient of the whole table, " + bytes_text(biggest.bytes) + "."
                        : "Each backward makes gradients of " + counted(tables.size(), "whole table") + ", " +
                              bytes_text(group.bytes) + " in all.";
    words.message += " The rows of one table that a batch looks up are at most " +
                     bytes_text(rows_.at(static_cast<uint32_t>(biggest.number))) + ".";
    const AllocationId table{static_cast<uint32_t>(biggest.number)};
    words.edit = {own_frame(context.text, place_of(context, table).stack), 0};
    words.notes.emplace_back("Sparse gradients do not take weight_decay, nor clip_grad_norm_'s foreach form.");
    words.fix.text = "sparse=True where the embedding is made";
    if (!takes_sparse) words.fix.text += ", and torch.optim.SparseAdam (or SGD, Adagrad) for its weight";
    words.fix.is_small = takes_sparse;
    return words;
  }

 private:
  // By node: whether a node that is not a lookup has an edge to it. A head that shares the table's weight makes a dense
  // gradient in any case.
  static std::vector<uint8_t> shared_leaves(const Process& p, const NameSet& types) {
    std::vector<uint8_t> is_shared(p.nodes.rows() + 1);
    for (const NodeId node : p.nodes.ids()) {
      if (types.has(p.nodes.type[node])) continue;
      for (const uint32_t next : p.nodes.edges_of(node)) is_shared[next] = 1;
    }
    return is_shared;
  }

  static std::vector<Lookup> lookups(const Context& context, int64_t ratio) {
    const Process& p = context.process;
    const NameSet types(context.text, {"EmbeddingBackward0", "EmbeddingBagBackward0"});
    const NameSet indices(context.text, {"indices"});
    std::vector<Lookup> all;
    std::vector<NodeId> nodes;
    for (const NodeId node : p.nodes.ids()) {
      if (types.has(p.nodes.type[node])) nodes.push_back(node);
    }
    if (nodes.empty()) return all;
    const std::vector<uint8_t> is_shared = shared_leaves(p, types);
    const std::unordered_map<uint32_t, AllocationId> made = largest_of_evaluations(context, types);
    const std::vector<EvaluationId> evaluations = last_evaluations(p);
    for (const NodeId node : nodes) {
      const auto edges = p.nodes.edges_of(node);
      if (edges.empty() || edges.front() == 0 || is_shared[edges.front()] != 0) continue;
      const AllocationId table = p.nodes.parameter[NodeId{edges.front()}];
      const auto gradient = made.find(evaluations[node.value].value);
      if (!table || gradient == made.end()) continue;
      if (p.allocations.bytes[gradient->second] != p.allocations.bytes[table]) continue;
      int64_t rows = 0;
      for (const SaveId save : saves_of(context, node)) {
        if (!indices.has(p.saves.field[save])) continue;
        rows = static_cast<int64_t>(elements(context.text, p.saves.layout[save]));
      }
      const Bytes width = row_bytes(context, node, rows);
      const Bytes sparse{rows * (width.value + 8)};
      if (rows == 0 || width.value == 0 || sparse.value > p.allocations.bytes[table].value / ratio) continue;
      all.push_back({node, table, gradient->second, sparse});
    }
    return all;
  }

  // By evaluation of a node of these types: the largest allocation made in it.
  static std::unordered_map<uint32_t, AllocationId> largest_of_evaluations(const Context& context,
                                                                           const NameSet& types) {
    const Process& p = context.process;
    std::unordered_map<uint32_t, AllocationId> largest;
    for (const AllocationId allocation : context.allocations(Bytes{1})) {
      const EvaluationId evaluation = p.allocations.evaluation[allocation];
      if (!evaluation || !types.has(p.nodes.type[p.evaluations.node[evaluation]])) continue;
      AllocationId& of = largest[evaluation.value];
      if (!of || p.allocations.bytes[of] < p.allocations.bytes[allocation]) of = allocation;
    }
    return largest;
  }

  // Bytes of one row of a lookup's result. The result of an embedding has one row for each index. That of an
  // EmbeddingBag has one row for each bag.
  static Bytes row_bytes(const Context& context, NodeId node, int64_t indices) {
    const Process& p = context.process;
    int64_t rows = indices;
    for (const SaveId save : saves_of(context, node)) {
      const std::string_view field = context.text.string(p.saves.field[save]);
      if (field == "result2") rows = static_cast<int64_t>(elements(context.text, p.saves.layout[save]));
    }
    const OperatorId called = context.provenance.called(p.nodes.op[node]);
    const auto is_saved_by_it = [&](AllocationId id) {
      return std::ranges::any_of(context.provenance.saves(id), [&](SaveId save) { return p.saves.node[save] == node; });
    };
    Bytes result;
    for (const AllocationId id : allocations_during(p, called)) {
      const bool is_result = context.provenance.maker(id) == called && p.freed(id) > p.operators.end[called];
      if (is_result && !is_saved_by_it(id)) result = std::max(result, p.allocations.bytes[id]);
    }
    return rows > 0 ? Bytes{result.value / rows} : Bytes{};
  }

  std::unordered_map<uint32_t, Bytes> rows_;  // by table: bytes of the largest lookup's rows and indices
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::DenseEmbeddingGradient)
