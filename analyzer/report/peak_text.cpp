// See sentences.h.
#include <algorithm>
#include <span>

#include "analyzer/model/device_traits.h"
#include "analyzer/report/sentences.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::bytes_text;
using text::count_text;
using text::fit;
using text::plural;
using text::time_text;

namespace {

std::string process_name(const Report& r, uint32_t pid, int32_t rank) {
  if (r.processes.size() < 2) return "";
  return rank >= 0 ? "rank " + std::to_string(rank) : "process " + std::to_string(pid);
}

// "3 of 16", "15, the last of 16", "39998, of steps 39997 to 39999".
std::string step_text(const Report& r, uint32_t step) {
  const auto whole = whole_steps(r);
  std::string text = std::to_string(step);
  if (whole.size() < 2) return text;
  const uint32_t first = whole.front().index, last = whole.back().index;
  if (first > 0) return text + ", of steps " + std::to_string(first) + " to " + std::to_string(last);
  return text + (step == last ? ", the last of " : " of ") + count_text(uint64_t{last} + 1);
}

// The recorded steps, if not all steps were recorded: "1:2", or "39997:" for all from that step on.
std::string of_steps(std::string_view steps) {
  if (!steps.ends_with(':')) return "of steps " + std::string(steps);
  steps.remove_suffix(1);
  return "from step " + std::string(steps) + " on";
}

}  // namespace

std::string title_text(const Report& r) {
  const Peak& p = r.peak;
  std::string title, alive;
  switch (r.options.at.kind) {
    case At::Kind::peak:
      title = r.recording.steps.empty() ? "Peak " : "Peak " + of_steps(r.recording.steps) + ": ";
      break;
    case At::Kind::step:
      title = "Peak of step " + std::to_string(r.options.at.step) + ": ";
      break;
    case At::Kind::out_of_memory:
      title = "Out of memory with ";
      alive = " alive";
      break;
    case At::Kind::time:
      title = "Alive at this moment: ";
      break;
  }
  std::string where = " on " + p.device;
  if (const std::string process = process_name(r, p.pid, p.rank); !process.empty()) where += " of " + process;
  return title + bytes_text(p.bytes) + alive + where;
}

std::string when_text(const Report& r) {
  const Peak& p = r.peak;
  const std::string step = step_text(r, p.step);
  std::string when = time_text(p.time) + " after the start, ";
  if (!r.recording.imported_from.empty()) {
    when.erase(when.size() - 2);  // steps are not known
    if (p.phase == model::Phase::optimizer) when += ", in an optimizer step";
    if (p.phase != model::Phase::optimizer && p.phase != model::Phase::other)
      when += ", in a " + std::string(phase_name(p.phase));
  } else if (p.is_behind_steps) {
    const std::string behind = "after the last step, " + std::to_string(p.step - 1);
    when += p.phase == model::Phase::other ? behind : "in the " + std::string(phase_name(p.phase)) + " " + behind;
  } else if (p.phase == model::Phase::other) {
    when += "in step " + step + ", outside of its forward, backward and optimizer";
  } else {
    when += std::string(p.phase == model::Phase::optimizer ? "in the optimizer step of step " : "in the ") +
            (p.phase == model::Phase::optimizer ? "" : std::string(phase_name(p.phase)) + " of step ") + step;
  }
  if (!p.source.empty()) when += ", at " + p.source;
  return when + "; " + plural(p.live_allocations, "allocation", "allocations") + " alive";
}

std::string run_text(const Report& r) {
  constexpr unsigned kMostCommand = 200;  // the command may contain a whole script
  std::string facts =
      r.recording.imported_from.empty() ? fit(r.recording.command, kMostCommand) : r.recording.imported_from;
  if (!r.recording.torch_version.empty())
    facts += (facts.empty() ? "PyTorch " : ", PyTorch ") + r.recording.torch_version;
  facts += ", " + time_text(r.recording.duration) + ", " + count_text(r.recording.events) + " events";
  return facts;
}

std::string failure_title(const Failure& failure) {
  if (failure.count == 1) return "Out of memory";
  return "Out of memory, " + count_text(failure.count) + " times; the last one";
}

std::string failure_text(const Failure& failure) {
  const OutOfMemory& last = failure.request;
  std::string text = time_text(last.time) + " after the start, " + last.device + " had no " + bytes_text(last.bytes);
  if (!last.op.empty()) text += " for " + last.op;
  if (!last.source.empty()) text += " at " + last.source;
  if (!last.module.empty()) text += " (" + last.module + ")";
  text += ": " + bytes_text(last.allocated) + " were allocated and " +
          bytes_text(Bytes{last.reserved.value - last.allocated.value}) +
          " were reserved and unused, in pieces of at most " + bytes_text(last.largest_hole);
  if (last.free) text += "; " + bytes_text(*last.free) + " were free on the device";
  return text;
}

