// Computes the remarks of renderings.h.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <functional>

#include "analyzer/compile_budget/renderings.h"
#include "analyzer/text/format.h"

namespace tapelens::compile_budget {
namespace {

using text::bytes_text;
using text::time_text;

std::string steps_text(int64_t ns) { return time_text(trace::Time{ns}); }

// The names of the points for which `holds` is true: "0.2, 0.1 and 0".
std::string names_where(const Sweep& sweep, const std::function<bool(const Point&)>& holds) {
  std::vector<std::string> names;
  for (const Point& point : sweep.points) {
    if (holds(point)) names.push_back(budget_name(point.budget));
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

std::string phase_text(model::Phase phase) {
  return phase == model::Phase::optimizer ? "the optimizer's step"
         : phase == model::Phase::other   ? "neither forward nor backward"
                                          : std::string("the ") + model::phase_name(phase);
}

std::string stop_text(const Sweep& sweep) {
  const Measurement& last = sweep.points.back().measured;
  switch (sweep.stop) {
    case Stop::nothing_compiled:
      return "No compiled graph was seen: no graph of torch.compile with a backward ran in " +
             text::plural(last.steps, "step", "steps") + ", so there is nothing that a budget changes.";
    case Stop::set_by_program:
      return "The program sets the budget itself (" + budget_name(last.in_effect.front()) +
             "), which has precedence over the one that it was run with: take that out to try others.";
    case Stop::cannot_be_set:
      return "The budget cannot be set in this run: " +
             (last.why_not_set.empty() ? "torch.compile may have read it before" : last.why_not_set) + ".";
    case Stop::first_failed:
      return "Nothing is known: the run with " + budget_name(sweep.points.back().budget) +
             ", which the others are compared with, " +
             (sweep.points.back().outcome == Outcome::failed ? "failed." : "came to no end.");
    case Stop::interrupted:
    case Stop::none:
      break;
  }
  return {};
}

void add_no_lower(const Sweep& sweep, std::vector<std::string>& all) {
  const Point* least = lowest(sweep);
  const auto is_below = [&](const Point& point) { return is_measured(point) && point.budget < least->budget; };
  if (least == nullptr) return;
  const std::string names = names_where(sweep, is_below);
  if (names.empty()) return;
  std::string text = "Below " + budget_name(least->budget) + " no budget lowers the peak";
  const auto first = std::ranges::find_if(sweep.points, is_below);
  const bool is_one_phase = std::ranges::all_of(sweep.points, [&](const Point& point) {
    return !is_below(point) || point.measured.phase == first->measured.phase;
  });
  if (is_one_phase) text += ": at " + names + " it is in " + phase_text(first->measured.phase);
  all.push_back(text + ".");
  // The peak is not lower although less is kept, so other memory grew by at least that much.
  const std::string recomputed = names_where(sweep, [&](const Point& point) {
    return is_below(point) && point.measured.kept.bytes < least->measured.kept.bytes &&
           point.measured.phase == model::Phase::backward;
  });
  if (!recomputed.empty()) {
    all.push_back("With " + recomputed +
                  " the graph keeps less, but the backward needs more memory to recompute the rest.");
  }
}

}  // namespace

std::string budget_name(double budget) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), budget).ptr;
  return {text.data(), end};
}

std::string change_text(int64_t value, int64_t base) {
  if (base == 0) return "-";
  std::array<char, 32> text{};
  const double percent = 100.0 * static_cast<double>(value - base) / static_cast<double>(base);
  std::snprintf(text.data(), text.size(), "%+.1f %%", percent);
  return text.data();
}

std::string outcome_text(const Point& point) {
  switch (point.outcome) {
    case Outcome::measured:
      if (!point.measured.is_compiled) return "no compiled graph was seen";
      return "peak " + bytes_text(point.measured.peak) +
             (point.measured.step_ns > 0 ? ", steps of " + steps_text(point.measured.step_ns) : "");
    case Outcome::out_of_memory:
      return "out of memory: " + why_text(point);
    case Outcome::failed:
      return "failed: " + point.why;
    case Outcome::cut_off:
      break;
  }
  return "not known: " + point.why;
}

