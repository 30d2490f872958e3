#include "analyzer/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "analyzer/plan/plan_text.h"
#include "policy/level.h"

namespace tapelens::plan {
namespace {

using experiment::Outcome;

// The shares between which the search is: percent of a step's estimated cost. With the first, recomputation does what
// the level `bitwise` does.
constexpr uint32_t kFewest = 5, kMost = 34;
// The most runs of that search.
constexpr int kMostGuesses = 4;
// A budget whose memory is at least this share of the size is good enough: less recomputation would save little time.
constexpr double kCloseEnough = 0.97;
// The share of the size at which a guess aims.
constexpr double kAim = 0.985;

bool fits(const Tried& tried, Bytes size) { return tried.outcome == Outcome::measured && tried.bytes <= size; }
bool is_close(const Tried& tried, Bytes size) {
  return static_cast<double>(tried.bytes.value) >= kCloseEnough * static_cast<double>(size.value);
}

Bytes bytes_of(const experiment::Measurement& measured) {
  return measured.uses_gpu ? measured.reserved : measured.peak;
}

class Search {
 public:
  Search(experiment::Runs& runs, const Constraints& wanted) : runs_(runs), wanted_(wanted) { plan_.size = wanted.size; }

  trace::Result<Plan> run() {
    const auto stock = tried({});
    if (!stock) return stock.error();
    if (is_over()) return std::move(plan_);
    if (plan_.tried.front().is_unknown()) return stopped(Stop::failed);
    if (plan_.chosen) return std::move(plan_);
    // The least that is possible comes next: whether to search at all.
    const auto least = tried(plan::least());
    if (!least) return least.error();
    if (is_over()) return std::move(plan_);
    if (!plan_.chosen) return last_resort();
    // Each group has the rewrites of those before it: if one is not enough, those are not.
    for (const policy::Preset& group : std::views::reverse(policy::kPresets)) {
      if (group.name == policy::kRecompute) continue;
      const auto done = tried({std::string(group.name)});
      if (!done) return done.error();
      if (is_over()) return std::move(plan_);
      if (!*done) break;
    }
    return plan_.tried[*plan_.chosen].choice.level == policy::kRecompute ? narrowed() : std::move(plan_);
  }

 private:
  bool is_over() const { return plan_.stop == Stop::interrupted; }
  Plan stopped(Stop stop) {
    plan_.stop = stop;
    return std::move(plan_);
  }

  trace::Result<Plan> last_resort() {
    if (wanted_.host_memory == 0 ||
        std::ranges::none_of(plan_.tried, [](const Tried& one) { return one.measured.uses_gpu; }))
      return stopped(Stop::too_small);
    // With less recomputation more is copied, but no recomputed values are there together in the backward.
    for (Choice choice : {least_with_host(), cheap()}) {
      choice.offloads = true;
      choice.host_memory = wanted_.host_memory;
      const auto done = tried(choice);
      if (!done) return done.error();
      if (is_over() || *done) return std::move(plan_);
    }
    return stopped(Stop::too_small);
  }

  // Too small a share does not fit, and too large a one costs time.
  trace::Result<Plan> narrowed() {
    Share none{kFewest, bytes_of_level(cheap().level)}, enough{kMost, plan_.tried[*plan_.chosen].bytes};
    for (int guess = 0; guess < kMostGuesses; ++guess) {
      if (enough.percent - none.percent < 2 || is_close(plan_.tried[*plan_.chosen], wanted_.size)) break;
      // A curve with a flat part is left by halving.
      const uint32_t between = guess != 2 ? guessed(none, enough) : (none.percent + enough.percent) / 2;
      const auto done = tried({std::string(policy::kRecompute), between});
      if (!done) return done.error();
      if (is_over()) break;
      const Tried& last = plan_.tried.back();
      (*done ? enough : none) = {between, last.outcome == Outcome::measured ? last.bytes : Bytes{}};
    }
    return std::move(plan_);
  }

