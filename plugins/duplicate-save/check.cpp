// Finds content that is kept several times: several copies of one tensor, a copy of a saved tensor, and buffers that
// repeat one tensor.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "plugins/duplicate-save/repeats.h"
#include "plugins/duplicate-save/uncached.h"

namespace tapelens::check {

namespace {

constexpr std::array kOptions = {
    Option{"min-bytes", "16KiB", "smaller tensors are ignored"},
    Option{"most-parts", "4096", "concatenations of more tensors are ignored"},
};

enum Variant : uint32_t {
  kAsked = 0,
  kImplied = 1,
  kRepeated = 2,
  kUncached = 3,  // a weight's, by autocast
};

struct Key {
  View source;
  StringId dtype;  // dtype of the copy

  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = key.source.allocation.value;
    for (const uint64_t part : {uint64_t{key.source.layout.value}, key.source.offset, uint64_t{key.dtype.value}}) {
      hash = (hash ^ part) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

class DuplicateSave final : public Check {
 public:
  CheckInfo info() const override {
    return {
        .id = "duplicate-save",
        .title = "the same content kept several times",
        .help =
            "Casts, clones and contiguous copies of one tensor have the same content. If autograd saves two of "
            "them, or a copy and its source, one is enough: copy once and pass the copy to all readers. "
            "Autocast casts an activation again for each layer that reads it, and a weight if its cache is off or was "
            "cleared. A loop, or torch's scan, that "
            "stacks the same tensor in every iteration keeps one copy of it for each iteration.",
        .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Contents contents(context);
    const Bytes least = options.bytes("min-bytes");
    const auto most_parts = static_cast<uint32_t>(std::clamp<int64_t>(options.number("most-parts"), 2, 1 << 20));
    find_siblings(context, contents, least, sink);
    Repeats repeats(context, contents, least, most_parts);
    const Process& p = context.process;
    for (const Repeats::Found& found : repeats.all()) {
      if (is_of_data_loader(context, found.filler)) continue;
      // A source that is at least as large as the buffer, and is freed earlier, saves no memory if it stays instead.
      if (p.freed(found.source) < p.freed(found.buffer) &&
          p.allocations.bytes[found.source] >= p.allocations.bytes[found.buffer]) {
        continue;
      }
      peak::WhatIf change;
      change.aliases.push_back({found.buffer, found.source});
      sink.add({.place = place_of(context, found.filler),
                .allocation = found.buffer,
                .bytes = p.allocations.bytes[found.buffer],
                .when = {p.allocations.time[found.buffer], p.freed(found.buffer)},
                .number = found.times},
               change, kRepeated);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    const std::string name(context.provenance.name(biggest.place.op));
    Description words;
    if (group.variant == kRepeated) {
      words.title = name + " copies a tensor that could be a view";
      words.message =
          "All " + std::to_string(biggest.number) +
          " parts of this buffer are copies of one tensor, or of its consecutive slices. A view of that tensor can "
          "replace the buffer.";
      std::string fix = "Do not collect the constant tensor in the loop: close over it, or expand() it afterwards.";
      if (name == "scatter_")
        fix += " --allow scan-save keeps one copy of the tensors that torch's scan saves by itself.";
      words.fix = {FixKind::advice, "", {}, std::move(fix)};
      return words;
    }
    if (group.variant == kUncached) return describe_uncached(group);
    const bool implied = group.variant == kImplied;
    words.severity = implied ? Severity::info : Severity::warning;
    const bool is_cast = implied && changes_dtype(context, biggest);
    words.title = std::string(is_cast ? "duplicate cast" : "duplicate copy") + " of a saved tensor (" + name + ")";
    words.message =
        "Autograd keeps this copy together with another copy of the same view of the same tensor, or with that tensor "
        "itself. No operator has written either of them since. One is enough for both.";
    words.fix = {FixKind::advice,
                 "",
                 {},
                 is_cast ? "Cast once, before the layers that read it, and pass the cast to all of them."
                 : implied
                     ? "Call .contiguous() once, before the layers that read it, and pass its result to all of them."
                     : "Copy once and use the copy wherever it is needed."};
    return words;
  }

 private:
  struct Kept {
    AllocationId copy;
    Time since, end;
    AllocationId last;  // the last copy
  };

  static Description describe_uncached(const Group& group) {
    Description words;
    words.severity = Severity::info;
    if (group.biggest().number == 0) {
      words.title = "autocast casts a frozen weight at each use";
      words.message =
          "Autocast's cache has only weights that require a gradient. Autograd keeps a cast of this weight "
          "for each use, " +
          bytes_text(group.bytes) + " at a time besides the first.";
      words.fix.text = "cast the frozen modules once: module.to(torch.bfloat16), or the dtype of the region";
      return words;
    }
    words.title = "autocast runs without its cache";
    words.message = "Autograd keeps a cast of the same weight for each use, " + bytes_text(group.bytes) +
                    " at a time besides the first: the cache is off (cache_enabled=False), or a region that ends "
                    "between the uses clears it.";
    words.fix.text = "one torch.autocast region around all uses of the weight, with cache_enabled=True (the default)";
    return words;
  }

  void find_siblings(const Context& context, const Contents& contents, Bytes least, Sink& sink) const {
    const Process& p = context.process;
    std::vector<uint8_t> seen(size_t{p.allocations.rows()} + 1);
    Uncached uncached(context);
    std::unordered_map<Key, Kept, KeyHash> kept;
    for (uint32_t row = 1; row <= p.saves.rows(); ++row) {
      const AllocationId copy = p.saves.allocation[SaveId{row}];
      if (!copy || std::exchange(seen[copy.value], 1) != 0 || !context.is_looked_at(copy, least)) continue;
      if (contents.is_of_backward(copy)) continue;
      if (context.provenance.saves(copy).empty()) continue;  // packed
      const Copied copied = contents.copied(copy);
      if (copied.parts.empty()) continue;
      const StringId dtype = context.text.layout_dtype[p.saves.layout[SaveId{row}]];
      const View source = contents.origin(copied.parts[0], copied.since);
      const Time end = p.freed(copy);
      if (!contents.is_unchanged(copy, copied.since, end)) continue;
      const auto [at, is_first] = kept.try_emplace({source, dtype}, Kept{copy, copied.since, end, copy});
      Kept& before = at->second;
      AllocationId other;
      if (!is_first) {
        const bool alive = before.end > p.allocations.time[copy] &&
                           p.allocations.bytes[before.copy] == p.allocations.bytes[copy] &&
                           contents.is_unchanged(source.allocation, before.since, copied.since);
        if (alive) other = before.copy;
        if (alive && uncached.is_cast(contents, copy, copied)) {
          emit_uncached(context, uncached, before, copy, SaveId{row}, sink);
          before.last = copy;
          continue;
        }
        if (!alive || end > before.end) before = {copy, copied.since, end, copy};
      }
      if (!other && is_kept_itself(context, contents, copy, copied, dtype)) other = copied.parts[0].allocation;
      if (other) emit(context, contents, copy, other, SaveId{row}, sink);
    }
  }

  static bool changes_dtype(const Context& context, const Occurrence& occurrence) {
    const LayoutId read = context.provenance.copy_of(occurrence.allocation).source_layout;
    const LayoutId saved = context.process.saves.layout[occurrence.save];
    return !read || context.text.layout_dtype[read] != context.text.layout_dtype[saved];
  }

  // The data loader of torch joins the samples of a batch even if they are equal.
  static bool is_of_data_loader(const Context& context, OperatorId op) {
    const Text& text = context.text;
    return std::ranges::any_of(text.stack(place_of(context, op).stack), [&](FrameId frame) {
      return text.string(text.frame_file[frame]).find("/torch/utils/data/") != std::string_view::npos;
    });
  }

  // Whether another save keeps the source, with the same dtype and strides.
  static bool is_kept_itself(const Context& context, const Contents& contents, AllocationId copy, const Copied& copied,
                             StringId dtype) {
    const View& source = copied.parts[0];
    return context.text.layout_dtype[source.layout] == dtype && contents.has_source_layout(copy, copied) &&
           last_release(context, source.allocation) > copied.since &&
           contents.is_unchanged(source.allocation, copied.since, context.process.freed(copy));
  }

  static void emit_uncached(const Context& context, Uncached& uncached, const Kept& before, AllocationId copy,
                            SaveId save, Sink& sink) {
    const Process& p = context.process;
    peak::WhatIf change;
    change.aliases.push_back({copy, before.copy});
    const bool needs_gradient = uncached.needs_gradient(copy);
    if (needs_gradient) uncached.add_backward(before.copy, before.last, copy, change);
    sink.add({.place = place_of(context, copy),
              .allocation = copy,
              .bytes = p.allocations.bytes[copy],
              .when = {p.allocations.time[copy], std::min(p.freed(copy), p.freed(before.copy))},
              .save = save,
              .number = needs_gradient ? 1U : 0U},
             change, kUncached);
  }

  static void emit(const Context& context, const Contents& contents, AllocationId copy, AllocationId other, SaveId save,
                   Sink& sink) {
    const Process& p = context.process;
    peak::WhatIf change;
    change.aliases.push_back({copy, other});
    const bool asked = contents.is_called_copy(context.provenance.maker(copy));
    sink.add({.place = place_of(context, copy),
              .allocation = copy,
              .bytes = p.allocations.bytes[copy],
              .when = {p.allocations.time[copy], std::min(p.freed(copy), p.freed(other))},
              .save = save},
             change, asked ? kAsked : kImplied);
  }
};

}  // namespace

}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::DuplicateSave)
