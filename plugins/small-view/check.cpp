// Finds small views that keep large storages alive.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/check/content.h"

namespace tapelens::check {
namespace {

constexpr std::array kOptions = {
    Option{"ratio", "8", "least ratio of the storage's size to the bytes that operators still read"},
    Option{"min-share", "10", "percent of the peak that the storages of one line must be"},
};

// A storage that operators read only through small views, from one view on.
struct Kept {
  AllocationId storage;
  OperatorId view;     // the operator that makes the view
  Bytes viewed;        // the most bytes that one operator reads after the view
  OperatorId whole{};  // reads the whole storage after the view; none: no operator
  Time next = kNever;  // time of the line's next such storage; a variable may hold this storage until then
};

class SmallView final : public Check {
 public:
  CheckInfo info() const override {
    return {
        .id = "small-view",
        .title = "small views that keep large storages",
        .help =
            "hidden[:, 0] is a view: while the program keeps it, the whole storage of hidden stays. If a loop collects "
            "such views, and the program reads only the views later, copies of the views (clone()) free the "
            "storages.",
        .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const int64_t ratio = std::clamp<int64_t>(options.number("ratio"), 2, 1 << 20);
    const Bytes least = options.share("min-share", context.peak.bytes);
    const Finder finder(context, ratio);
    const Bytes smallest = smallest_at_peak(context, finder, Bytes{ratio});
    if (smallest.value == 0) return;
    const std::vector<Kept> all = all_kept(context, finder, smallest);
    struct Line {
      uint32_t storages = 0;
      Bytes bytes;
    };
    std::map<StackId, Line> at_peak;
    for (const Kept& kept : all) {
      if (since(p, kept) > context.peak.when.time || !context.peak.when.holds(p, kept.storage)) continue;
      Line& line = at_peak[stack_of(p, context.text, kept.view)];
      ++line.storages;
      line.bytes += p.allocations.bytes[kept.storage];
    }
    for (const Kept& kept : all) {
      const auto line = at_peak.find(stack_of(p, context.text, kept.view));
      // A single storage may be in a variable.
      if (line != at_peak.end() && line->second.storages > 1 && line->second.bytes >= least) emit(context, kept, sink);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    const uint64_t at_once = group.alive_at(context.peak.when.time);
    Description words;
    words.severity = Severity::info;
    words.title = "small views keep large storages";
    words.message = "At the peak, " + counted(at_once, "storage") + " of " + bytes_text(biggest.bytes) +
                    " are alive, of which only a view of " + bytes_text(Bytes{static_cast<int64_t>(biggest.number)}) +
                    " is read from here on.";
    words.notes.emplace_back(
        "A variable holds the last storage until the loop has made the next one; the prediction keeps that storage.");
    words.fix.text = "keep a copy of the view: append .clone()";
    words.fix.is_small = true;
    return words;
  }

 private:
  class Finder {
   public:
    Finder(const Context& context, int64_t ratio)
        : context_(context), p_(context.process), ratio_(ratio), is_held_(held_besides_saves(p_)) {}

    // The first view after which operators read only small views of the storage. If an operator reads all of it after
    // the last view, that view, and the operator. Kept::view: none without such a view.
    Kept of(AllocationId storage) const {
      Kept kept{};
      kept.storage = storage;
      if (is_held_[storage.value] || !context_.provenance.saves(storage).empty()) return kept;
      const auto uses = context_.provenance.uses(storage);
      Bytes viewed;
      for (auto use = uses.rbegin(); use != uses.rend(); ++use) {
        const StringId name = p_.operators.name[*use];
        if (narrowing_.has(name) && viewed.value > 0) {
          kept.view = *use, kept.viewed = viewed;
          if (kept.whole) break;
        }
        if (kept.whole || narrowing_.has(name) || views_.has(name)) continue;
        const Bytes read = read_by(context_, *use, storage);
        if (read.value == 0) break;
        if (read.value <= p_.allocations.bytes[storage].value / ratio_) {
          viewed = std::max(viewed, read);
        } else if (kept.view || viewed.value == 0) {
          break;
        } else {
          kept.whole = *use;
        }
      }
      return kept;
    }

   private:
    const Context& context_;
    const Process& p_;
    int64_t ratio_;
    std::vector<bool> is_held_;
    const NameSet narrowing_{context_.text,
                             {"aten::select", "aten::slice", "aten::narrow", "aten::unbind", "aten::split",
                              "aten::split_with_sizes", "aten::chunk", "aten::diagonal"}};
    const NameSet views_{
        context_.text,
        {"aten::view", "aten::reshape", "aten::squeeze", "aten::unsqueeze", "aten::flatten", "aten::transpose",
         "aten::permute", "aten::t", "aten::detach", "aten::alias", "aten::as_strided", "aten::expand"}};
  };

  // From here on operators read only small views.
  static Time since(const Process& p, const Kept& kept) {
    const Time viewed = p.operators.end[kept.view];
    return kept.whole ? std::max(viewed, p.operators.end[kept.whole]) : viewed;
  }

  // The smallest storage at the peak of which only views are read. 0: none has `least` bytes.
  static Bytes smallest_at_peak(const Context& context, const Finder& finder, Bytes least) {
    Bytes smallest;
    for (const peak::Member& member : context.peak.members) {
      if (member.bytes < least) break;  // the biggest come first
      if (finder.of(member.allocation).view) smallest = member.bytes;
    }
    return smallest;
  }

  static std::vector<Kept> all_kept(const Context& context, const Finder& finder, Bytes least) {
    const Process& p = context.process;
    std::vector<Kept> all;
    std::map<std::pair<StackId, StackId>, size_t> last;  // by lines of storage and view; index in `all`
    std::set<std::pair<StackId, StackId>> refused;
    for (const AllocationId storage : context.allocations(least)) {
      Kept kept = finder.of(storage);
      if (!kept.view) continue;
      const std::pair lines(stack_of(p, context.text, storage), stack_of(p, context.text, kept.view));
      const auto [before, is_first] = last.try_emplace(lines, all.size());
      if (!is_first) {
        Kept& previous = all[std::exchange(before->second, all.size())];
        previous.next = returned(context, storage);
        // The program views the storage only after it makes the next one. It keeps these storages on purpose, like a
        // data set.
        if (p.operators.end[previous.view] > p.allocations.time[storage]) refused.insert(lines);
      }
      all.push_back(kept);
    }
    std::erase_if(all, [&](const Kept& kept) {
      return refused.contains({stack_of(p, context.text, kept.storage), stack_of(p, context.text, kept.view)});
    });
    return all;
  }

  static void emit(const Context& context, const Kept& kept, Sink& sink) {
    const Process& p = context.process;
    const Time viewed = p.operators.end[kept.view], freed = p.freed(kept.storage);
    const Time end = std::min(std::max(kept.next, since(p, kept)), freed);
    if (end >= freed) return;  // a variable may hold the last storage
    peak::WhatIf change;
    change.ends.push_back({kept.storage, end});
    change.extras.push_back({kept.storage, {viewed, freed}, kept.viewed});
    sink.add({.place = place_of(context, kept.view),
              .allocation = kept.storage,
              .bytes = p.allocations.bytes[kept.storage],
              .when = {end, freed},
              .number = static_cast<uint64_t>(kept.viewed.value)},
             change);
  }
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::SmallView)
