#include "analyzer/compile_budget/compile_budget.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "analyzer/compile_budget/renderings.h"

namespace tapelens::compile_budget {
namespace {

constexpr double kSameBudget = 1e-9;

bool is_same(double one, double other) { return std::abs(one - other) < kSameBudget; }

// Whether any graph was partitioned with the requested budget, as far as that is known.
bool is_in_effect(const Point& point) {
  const auto& budgets = point.measured.in_effect;
  return budgets.empty() || std::ranges::any_of(budgets, [&](double one) { return is_same(one, point.budget); });
}

// For a run that a full device did not end before the budget was read.
Stop stop_after(const Point& point, bool is_first) {
  const Measurement& measured = point.measured;
  if (!measured.why_not_set.empty()) return Stop::cannot_be_set;
  if (point.is_unknown()) return is_first ? Stop::first_failed : Stop::none;
  if (!measured.is_compiled) {
    return is_first && point.outcome == Outcome::measured ? Stop::nothing_compiled : Stop::none;
  }
  if (!measured.is_set) return Stop::cannot_be_set;
  return is_in_effect(point) ? Stop::none : Stop::set_by_program;
}

int64_t tolerance(const Sweep& sweep) {
  const Point* with = base(sweep);
  return with == nullptr ? 0 : std::llround(static_cast<double>(with->measured.peak.value) * kSameWithin);
}

}  // namespace

trace::Result<std::vector<double>> parse_budgets(std::string_view text) {
  std::vector<double> budgets = {1};
  const trace::Error wrong{"'" + std::string(text) + "' is not a list of budgets, like 0.3,0.5: numbers from 0 to 1",
                           trace::ErrorKind::usage};
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(','));
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, std::chars_format::fixed);
    if (error != std::errc() || end != word.data() + word.size() || !(value >= 0 && value <= 1)) return wrong;
    if (std::ranges::none_of(budgets, [&](double other) { return is_same(value, other); })) budgets.push_back(value);
    rest.remove_prefix(word.size());
    if (rest.empty()) break;
    rest.remove_prefix(1);
    if (rest.empty()) return wrong;
  }
  if (text.empty()) return wrong;
  std::ranges::sort(budgets, std::greater<>());
  return budgets;
}

trace::Result<Sweep> sweep(experiment::Runs& runs, const std::vector<double>& budgets) {
  Sweep sweep;
  for (const double budget : budgets) {
    experiment::Variation variation;
    variation.activation_budget = budget;
    variation.name = "budget-" + budget_name(budget);
    const std::string name = "budget " + budget_name(budget);
    auto attempt = runs.run(variation, name + ", run " + std::to_string(sweep.points.size() + 1) + " of at most " +
                                           std::to_string(budgets.size()));
    if (!attempt) return attempt.error();
    if (!*attempt) {
      sweep.stop = Stop::interrupted;
      break;
    }
    sweep.points.push_back({std::move(**attempt), budget});
    const Point& point = sweep.points.back();
    runs.tell(experiment::result_text(name, outcome_text(point), point));
    sweep.stop = stop_after(point, sweep.points.size() == 1);
    if (sweep.stop != Stop::none) break;
  }
  return sweep;
}

bool is_measured(const Point& point) {
  return point.outcome == Outcome::measured && point.measured.is_compiled && is_in_effect(point);
}

const Point* base(const Sweep& sweep) {
  const auto found = std::ranges::find_if(sweep.points, is_measured);
  return found == sweep.points.end() ? nullptr : &*found;
}

const Point* lowest(const Sweep& sweep) {
  const Point* found = nullptr;
  for (const Point& point : sweep.points) {
    if (!is_measured(point)) continue;
    if (found == nullptr || point.measured.peak.value + tolerance(sweep) < found->measured.peak.value) found = &point;
  }
  return found;
}

const Point* knee(const Sweep& sweep) {
  const Point *with = base(sweep), *least = lowest(sweep);
  if (with == least) return nullptr;
  const auto share = [](int64_t part, int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); };
  const auto gain = [&](const Point& point) {
    const Measurement &now = point.measured, &before = with->measured;
    const double saved = share((before.peak - now.peak).value, before.peak.value);
    if (is_time_noise(sweep, point) || now.step_ns < before.step_ns) return saved;
    return saved - share(now.step_ns - before.step_ns, before.step_ns);
  };
  const auto is_choice = [&](const Point& point) {
    return is_measured(point) && &point != with && no_lower_than(sweep, point) == nullptr;
  };
  double largest = gain(*least);
  for (const Point& point : sweep.points) {
    if (is_choice(point)) largest = std::max(largest, gain(point));
  }
  const double enough = largest > 0 ? kKneePart * largest : largest;
  return &*std::ranges::find_if(sweep.points,
                                [&](const Point& point) { return is_choice(point) && gain(point) >= enough; });
}

int64_t noise_ns(const Sweep& sweep) {
  int64_t noise = 0;
  for (const Point& point : sweep.points) {
    if (is_measured(point)) noise = std::max(noise, point.measured.most_step_ns - point.measured.least_step_ns);
  }
  return noise;
}

bool is_time_noise(const Sweep& sweep, const Point& point) {
  const int64_t now = point.measured.step_ns, before = base(sweep)->measured.step_ns;
  return now <= 0 || before <= 0 || std::abs(now - before) <= noise_ns(sweep);
}

const Point* no_lower_than(const Sweep& sweep, const Point& point) {
  if (!is_measured(point)) return nullptr;
  for (const Point& other : sweep.points) {
    if (&other == &point) break;
    if (is_measured(other) && point.measured.peak.value + tolerance(sweep) >= other.measured.peak.value) return &other;
  }
  return nullptr;
}

}  // namespace tapelens::compile_budget
