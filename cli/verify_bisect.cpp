// The order of the runs, and the search for the site that makes the difference.
#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "cli/closing.h"
#include "cli/text.h"
#include "cli/verify.h"

namespace tapelens::cli {
namespace {

// Runs with less and less of what is applied.
class Search {
 public:
  Search(const VerifySetting& setting, const rewrites::Settings& applying, const VerifiedRun& bare,
         const VerifiedRun& rewritten)
      : setting_(setting), applying_(applying), bare_(bare), rewritten_(rewritten) {}

  // Whether all of the difference comes from rewrites that add in another order, which is what they say of themselves:
  // the run without them, and with all else, is the same as the bare one.
  bool is_rounding() {
    if (std::ranges::none_of(rewritten_.applied, rewrites::reorders_sums, &rewrites::Site::rewrite)) return false;
    rewrites::Settings others = applying_;
    std::erase_if(others.allowed, rewrites::reorders_sums);
    std::erase_if(others.sites, [](const rewrites::Site& site) { return rewrites::reorders_sums(site.rewrite); });
    if (others.level.empty() && others.allowed.empty() && others.sites.empty()) return true;  // that is the bare one
    const auto answer = differs(others, "without what adds in another order");
    return answer && !*answer;
  }

  // Fills in the rewrite and the site, as far as they can be found.
  void find(Difference& difference) {
    if (applying_.level.empty() && applying_.allowed.empty()) {
      if (const auto site = first_site(applying_.sites)) take(*site, difference);
      return;
    }
    std::vector<std::string> ids;
    for (const rewrites::Site& site : rewritten_.applied) {
      if (std::ranges::find(ids, site.rewrite) == ids.end()) ids.push_back(site.rewrite);
    }
    const auto guilty = first(ids.size(), "rewrites", [&](size_t count) {
      return only({ids.begin(), ids.begin() + static_cast<int64_t>(count)});
    });
    if (!guilty) return;
    difference.rewrite = ids[*guilty];
    std::vector<rewrites::Site> sites;
    std::ranges::copy_if(rewritten_.applied, std::back_inserter(sites),
                         [&](const rewrites::Site& site) { return site.rewrite == difference.rewrite; });
    // Alone, and found again by what a plan can say of them, they may make no difference: then no site is named.
    if (sites.size() > 1 && !differs(at(sites, sites.size()), "the sites of " + difference.rewrite).value_or(false))
      return;
    if (const auto site = first_site(sites)) take(*site, difference);
  }

 private:
  static void take(const rewrites::Site& site, Difference& difference) {
    difference.rewrite = site.rewrite;
    difference.site = site;
  }

  std::optional<rewrites::Site> first_site(const std::vector<rewrites::Site>& sites) {
    const auto guilty = first(sites.size(), "sites", [&](size_t count) { return at(sites, count); });
    return guilty ? std::optional(sites[*guilty]) : std::nullopt;
  }

  rewrites::Settings at(const std::vector<rewrites::Site>& sites, size_t count) const {
    rewrites::Settings applying = applying_;
    applying.level.clear();
    applying.allowed.clear();
    applying.sites.assign(sites.begin(), sites.begin() + static_cast<int64_t>(count));
    return applying;
  }

  // What the level and --allow have everywhere stays so; what only the plan names stays at its sites.
  rewrites::Settings only(const std::vector<std::string>& ids) const {
    rewrites::Settings applying = applying_;
    applying.level.clear();
    applying.allowed.clear();
    const int highest = rewrites::highest_level(applying_.level);
    for (const std::string& id : ids) {
      const bool is_allowed = std::ranges::find(applying_.allowed, id) != applying_.allowed.end();
      const bool has_level = std::ranges::any_of(rewritten_.rewritten.sites, [&](const peak::RewrittenSite& site) {
        return site.rewrite == id && site.level <= highest;
      });
      if (is_allowed || has_level) applying.allowed.push_back(id);
    }
    std::erase_if(applying.sites,
                  [&](const rewrites::Site& site) { return std::ranges::find(ids, site.rewrite) == ids.end(); });
    return applying;
  }

  // The number of the first of `all` that makes the difference: none of them makes none, all of them do.
  std::optional<size_t> first(size_t all, const std::string& what,
                              const std::function<rewrites::Settings(size_t)>& of) {
    if (all == 0) return std::nullopt;
    size_t same = 0, different = all;
    while (different - same > 1) {
      const size_t middle = same + (different - same) / 2;
      const auto answer = differs(of(middle), std::to_string(middle) + " of " + std::to_string(all) + " " + what);
      if (!answer) return std::nullopt;
      (*answer ? different : same) = middle;
    }
    return different - 1;
  }