std::string answer_text(const Sweep& sweep) {
  if (sweep.points.empty()) return "Nothing was run.";
  if (std::string stopped = stop_text(sweep); !stopped.empty()) return stopped;
  const Point* with = base(sweep);
  if (with == nullptr) return "No budget is known to have enough memory.";
  const Measurement& before = with->measured;
  const Point* at = knee(sweep);
  if (at == nullptr) {
    if (sweep.points.size() == 1) return "No other budget than " + budget_name(with->budget) + " was run.";
    return "No budget lowers the peak: with " + budget_name(with->budget) + " it is in " + phase_text(before.phase) +
           ", and the compiled graphs keep " + bytes_text(before.kept.bytes) + " of its " + bytes_text(before.peak) +
           ".";
  }
  const auto figures = [&](const Point& point) {
    const Measurement& now = point.measured;
    std::string text =
        "a peak of " + bytes_text(now.peak) + " (" + change_text(now.peak.value, before.peak.value) + ")";
    if (now.step_ns > 0 && before.step_ns > 0) {
      text += " and steps of " + steps_text(now.step_ns) + " (" + change_text(now.step_ns, before.step_ns) + ")";
    }
    return text;
  };
  std::string text = "Knee: " + budget_name(at->budget) + ", with " + figures(*at) + ".";
  const Point* least = lowest(sweep);
  if (least != at) text += " The lowest: " + budget_name(least->budget) + ", with " + figures(*least) + ".";
  return text;
}

std::vector<std::string> remarks(const Sweep& sweep) {
  std::vector<std::string> all;
  if (sweep.points.empty() || base(sweep) == nullptr) return all;
  const Measurement& before = base(sweep)->measured;
  add_no_lower(sweep, all);
  if (std::string names = names_where(sweep, [](const Point& p) { return p.outcome == Outcome::out_of_memory; });
      !names.empty()) {
    all.push_back("Out of memory with " + names + ": the others are compared with " + budget_name(base(sweep)->budget) +
                  ".");
  }
  if (std::string names = names_where(sweep, [](const Point& p) { return p.is_unknown(); }); !names.empty()) {
    all.push_back("Of " + names + " nothing is known.");
  }
  if (std::string names = names_where(sweep,
                                      [&](const Point& p) {
                                        const auto less =
                                            static_cast<double>((p.measured.peak - p.measured.later_peak).value);
                                        return is_measured(p) && p.measured.steps > 1 &&
                                               less > kSameWithin * static_cast<double>(before.peak.value);
                                      });
      !names.empty()) {
    all.push_back("With " + names +
                  " the peak is in the first step, which compiles: later steps need less (later_peak_bytes in JSON).");
  }
  const bool is_partly_set = std::ranges::any_of(sweep.points, [&](const Point& point) {
    return std::ranges::any_of(point.measured.in_effect, [&](double one) {
      return is_measured(point) && budget_name(one) != budget_name(point.budget);
    });
  });
  if (is_partly_set) all.emplace_back("For some graphs the program sets a budget itself, which has precedence.");
  if (std::ranges::any_of(sweep.points,
                          [](const Point& p) { return is_measured(p) && p.measured.in_effect.empty(); })) {
    all.emplace_back(
        "The partitioner did not read the budget: the program uses another partitioner, or its own cache of compiled "
        "graphs.");
  }
  if (before.is_simulated) {
    all.emplace_back("Steps of a simulated GPU have no time: measure the cost of recomputation on a real one.");
  } else if (before.steps < 3) {
    all.emplace_back(before.steps < 2 ? "No step ended after the first, which compiles: steps have no time."
                                      : "The time of a step is that of one alone: --steps gives more.");
  }
  if (const int64_t noise = noise_ns(sweep); noise > 0) {
    all.push_back("Steps of one run differ by up to " + steps_text(noise) +
                  ": smaller changes of their time are noise.");
  }
  if (sweep.stop == Stop::interrupted) all.emplace_back("Interrupted: results of the runs so far.");
  return all;
}

}  // namespace tapelens::compile_budget