  struct Share {
    uint32_t percent = 0;
    Bytes bytes{};  // 0: not known
  };
  // On the line through both; halfway if the memory of one is not known.
  uint32_t guessed(const Share& none, const Share& enough) const {
    const uint32_t least = none.percent + 1, most = enough.percent - 1;
    if (none.bytes <= enough.bytes) return (least + most) / 2;
    const double saved = static_cast<double>((none.bytes - enough.bytes).value);
    const double wanted = static_cast<double>(none.bytes.value) - kAim * static_cast<double>(wanted_.size.value);
    const double between = none.percent + (enough.percent - none.percent) * wanted / saved;
    return static_cast<uint32_t>(std::clamp(std::ceil(between), static_cast<double>(least), static_cast<double>(most)));
  }
  Bytes bytes_of_level(std::string_view level) const {
    const auto found = std::ranges::find(plan_.tried, level, [](const Tried& one) { return one.choice.level; });
    return found != plan_.tried.end() && found->outcome == Outcome::measured ? found->bytes : Bytes{};
  }

  trace::Result<std::optional<Tried>> ran(const Choice& choice, const std::string& gpu) {
    experiment::Variation variation;
    variation.gpu = gpu;
    variation.rewrites = settings_of(choice);
    variation.name = name_of(choice) + (gpu == wanted_.roomy ? " roomy" : "");
    std::ranges::replace(variation.name, ' ', '-');
    auto attempt = runs_.run(variation, name_of(choice));
    if (!attempt) return attempt.error();
    if (!*attempt) return std::optional<Tried>();
    Tried done{std::move(**attempt), choice};
    done.bytes = bytes_of(done.measured);
    return std::optional(std::move(done));
  }

  // Whether a device of this size may serve it all the same.
  bool may_fit(const Tried& roomy) const {
    return roomy.outcome == Outcome::measured && roomy.measured.uses_gpu && roomy.bytes > wanted_.size &&
           roomy.measured.allocated <= wanted_.size;
  }

  // Runs it, and chooses it if it fits: a later run is always of a cheaper choice.
  trace::Result<bool> tried(const Choice& choice) {
    auto attempt = ran(choice, wanted_.roomy.empty() ? wanted_.gpu : wanted_.roomy);
    if (attempt && *attempt && !wanted_.roomy.empty() && may_fit(**attempt)) {
      auto again = ran(choice, wanted_.gpu);
      const bool is_full = again && *again && (*again)->outcome == Outcome::out_of_memory;
      if (!is_full) attempt = std::move(again);  // else the roomy run says what it needs
    }
    if (!attempt) return attempt.error();
    if (!*attempt) {
      plan_.stop = Stop::interrupted;
      plan_.chosen.reset();
      return false;
    }
    Tried done = std::move(**attempt);
    const bool is_enough = fits(done, wanted_.size);
    runs_.tell(experiment::result_text(name_of(done.choice), outcome_text(done, wanted_.size), done));
    plan_.tried.push_back(std::move(done));
    if (is_enough) plan_.chosen = plan_.tried.size() - 1;
    return is_enough;
  }

  experiment::Runs& runs_;
  const Constraints wanted_;
  Plan plan_;
};

}  // namespace

Choice cheap() { return {"bitwise"}; }
Choice least() { return {std::string(policy::kRecompute), kMost}; }

Choice least_with_host() {
  Choice choice = least();
  choice.offloads = true;
  return choice;
}

policy::RewriteSettings settings_of(const Choice& choice) {
  policy::RewriteSettings settings;
  settings.on = !choice.level.empty();
  settings.level = choice.level;
  if (choice.budget != 0) settings.budget = choice.budget / 100.0;
  if (choice.offloads) {
    settings.allowed.emplace_back(policy::kOffload);
    settings.host_memory = choice.host_memory;
  }
  return settings;
}

const Tried* Plan::least() const {
  const Tried* found = nullptr;
  for (const Tried& one : tried) {
    if (one.outcome == Outcome::measured && (found == nullptr || one.bytes < found->bytes)) found = &one;
  }
  return found;
}

trace::Result<Plan> find(experiment::Runs& runs, const Constraints& wanted) { return Search(runs, wanted).run(); }

}  // namespace tapelens::plan
