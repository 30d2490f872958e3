// Copies that always equal their source: a concatenation of one tensor, or a clone without a write to either side.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>

#include "analyzer/check/content.h"

namespace tapelens::check {

namespace {

constexpr std::array kOptions = {
    Option{"min-bytes", "4KiB", "smaller copies are ignored"},
};

class TrivialConcat final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "trivial-concat",
            .title = "copies of tensors that never change",
            .help =
                "cat, stack, hstack, vstack and dstack of a single tensor (all others empty) copy the whole tensor. "
                "clone and to(copy=True) copy it too. If no operator writes the copy or its source while both are "
                "alive, the source can replace the copy: use the tensor itself, or a view of it.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Contents contents(context);
    const Bytes least = options.bytes("min-bytes");
    for (const AllocationId copy : context.allocations(least)) {
      if (contents.is_of_backward(copy)) continue;
      const OperatorId called = context.provenance.maker(copy);
      if (!contents.is_called_copy(called)) continue;  // a part of another operator
      const Copied copied = contents.copied(copy);
      if (!contents.has_source_layout(copy, copied)) continue;
      const View source = copied.parts[0];
      if (!is_needless(context, contents, copy, source, copied)) continue;
      const Time end = std::min(p.freed(copy), p.freed(source.allocation));
      peak::WhatIf change;
      change.aliases.push_back({copy, source.allocation});
      Occurrence occurrence{.place = place_of(context, copy),
                            .allocation = copy,
                            .bytes = p.allocations.bytes[copy],
                            .when = {p.allocations.time[copy], end}};
      sink.add(occurrence, change);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Place& place = group.biggest().place;
    const std::string name(context.provenance.name(place.op));
    const bool joins = name.find("cat") != std::string::npos || name.find("stack") != std::string::npos;
    Description words;
    words.title = joins ? name + " copies a single tensor" : name + " copies a tensor that is never changed";
    words.message = joins
                        ? "All other inputs of this " + name +
                              " are missing or empty, so its result is a copy of the remaining one. No operator "
                              "writes either while both are alive: the source can replace the copy."
                        : "No operator writes the copy or its source while both are alive: the source can replace the "
                          "copy.";
    words.notes.emplace_back(
        "The recording does not have writes that bypass PyTorch, such as those through a numpy array over the same "
        "storage.");
    words.fix = {FixKind::advice,
                 "",
                 {},
                 joins
                     ? "Use the tensor itself if it is the only one (unsqueeze it where " + name + " adds a dimension)."
                     : "Use the tensor itself, with detach() if it should leave the graph."};
    return words;
  }

 private:
  static bool is_needless(const Context& context, const Contents& contents, AllocationId copy, const View& source,
                          const Copied& copied) {
    const Process& p = context.process;
    if (p.allocations.device[source.allocation] != context.device) return false;
    // A snapshot of weights may be for the next step, which may come after the recording. A copy inside a graph is not.
    const auto saves = context.provenance.saves(copy);
    if (contents.has_role(copy)) return false;
    if (contents.has_role(source.allocation) && saves.empty()) return false;
    // A cast to another type of the same size changes the content. Only the dtype of a save shows such a cast.
    if (context.provenance.name(copied.op) == "_to_copy") {
      const auto dtype = context.text.layout_dtype[source.layout];
      const auto is_same = [&](SaveId save) { return context.text.layout_dtype[p.saves.layout[save]] == dtype; };
      if (saves.empty() || !is_same(saves.front())) return false;
    }
    // If the source is a part of a storage, the storage must stay alive as long as the copy.
    const Time copy_end = p.freed(copy), source_end = p.freed(source.allocation);
    if (context.text.layout_bytes[source.layout] != p.allocations.bytes[source.allocation] && source_end < copy_end) {
      return false;
    }
    const Time both = std::min(copy_end, source_end);
    return contents.is_unchanged(copy, copied.since, both) &&
           contents.is_unchanged(source.allocation, copied.since, both);
  }
};

}  // namespace

}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::TrivialConcat)