std::vector<std::pair<std::string, std::string>> failure_commands(const Report& r) {
  const Failure& failure = *r.failure;
  const std::string process = r.processes.size() > 1 ? " --process " + std::to_string(failure.pid) : "";
  const std::string of = r.recording.file + process + " --device " + failure.request.device;
  std::vector<std::pair<std::string, std::string>> commands;
  if (r.options.at.kind != At::Kind::out_of_memory) {
    commands.emplace_back("tapelens report " + of + " --at oom", "the memory at that time");
  }
  if (model::device_type(failure.request.device).is_modelled) {
    commands.emplace_back("tapelens advise " + of, "the changes with which it fits");
  }
  return commands;
}

// The memory that PyTorch's allocator had reserved on the device at the peak.
std::string reserved_text(const Reserved& reserved) {
  std::string text = "in blocks of " + bytes_text(reserved.allocated);
  if (reserved.waiting.value > 0) text += ", " + bytes_text(reserved.waiting) + " more still used by other streams";
  if (!reserved.reserved || reserved.segments.empty()) return text;
  const Bytes unused{reserved.reserved->value - reserved.allocated.value - reserved.waiting.value};
  return text + ", " + bytes_text(*reserved.reserved) + " reserved in " +
         plural(reserved.segments.size(), "segment", "segments") + "; " + bytes_text(unused) +
         " of that unused, in pieces of at most " + bytes_text(reserved.largest_hole) +
         (reserved.unusable > Bytes{}
              ? ", " + bytes_text(reserved.unusable) + " in pieces smaller than any request of the program"
              : "");
}

std::string reserved_short(const Reserved& reserved) {
  if (!reserved.reserved || reserved.segments.empty()) return reserved_text(reserved);
  const Bytes unused{reserved.reserved->value - reserved.allocated.value - reserved.waiting.value};
  return bytes_text(*reserved.reserved) + " reserved, " + bytes_text(unused) + " of that unused";
}

// The bytes that are alive at the begin of a step should not grow. The first begin does not count, because gradients
// and optimizer state do not exist then.
std::string growth_text(const Report& r) {
  constexpr size_t kLeast = 3, kShown = 4;  // begins
  constexpr int64_t kWorth = 200;           // divisor of the peak: the least growth from each begin to the next
  if (r.steps.size() < kLeast + 1) return "";
  const std::span<const Step> steps = std::span(r.steps).subspan(1);
  for (size_t i = 1; i < steps.size(); ++i) {
    if ((steps[i].begin_live - steps[i - 1].begin_live).value <= r.peak.bytes.value / kWorth) return "";
  }
  std::string text;
  for (size_t i = steps.size() > kShown ? steps.size() - kShown : 0; i < steps.size(); ++i) {
    text += (text.empty() ? "" : " -> ") + bytes_text(steps[i].begin_live);
  }
  const Bytes each{(steps.back().begin_live - steps.front().begin_live).value / static_cast<int64_t>(steps.size() - 1)};
  return "Memory at the begin of steps grows: " + text + ", +" + bytes_text(each) + " a step. This looks like a leak" +
         (r.peak.lacks_variables ? ": tapelens record --referrers names the variables that hold tensors." : ".");
}

std::string variables_text(const Report& r) {
  constexpr int64_t kWorth = 20;  // divisor of the peak
  const auto held = std::ranges::find(r.peak.by_category, peak::HolderKind::program, &peak::Category::kind);
  if (!r.peak.lacks_variables || held == r.peak.by_category.end() || held->bytes.value * kWorth < r.peak.bytes.value) {
    return "";
  }
  return "The program still refers to " + bytes_text(held->bytes) +
         " of other live tensors: tapelens record --referrers names the variables.";
}

std::string holders_text(const Allocation& a) {
  const Holder& h = main_holder(a);
  std::string text = holder_text(h);
  if (h.kind == peak::HolderKind::program && h.field.empty()) text += ": the program still refers to it";
  // Name other holders too, because the release of the first one would not free it.
  const Holder* save = nullptr;
  size_t saves = 0;
  for (const Holder& more : a.holders) {
    if (&more == &h || more.kind == peak::HolderKind::op) continue;
    if (more.kind == peak::HolderKind::save) {
      if (saves++ == 0) save = &more;
    } else {
      text += ", " + holder_text(more);
    }
  }
  if (save == nullptr) return text;
  if (h.kind == peak::HolderKind::save) return text + ", and " + plural(saves, "other save", "other saves");
  return text + ", saved as " + holder_text(*save) + (saves > 1 ? " and " + std::to_string(saves - 1) + " more" : "");
}

std::string since_text(const Report& r, uint32_t step) {
  const uint32_t first = r.steps.empty() ? 0 : r.steps.front().index;
  return step < first ? "before step " + std::to_string(first) : "step " + std::to_string(step);
}

}  // namespace tapelens::report
