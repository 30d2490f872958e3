#include "analyzer/verify/verify.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "analyzer/text/format.h"
#include "analyzer/verify/compare.h"

namespace tapelens::verify {
namespace {

using trace::Error;
using trace::ErrorKind;

// Searches for the rewrite that makes the difference, by runs with fewer rewrites.
class Search {
 public:
  Search(ProgramRuns& runs, const policy::RewriteSettings& applying, const ProgramRun& bare,
         const ProgramRun& rewritten)
      : runs_(runs), applying_(applying), bare_(bare), rewritten_(rewritten) {}

  // Whether only rewrites that reorder sums make the difference, as those rewrites declare: the run without them, and
  // with all others, equals the bare one.
  bool is_rounding() {
    if (std::ranges::none_of(rewritten_.applied, policy::reorders_sums, &policy::Site::rewrite)) return false;
    policy::RewriteSettings others = applying_;
    std::erase_if(others.allowed, policy::reorders_sums);
    std::erase_if(others.sites, [](const policy::Site& site) { return policy::reorders_sums(site.rewrite); });
    if (others.level.empty() && others.allowed.empty() && others.sites.empty()) return true;  // the bare run itself
    const auto answer = differs(others, "without rewrites that reorder sums");
    return answer && !*answer;
  }

  // Fills in the rewrite and the site if the search finds them.
  void find(Difference& difference) {
    if (applying_.level.empty() && applying_.allowed.empty()) {
      if (const auto site = first_site(applying_.sites)) take(*site, difference);
      return;
    }
    std::vector<std::string> ids;
    for (const policy::Site& site : rewritten_.applied) {
      if (std::ranges::find(ids, site.rewrite) == ids.end()) ids.push_back(site.rewrite);
    }
    const auto guilty = first(ids.size(), "rewrites", [&](size_t count) {
      return only({ids.begin(), ids.begin() + static_cast<int64_t>(count)});
    });
    if (!guilty) return;
    difference.rewrite = ids[*guilty];
    std::vector<policy::Site> sites;
    std::ranges::copy_if(rewritten_.applied, std::back_inserter(sites),
                         [&](const policy::Site& site) { return site.rewrite == difference.rewrite; });
    // The sites in a plan, without the rest, may make no difference. Then no site is named.
    if (sites.size() > 1 && !differs(at(sites, sites.size()), "the sites of " + difference.rewrite).value_or(false))
      return;
    if (const auto site = first_site(sites)) take(*site, difference);
  }

 private:
  static void take(const policy::Site& site, Difference& difference) {
    difference.rewrite = site.rewrite;
    difference.site = site;
    difference.site->finding.clear();  // the number of a plan's finding means nothing for the program
  }

  std::optional<policy::Site> first_site(const std::vector<policy::Site>& sites) {
    const auto guilty = first(sites.size(), "sites", [&](size_t count) { return at(sites, count); });
    return guilty ? std::optional(sites[*guilty]) : std::nullopt;
  }

  policy::RewriteSettings at(const std::vector<policy::Site>& sites, size_t count) const {
    policy::RewriteSettings applying = applying_;
    applying.level.clear();
    applying.allowed.clear();
    applying.sites.assign(sites.begin(), sites.begin() + static_cast<int64_t>(count));
    return applying;
  }

  // Rewrites of the level and of --allow apply everywhere; those only in the plan stay at its sites.
  policy::RewriteSettings only(const std::vector<std::string>& ids) const {
    policy::RewriteSettings applying = applying_;
    applying.level.clear();
    applying.allowed.clear();
    const int highest = policy::highest_level(applying_.level);
    for (const std::string& id : ids) {
      const bool is_allowed = std::ranges::find(applying_.allowed, id) != applying_.allowed.end();
      const bool has_level = std::ranges::any_of(rewritten_.rewritten.sites, [&](const peak::RewrittenSite& site) {
        return site.rewrite == id && site.level <= highest;
      });
      if (is_allowed || has_level) applying.allowed.push_back(id);
    }
    std::erase_if(applying.sites,
                  [&](const policy::Site& site) { return std::ranges::find(ids, site.rewrite) == ids.end(); });
    return applying;
  }

