// Saved tensors that no gradient needs, by the table of needs of the recording's PyTorch.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "plugins/unneeded-save/unneeded.h"

namespace tapelens::check {
namespace {

using plugins::unneeded_save::kRewrite;

constexpr std::array kOptions = {
    Option{"min-bytes", "4KiB", "saves of smaller allocations are ignored"},
};

class UnneededSave final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = kRewrite.id,
            .title = "saved tensors that no gradient needs",
            .help =
                "Autograd saves each tensor that some gradient of an operator may need, even if the program does not "
                "request this gradient. A convolution with a frozen weight keeps its input for a weight gradient that "
                "the program never requests. A table for each minor version lists the fields that no requested "
                "gradient reads. It comes from experiments with PyTorch's own operator tests.",
            .options = kOptions,
            .precedence = 0,
            .rewrite_level = static_cast<int>(kRewrite.level)};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    Unneeded unneeded(context);
    rows_ = unneeded.rows();
    const Process& p = context.process;
    if (!unneeded.is_measured() && p.saves.rows() > 0) {
      throw std::runtime_error("which saves are needed was not measured for PyTorch " +
                               std::string(context.torch_version) + ": tools/needs makes the table");
    }
    const Bytes least = options.bytes("min-bytes");
    for (const AllocationId allocation : context.allocations(least)) {
      // The program itself holds the allocation to the end (a weight, a batch), so no save extends its life.
      if (context.lifetimes.program_end(allocation) >= p.freed(allocation)) continue;
      for (const SaveId save : context.provenance.saves(allocation)) {
        const Need* need = unneeded.of(save);
        if (need != nullptr) emit(context, save, *need, sink);
      }
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    const Need& need = rows_[biggest.number];
    const std::string field = std::string(need.node) + "." + std::string(need.field);
    const bool on_cpu = device_type(context.text.string(context.text.device_name[context.device])).is_pageable;
    Description words;
    words.title = field + " is saved but never read";
    words.message = "Of this operator's gradients " + wanted_text(context, biggest.place.node) +
                    ". No computed gradient depends on the values of " + std::string(need.field) + ".";
    // If every gradient is wanted, the program is correct, and PyTorch's formula saves too much.
    const auto edges = context.process.nodes.edges_of(biggest.place.node);
    if (std::ranges::find(edges, 0U) == edges.end()) words.severity = Severity::info;
    words.notes.push_back("No difference in gradients of first or second order in " + std::to_string(need.samples) +
                          " samples with other values in its place (" + std::string(need.operators) +
                          (need.when.empty() ? "" : "; " + std::string(need.when)) + ").");
    if (!on_cpu) {
      words.is_proved = false;
      words.notes.emplace_back("That was measured with the kernels of the CPU, not with those of this device.");
    }
    words.fix = {FixKind::rewrite,
                 std::string(kRewrite.id),
                 {},
                 "automatic with --apply lossless: gradients stay bit-identical. If the operator's other inputs need "
                 "no gradient "
                 "either, run it under torch.no_grad()"};
    return words;
  }

 private:
  void emit(const Context& context, SaveId save, const Need& need, Sink& sink) const {
    const Process& p = context.process;
    const AllocationId allocation = p.saves.allocation[save];
    peak::WhatIf change;
    change.without.push_back(save);
    sink.add({.place = place_of(context, save),
              .allocation = allocation,
              .bytes = p.allocations.bytes[allocation],
              .when = {p.saves.time[save], p.saves.released[save]},
              .save = save,
              .number = static_cast<uint64_t>(&need - rows_.data())},
             change);
  }

  static std::string wanted_text(const Context& context, NodeId node) {
    const auto edges = context.process.nodes.edges_of(node);
    const auto wanted = static_cast<size_t>(std::ranges::count_if(edges, [](uint32_t next) { return next != 0; }));
    if (wanted == edges.size()) return edges.size() == 1 ? "the only one is computed" : "all are computed";
    std::string inputs;
    for (size_t i = 0; i < edges.size(); ++i) {
      if (edges[i] != 0) inputs += (inputs.empty() ? "" : ", ") + std::to_string(i + 1);
    }
    return "only " + inputs + " of " + std::to_string(edges.size()) + (wanted == 1 ? " is computed" : " are computed");
  }

  std::span<const Need> rows_;
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::UnneededSave)
