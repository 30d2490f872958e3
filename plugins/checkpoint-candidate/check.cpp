// Finds modules whose forward the backward could recompute. The check ranks them by the bytes that recomputation frees
// at the peak, divided by its time.
#include "analyzer/check/check.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "analyzer/check/calls.h"
#include "analyzer/check/frameworks.h"
#include "analyzer/check/graphs.h"

namespace tapelens::check {
namespace {

constexpr Option kOptions[] = {
    {"min-percent", "10",
     "percent of the peak that checkpoints must free, without the largest call, which the backward recomputes"},
};

// "GPT.layers.*" for "GPT.layers.3", because one change of the program checkpoints all repeated layers.
std::string pattern_of(std::string_view path) {
  std::string pattern;
  for (size_t i = 0; i < path.size();) {
    const size_t end = std::min(path.find('.', i), path.size());
    const std::string_view part = path.substr(i, end - i);
    const bool is_number = part.find_first_not_of("0123456789") == std::string_view::npos;
    if (i > 0) pattern += '.';
    pattern += is_number ? "*" : part;
    i = end + 1;
  }
  return pattern;
}

std::string fixed(double value, int digits) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits).ptr};
}

class CheckpointCandidate final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "checkpoint-candidate",
            .title = "modules whose activations could be recomputed",
            .help =
                "Modules that are called several times before the backward, ranked by the bytes that "
                "torch.utils.checkpoint would free at the peak for each nanosecond of recomputation. The "
                "tensors that a call saves then exist only during that call's part of the backward; its inputs stay. "
                "An opportunity, not a mistake: recomputation costs time.",
            .options = kOptions,
            .is_alternative = true};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Calls calls(context);
    number_patterns(context);
    const std::vector<bool> is_checkpointed = checkpointed_calls(context);
    for (const ModuleCallId call : p.module_calls.ids()) {
      Candidate& candidate = candidates_[pattern_[p.module_calls.module[call].value]];
      if (is_checkpointed[call.value]) {
        candidate.is_checkpointed = true;
        continue;
      }
      const Bytes bytes = calls.at_peak(call);
      if (bytes.value == 0) continue;
      candidate.freed += bytes;
      candidate.largest = std::max(candidate.largest, bytes);
      candidate.nanoseconds += p.module_calls.end[call].ns - p.module_calls.begin[call].ns;
      ++candidate.calls;
    }
    const int64_t least = context.peak.bytes.value / 100 * options.number("min-percent");
    for (Candidate& candidate : candidates_) {
      candidate.is_one = (candidate.freed - candidate.largest).value >= std::max<int64_t>(least, 1);
      if (candidate.is_one) rates_.push_back(candidate.rate());
    }
    if (rates_.empty()) return;
    std::ranges::sort(rates_, std::greater());

    std::vector<bool> wanted(p.module_calls.rows() + 1, false);
    for (uint32_t row = 1; row <= p.module_calls.rows(); ++row) {
      const ModuleCallId call{row};
      wanted[row] = !is_checkpointed[row] && calls.backward(call) != kNever &&
                    candidates_[pattern_[p.module_calls.module[call].value]].is_one;
    }
    const std::vector<Calls::Saved> all = calls.saved(wanted);
    for (size_t first = 0; first < all.size();) {
      size_t end = first + 1;
      while (end < all.size() && all[end].call == all[first].call) ++end;
      add(context, calls, std::span(all).subspan(first, end - first), sink);
      first = end;
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const ModuleId module = group.biggest().place.module;
    const std::string path = pattern_of(context.text.string(context.text.module_path[module]));
    const Candidate& candidate = candidates_[pattern_[module.value]];
    const auto rank = std::ranges::find(rates_, candidate.rate()) - rates_.begin() + 1;
    Description d;
    d.severity = Severity::info;
    d.title = "checkpoint " + path;
    d.message = counted(candidate.calls, "call") + " of " + path + " hold " + bytes_text(candidate.freed) +
                " at the peak only for their own backward. A checkpoint recomputes them, for about " +
                time_of(candidate) + " a step.";
    d.notes.push_back((rank == 1 ? "best" : "number " + std::to_string(rank)) + " of " + std::to_string(rates_.size()) +
                      ": frees " + fixed(candidate.rate() * 1e3, 0) + " MB for each second of recomputing");
    d.notes.push_back("while the backward of one call runs, " + bytes_text(candidate.largest) + " of it exist again");
    if (candidate.is_checkpointed) d.notes.push_back("other calls of " + path + " are checkpointed already");
    // The switch of a library checkpoints the layers of a stack.
    const bool is_layer = candidate.is_of_library && path.ends_with(".*");
    const std::string phrase = is_layer ? in_framework(context.in_use, Remedy::checkpointing) : "";
    d.fix.text = (phrase.empty() ? "torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False)" : phrase) +
                 ", about +" + time_of(candidate) + " a step";
    return d;
  }

 private:
  struct Candidate {
    Bytes freed, largest;
    int64_t nanoseconds = 0;
    uint64_t calls = 0;
    bool is_one = false;
    bool is_checkpointed = false;  // by the program, in some calls
    bool is_of_library = false;    // a module of transformers or diffusers
    double rate() const {
      return static_cast<double>(freed.value) / static_cast<double>(std::max<int64_t>(nanoseconds, 1));
    }
  };

  static std::string time_of(const Candidate& candidate) {
    const double ms = static_cast<double>(candidate.nanoseconds) / 1e6;
    return ms >= 1e3 ? fixed(ms / 1e3, 1) + " s" : fixed(ms, ms >= 10 ? 0 : 2) + " ms";
  }

  void number_patterns(const Context& context) {
    const Text& text = context.text;
    std::map<std::string, uint32_t> numbers;
    pattern_.assign(text.module_path.rows() + 1, 0);
    for (uint32_t id = 1; id <= text.module_path.rows(); ++id) {
      const auto next = static_cast<uint32_t>(numbers.size());
      pattern_[id] = numbers.try_emplace(pattern_of(text.string(text.module_path[ModuleId{id}])), next).first->second;
    }
    candidates_.assign(numbers.size() + 1, {});
  }

  void add(const Context& context, const Calls& calls, std::span<const Calls::Saved> saved, Sink& sink) {
    const ModuleCallId call = saved.front().call;
    Candidate& candidate = candidates_[pattern_[context.process.module_calls.module[call].value]];
    candidate.is_of_library =
        is_of_library_model(context.text, stack_of(context.process, context.text, saved.front().allocation));
    const ModuleCalls& all = context.process.module_calls;
    const auto [change, bytes] = checkpointed(context, calls, saved);
    const Place place{{}, {}, {}, all.module[call], {}};
    sink.add({place, {}, bytes, {all.end[call], calls.backward(call)}}, change);
  }

  std::vector<uint32_t> pattern_;      // by module
  std::vector<Candidate> candidates_;  // by pattern
  std::vector<double> rates_;          // rates of the candidates, best first
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::CheckpointCandidate)