  // Bisects `all` for the number of the first that makes the difference. Assumes a difference with all of them, and no
  // difference without any.
  std::optional<size_t> first(size_t all, const std::string& what,
                              const std::function<policy::RewriteSettings(size_t)>& of) {
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

  std::optional<bool> differs(const policy::RewriteSettings& applying, const std::string& what) {
    const auto run = runs_.run(applying, {.name = "search-" + std::to_string(++count_)});
    if (!run) {
      runs_.tell("the search for the site ends: " + run.error().message);
      return std::nullopt;
    }
    const bool answer = compare(bare_, *run).has_value();
    runs_.tell("run " + std::to_string(3 + count_) + ": " + what + ": " + (answer ? "different" : "the same"));
    return answer;
  }

  ProgramRuns& runs_;
  const policy::RewriteSettings& applying_;
  const ProgramRun& bare_;
  const ProgramRun& rewritten_;
  int count_ = 0;
};

std::string name_of(const policy::RewriteSettings& applying) {
  std::string name = applying.level;
  for (const std::string& id : applying.allowed) name += (name.empty() ? "" : ", ") + id;
  if (!applying.sites.empty()) {
    name += (name.empty() ? "" : ", ") + std::to_string(applying.sites.size()) +
            (applying.sites.size() == 1 ? " site of the plan" : " sites of the plan");
  }
  return name.empty() ? "nothing" : name;
}

Rounding unknown(const std::string& why) {
  Rounding rounding;
  rounding.unknown = why;
  return rounding;
}

// Runs the program twice more: bare with float64 values, and rewritten.
Rounding measure_rounding(ProgramRuns& runs, const policy::RewriteSettings& rewrites, const ProgramRun& bare) {
  const auto exact = runs.run({}, {.name = "values-bare", .values = true, .float64 = true});
  if (!exact) return unknown(exact.error().message);
  if (compare(bare, *exact)) return unknown("followed in float64 the program does not compute the same");
  const auto rewritten = runs.run(rewrites, {.name = "values-rewritten", .values = true});
  if (!rewritten) return unknown(rewritten.error().message);
  if (exact->values.empty() || rewritten->values.empty()) {
    return unknown("values can be had of one process of Python with an optimizer");
  }
  return compare_values(exact->values, rewritten->values);
}

void take_rewritten(const ProgramRun& run, Verdict& verdict) {
  verdict.rewritten = run.figures;
  for (const peak::RewrittenTotal& total : run.rewritten.applied) {
    verdict.applied.push_back({total.rewrite, total.level, total.sites, total.times, total.bytes, total.kept});
  }
  for (const peak::RewrittenTotal& total : run.rewritten.skipped) {
    verdict.skipped.push_back({total.rewrite, total.reason, total.sites, total.bytes});
  }
}

Error not_complete(const std::string& run) {
  return {"the recording of the " + run + " run is not complete: compare fewer steps with --steps",
          ErrorKind::incomplete};
}

// The first run. `needs_values`: losses, gradients or parameters must exist.
trace::Result<ProgramRun> run_bare(ProgramRuns& runs, bool needs_values) {
  runs.tell("run 1: bare");
  auto bare = runs.run({}, {.name = "bare", .is_shown = true});
  if (!bare) return bare.error();
  if (bare->figures.exit_code != 0) {
    return Error{
        "the command ended with exit code " + std::to_string(bare->figures.exit_code) + ": nothing was compared",
        ErrorKind::command_failed};
  }
  if (bare->incomplete) return not_complete("bare");
  if (!bare->was_recorded) {
    const std::string why = bare->why_not_recorded.empty()
                                ? "no process of this command ran an operator of a LibTorch that can be recorded (see "
                                  "`tapelens doctor`)"
                                : bare->why_not_recorded;
    return Error{"nothing was compared: " + why, ErrorKind::nothing_recorded};
  }
  if (bare->was_simulated) {
    return Error{
        "nothing was compared: the GPU was simulated, so that what it would have computed is not known. "
        "`tapelens record --gpu` measures peaks",
        ErrorKind::nothing_compared};
  }
  if (needs_values && bare->processes.empty()) {
    return Error{
        "nothing was compared: no backward from a loss of one number, no call of torch.autograd.grad and no step of an "
        "optimizer was seen",
        ErrorKind::nothing_compared};
  }
  return bare;
}

// If the runs differ: whether two bare runs do too. Then their difference is the verdict's.
using Compare = std::function<std::optional<Difference>(const ProgramRun& bare, const ProgramRun& other)>;
trace::Result<bool> differs_by_itself(ProgramRuns& runs, const ProgramRun& bare, const Compare& compared,
                                      Verdict& verdict) {
  runs.tell("run 3: bare again, since they differ");
  const auto again = runs.run({}, {.name = "bare-again"});
  if (!again) return again.error();
  auto difference = compared(bare, *again);
  if (!difference) return false;
  verdict.is_deterministic = false;
  verdict.difference = std::move(difference);
  return true;
}

// For a rewritten run in which no rewrite was applied.
std::string why_nothing_applied(const ProgramRun& run, const policy::RewriteSettings& rewrites) {
  if (!run.why_not_rewritten.empty()) return run.why_not_rewritten;
  const std::string where = run.is_cut ? " in the steps that were compared" : "";
  std::vector<peak::RewrittenTotal> skipped = run.skipped;
  std::ranges::stable_sort(skipped, std::ranges::greater(), &peak::RewrittenTotal::sites);
  constexpr size_t kMostReasons = 3;
  std::string reasons;
  for (size_t i = 0; i < std::min(kMostReasons, skipped.size()); ++i) {
    reasons += (i == 0 ? "" : ", ") + skipped[i].reason + " (" + skipped[i].rewrite + ", " +
               text::plural(skipped[i].sites, "site", "sites") + ")";
  }
  if (!reasons.empty()) return "each site" + where + " was skipped: " + reasons;
  if (rewrites.level.empty() && rewrites.allowed.empty()) {
    return "no operator" + where + " is at a site of the plan, with a storage of at least " +
           text::bytes_text(Bytes{static_cast<int64_t>(rewrites.min_bytes)});
  }
  return "no tensor that autograd saved" + where +
         " and no operator is of a kind that is rewritten, with a storage of " + "at least " +
         text::bytes_text(Bytes{static_cast<int64_t>(rewrites.min_bytes)}) + " (--rewrite-min-bytes)";
}

}  // namespace

trace::Result<Verdict> verify(ProgramRuns& runs, const policy::RewriteSettings& rewrites) {
  const auto bare = run_bare(runs, /*needs_values=*/true);
  if (!bare) return bare.error();
  runs.tell("run 2: with " + name_of(rewrites));
  const auto rewritten = runs.run(rewrites, {.name = "rewritten"});
  if (!rewritten) return rewritten.error();
  if (rewritten->incomplete) return not_complete("rewritten");
  Verdict verdict;
  verdict.bare = bare->figures;
  verdict.compared = comparable(*bare);
  take_rewritten(*rewritten, verdict);
  verdict.difference = compare(*bare, *rewritten);
  if (rewritten->applied.empty()) verdict.why_nothing_applied = why_nothing_applied(*rewritten, rewrites);
  if (!verdict.difference) return verdict;

  const auto by_itself = differs_by_itself(runs, *bare, compare, verdict);
  if (!by_itself) return by_itself.error();
  if (*by_itself) return verdict;
  Search search(runs, rewrites, *bare, *rewritten);
  if (verdict.difference->kind != Difference::Kind::exit_code && search.is_rounding()) {
    runs.tell("two more runs: how far the gradients of the first step are apart, and from float64");
    verdict.rounding = measure_rounding(runs, rewrites, *bare);
  } else {
    search.find(*verdict.difference);
  }
  return verdict;
}

trace::Result<Verdict> verify_patch(ProgramRuns& runs, const std::vector<PatchedFile>& files) {
  const auto bare = run_bare(runs, /*needs_values=*/false);
  if (!bare) return bare.error();
  runs.tell("run 2: with the patch");
  const auto patched = runs.run({}, {.name = "patched", .patched = true});
  if (!patched) return patched.error();
  if (patched->incomplete) return not_complete("patched");
  Verdict verdict;
  Patch& patch = verdict.patch.emplace();
  const auto was_seen = [&](const std::string& file) {
    return std::ranges::find(patched->files, file) != patched->files.end();
  };
  for (const PatchedFile& file : files) {
    if (was_seen(file.original)) {
      return Error{"nothing was compared: with the patch the program still ran " + file.original +
                       ", not the patched copy of it. If it is imported from where it is installed, put its folder "
                       "into PYTHONPATH",
                   ErrorKind::nothing_compared};
    }
    patch.files.push_back(file.name);
    if (!was_seen(file.copy)) patch.unseen.push_back(file.name);
  }
  ProgramRun bare_part = *bare, patched_part = *patched;
  const OnlyInOne only = take_out_gradients_of_one(bare_part, patched_part);
  patch.gradients_of_bare = only.bare;
  patch.gradients_of_patched = only.other;
  verdict.bare = bare->figures;
  verdict.rewritten = patched->figures;
  verdict.compared = comparable(bare_part);
  const bool by_output = verdict.compared.values() == 0;
  if (by_output) verdict.compared.output_lines = count_lines(bare->output);
  const auto compared = [by_output](const ProgramRun& a, const ProgramRun& b) {
    auto difference = compare(a, b);
    return !difference && by_output ? compare_output(a.output, b.output) : difference;
  };
  verdict.difference = compared(bare_part, patched_part);
  if (!verdict.difference) return verdict;
  const auto by_itself = differs_by_itself(runs, *bare, compared, verdict);
  if (!by_itself) return by_itself.error();
  return verdict;
}

}  // namespace tapelens::verify
