#include "analyzer/plan/plan.h"

#include <algorithm>
#include <ranges>

#include "analyzer/plan/plan_text.h"
#include "policy/level.h"

namespace tapelens::plan {
namespace {

using experiment::Outcome;

// The shares between which the search bisects: percent of a step's estimated cost.
constexpr uint32_t kFewest = 5, kMost = 34, kExact = 2;
// A budget whose memory is at least this share of the size is good enough: less recomputation would save little time.
constexpr double kCloseEnough = 0.97;

bool fits(const Tried& tried, Bytes size) { return tried.outcome == Outcome::measured && tried.bytes <= size; }
bool is_close(const Tried& tried, Bytes size) {
  return static_cast<double>(tried.bytes.value) >= kCloseEnough * static_cast<double>(size.value);
}

Bytes bytes_of(const experiment::Reading& reading) { return reading.uses_gpu ? reading.reserved : reading.peak; }

class Search {
 public:
  Search(experiment::Runs& runs, const Wanted& wanted) : runs_(runs), wanted_(wanted) { plan_.size = wanted.size; }

  trace::Result<Plan> run() {
    const auto stock = tried({});
    if (!stock) return stock.error();
    if (is_over()) return std::move(plan_);
    if (plan_.tried.front().is_unknown()) return stopped(Stop::failed);
    if (plan_.chosen) return std::move(plan_);
    // The least that is possible comes next: whether to search at all.
    const auto least = tried({std::string(policy::kRecompute), kMost});
    if (!least) return least.error();
    if (is_over()) return std::move(plan_);
    if (!plan_.chosen) return stopped(Stop::too_small);
    // Each group has the rewrites of those before it: if one is not enough, those are not.
    for (const policy::Group& group : std::views::reverse(policy::kGroups)) {
      if (group.name == policy::kRecompute) continue;
      const auto done = tried({std::string(group.name)});
      if (!done) return done.error();
      if (is_over()) return std::move(plan_);
      if (!*done) break;
    }
    return plan_.tried[*plan_.chosen].choice.level == policy::kRecompute ? bisected() : std::move(plan_);
  }

 private:
  bool is_over() const { return plan_.stop == Stop::interrupted; }
  Plan stopped(Stop stop) {
    plan_.stop = stop;
    return std::move(plan_);
  }

  // Too small a share does not fit, and too large a one costs time.
  trace::Result<Plan> bisected() {
    uint32_t none = kFewest, fits_with = kMost;
    while (fits_with - none > kExact && !is_close(plan_.tried[*plan_.chosen], wanted_.size)) {
      const uint32_t between = (none + fits_with) / 2;
      const auto done = tried({std::string(policy::kRecompute), between});
      if (!done) return done.error();
      if (is_over()) break;
      (fits(plan_.tried.back(), wanted_.size) ? fits_with : none) = between;
    }
    return std::move(plan_);
  }

  // Runs it, and chooses it if it fits: a later run is always of a cheaper choice.
  trace::Result<bool> tried(Choice choice) {
    experiment::Variation variation;
    variation.gpu = wanted_.gpu;
    variation.rewrites = settings_of(choice);
    variation.name = name_of(choice);
    std::ranges::replace(variation.name, ' ', '-');
    auto attempt = runs_.run(variation, name_of(choice));
    if (!attempt) return attempt.error();
    if (!*attempt) {
      plan_.stop = Stop::interrupted;
      plan_.chosen.reset();
      return false;
    }
    Tried done{std::move(**attempt), std::move(choice)};
    done.bytes = bytes_of(done.reading);
    const bool is_enough = fits(done, wanted_.size);
    runs_.tell(experiment::result_text(name_of(done.choice), outcome_text(done, wanted_.size), done));
    plan_.tried.push_back(std::move(done));
    if (is_enough) plan_.chosen = plan_.tried.size() - 1;
    return is_enough;
  }

  experiment::Runs& runs_;
  const Wanted wanted_;
  Plan plan_;
};

}  // namespace

policy::Settings settings_of(const Choice& choice) {
  policy::Settings settings;
  settings.on = !choice.level.empty();
  settings.level = choice.level;
  if (choice.budget != 0) settings.budget = choice.budget / 100.0;
  return settings;
}

const Tried* Plan::least() const {
  const Tried* found = nullptr;
  for (const Tried& one : tried) {
    if (one.outcome == Outcome::measured && (found == nullptr || one.bytes < found->bytes)) found = &one;
  }
  return found;
}

trace::Result<Plan> find(experiment::Runs& runs, const Wanted& wanted) { return Search(runs, wanted).run(); }

}  // namespace tapelens::plan