  std::optional<bool> differs(const rewrites::Settings& applying, const std::string& what) {
    const std::string name = "search-" + std::to_string(++runs_);
    const auto run = run_recorded(setting_, applying, name, false);
    if (!run) {
      say("the search for the site ends: " + run.error().message);
      return std::nullopt;
    }
    Verdict unused;
    const bool answer = compare(bare_, *run, unused).has_value();
    say("run " + std::to_string(3 + runs_) + ": " + what + ": " + (answer ? "different" : "the same"));
    return answer;
  }

  const VerifySetting& setting_;
  const rewrites::Settings& applying_;
  const VerifiedRun& bare_;
  const VerifiedRun& rewritten_;
  int runs_ = 0;
};

std::string name_of(const rewrites::Settings& applying) {
  std::string name = applying.level;
  for (const std::string& id : applying.allowed) name += (name.empty() ? "" : ", ") + id;
  if (!applying.sites.empty()) {
    name += (name.empty() ? "" : ", ") + std::to_string(applying.sites.size()) +
            (applying.sites.size() == 1 ? " site of the plan" : " sites of the plan");
  }
  return name.empty() ? "nothing" : name;
}

Verdict failed(Verdict verdict, int exit_code, const std::string& problem) {
  verdict.exit_code = exit_code;
  verdict.problem = problem;
  return verdict;
}

}  // namespace

Verdict verify(const VerifySetting& setting, const rewrites::Settings& applying) {
  Verdict verdict;
  say("run 1: bare");
  auto bare = run_recorded(setting, {}, "bare", true);
  if (!bare) return failed(verdict, kNothingRecorded, bare.error().message);
  verdict.bare = *bare;
  if (!bare->not_started.empty()) return failed(verdict, kCommandFailed, bare->not_started);
  if (bare->exit_code != 0) {
    return failed(verdict, kCommandFailed,
                  "the command ended with exit code " + std::to_string(bare->exit_code) + ": nothing was compared");
  }
  if (bare->incomplete) {
    return failed(verdict, kIncomplete,
                  "the recording of the bare run is not complete: compare fewer steps with --steps");
  }
  if (!bare->was_recorded) {
    return failed(verdict, kNothingRecorded,
                  "nothing was compared: no process of this command ran an operator of a LibTorch that can be recorded "
                  "(see `tapelens doctor`)");
  }
  if (bare->processes.empty()) {
    return failed(verdict, kNoVerdict,
                  "nothing was compared: no backward from a loss of one number and no step of an optimizer was seen");
  }

  say("run 2: with " + name_of(applying));
  auto rewritten = run_recorded(setting, applying, "rewritten", false);
  if (!rewritten) return failed(verdict, kNothingRecorded, rewritten.error().message);
  verdict.rewritten = *rewritten;
  if (rewritten->incomplete) {
    return failed(verdict, kIncomplete,
                  "the recording of the rewritten run is not complete: compare fewer steps with --steps");
  }
  verdict.difference = compare(*bare, *rewritten, verdict);
  if (!verdict.difference) {
    // The same losses alone prove nothing of the gradients.
    verdict.identical = verdict.has_verdict = verdict.gradients + verdict.parameters > 0;
    verdict.exit_code = verdict.has_verdict ? kIdentical : kNoVerdict;
    return verdict;
  }

  say("run 3: bare again, since they differ");
  auto again = run_recorded(setting, {}, "bare-again", false);
  if (!again) return failed(verdict, kNothingRecorded, again.error().message);
  Verdict unused;
  if (auto difference = compare(*bare, *again, unused)) {
    verdict.deterministic = verdict.has_verdict = false;
    verdict.difference = std::move(difference);
    verdict.exit_code = kNoVerdict;
    return verdict;
  }
  verdict.exit_code = kDiffers;
  Search search(setting, applying, *bare, *rewritten);
  if (verdict.difference->kind != "exit_code" && search.is_rounding()) {
    say("two more runs: how far the gradients of the first step are apart, and from float64");
    verdict.rounding = measure_rounding(setting, applying, *bare);
  } else {
    search.find(*verdict.difference);
  }
  return verdict;
}

}  // namespace tapelens::cli
