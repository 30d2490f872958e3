// From synthetic runs to the verdict: each test sets the effect of every rewrite on the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <set>

#include "analyzer/verify/compare.h"
#include "analyzer/verify/verify.h"

namespace tapelens::verify {
namespace {

using trace::ChecksumOf;
using trace::ErrorKind;

policy::Site site(const std::string& rewrite, uint32_t line) {
  policy::Site made;
  made.rewrite = rewrite;
  made.file = "train.py";
  made.line = line;
  return made;
}

ProgramRun::Process process(int32_t rank, uint64_t gradient = 7) {
  ProgramRun::Process made;
  made.rank = rank;
  for (uint64_t step = 0; step < 2; ++step) {
    made.checksums.push_back({step, ChecksumOf::loss, "", std::bit_cast<uint64_t>(0.5)});
    made.checksums.push_back({step, ChecksumOf::gradient, "weight", step == 1 ? gradient : 7});
    made.checksums.push_back({step, ChecksumOf::parameter, "weight", 9});
  }
  return made;
}

// A program with sites at some lines. Some sites are wrong. Settings select the sites to apply.
class Program : public ProgramRuns {
 public:
  std::vector<policy::Site> sites{site("unneeded-save", 1), site("wide-save", 2), site("wide-save", 3),
                                  site("wide-save", 4), site("expanded-save", 5)};
  std::map<std::string, int> levels{{"unneeded-save", 0}, {"wide-save", 1}, {"expanded-save", 3}};
  std::set<uint32_t> wrong;     // lines of sites that change the second step's gradient
  std::set<uint32_t> crashing;  // lines of sites that change the exit code
  bool is_random = false;
  ProgramRun bare_run;                        // without checksums; every run equals it except for the changes above
  std::map<std::string, trace::Error> fails;  // by name of the run
  std::string values_of_bare, values_of_rewritten;
  std::optional<ProgramRun> patched_run;  // equals the bare run if empty

  std::vector<std::string> names, told;

  Program() {
    bare_run.was_recorded = true;
    bare_run.figures.peak = Bytes{1000};
    bare_run.processes = {process(-1)};
  }
  trace::Result<ProgramRun> run(const policy::RewriteSettings& rewrites, const RunOptions& wanted) override {
    names.push_back(wanted.name);
    if (const auto failed = fails.find(wanted.name); failed != fails.end()) return failed->second;
    ProgramRun run = wanted.patched && patched_run ? *patched_run : bare_run;
    if (is_random && wanted.name == "bare-again" && !run.processes.empty()) run.processes = {process(-1, 1234)};
    for (const policy::Site& one : sites) {
      const bool is_named = std::ranges::any_of(rewrites.sites, [&](const policy::Site& named) {
        return named.rewrite == one.rewrite && named.line == one.line;
      });
      if (!rewrites.on || !(rewrites.has(one.rewrite, levels[one.rewrite]) || is_named)) continue;
      run.applied.push_back(one);
      peak::RewrittenSite said;
      said.rewrite = one.rewrite;
      said.level = levels[one.rewrite];
      run.rewritten.sites.push_back(said);
      if (wrong.contains(one.line)) run.processes = {process(-1, 100 + one.line)};
      if (crashing.contains(one.line)) run.figures.exit_code = 70;
    }
    if (wanted.values) run.values = wanted.float64 ? values_of_bare : values_of_rewritten;
    return run;
  }
  void tell(const std::string& line) override { told.push_back(line); }
};

policy::RewriteSettings level(const std::string& name) {
  policy::RewriteSettings settings;
  settings.on = true;
  settings.level = name;
  return settings;
}

using Names = std::vector<std::string>;

TEST(Verify, WhatIsTheSameTakesTwoRuns) {
  Program program;
  const auto verdict = verify(program, level("lossless"));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->answer(), Answer::identical);
  EXPECT_EQ(verdict->compared, (Compared{2, 2, 2, 2, 0, 0}));
  EXPECT_EQ(verdict->bare.peak, Bytes{1000});
  EXPECT_EQ(program.names, (Names{"bare", "rewritten"}));
  EXPECT_EQ(program.told, (Names{"run 1: bare", "run 2: with lossless"}));
}

TEST(Verify, WhyNothingWasAppliedIsSaid) {
  Program program;
  program.sites.clear();
  program.bare_run.skipped = {{"wide-save", "it is read by another node", 1, 2, 0, {}, {}},
                              {"late-gradient", "clipped", 0, 5, 0, {}, {}}};
  auto verdict = verify(program, level("lossless"));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->answer(), Answer::none);
  EXPECT_EQ(verdict->why_nothing_applied,
            "each site was skipped: clipped (late-gradient, 5 sites), it is read by another node (wide-save, 2 sites)");
  program.bare_run.why_not_rewritten = "this probe only records";
  verdict = verify(program, level("lossless"));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->why_nothing_applied, "this probe only records");
}

// The gradients that torch.autograd.grad returns, call by call.
ProgramRun::Process returning(const std::vector<std::pair<std::string, uint64_t>>& gradients) {
  ProgramRun::Process made;
  for (const auto& [name, value] : gradients) made.checksums.push_back({0, ChecksumOf::returned_gradient, name, value});
  return made;
}

TEST(Compare, ReturnedGradientsAreComparedInTheirOrder) {
  verify::ProgramRun bare, other;
  bare.processes = {returning({{"input 0", 1}, {"input 1", 2}, {"input 0", 3}, {"input 1", 4}})};
  other.processes = bare.processes;
  EXPECT_FALSE(compare(bare, other));
  EXPECT_EQ(comparable(bare).returned_gradients, 4U);
  const auto swapped = {returning({{"input 0", 2}, {"input 1", 1}, {"input 0", 4}, {"input 1", 3}}),
                        returning({{"input 0", 3}, {"input 1", 4}, {"input 0", 1}, {"input 1", 2}}),
                        returning({{"input 0", 1}, {"input 1", 2}, {"input 0", 3}}),
                        returning({{"input 0", 0}, {"input 1", 2}, {"input 0", 3}, {"input 1", 4}})};
  for (const ProgramRun::Process& process : swapped) {
    other.processes = {process};
    const auto difference = compare(bare, other);
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->kind, Difference::Kind::returned_gradient);
  }
  EXPECT_EQ(compare(bare, other)->rewritten, "undefined");
  // The order of calls from several threads is random.
  bare.processes[0].has_threads = true;
  other.processes = {returning({{"input 0", 3}, {"input 1", 4}, {"input 0", 1}, {"input 1", 2}})};
  EXPECT_FALSE(compare(bare, other));
  // Steps cut off by --steps are not compared, and so not counted.
  bare.is_cut = true;
  EXPECT_EQ(comparable(bare).returned_gradients, 0U);
}

TEST(Verify, OfALevelTheRewriteAndThenItsSiteIsFound) {
  for (const uint32_t line : {1U, 2U, 3U, 4U}) {
    Program program;
    program.wrong = {line};
    const auto verdict = verify(program, level("lossless"));
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->answer(), Answer::different);
    const Difference& first = *verdict->difference;
    EXPECT_EQ(first.kind, Difference::Kind::gradient);
    EXPECT_EQ(first.step, 1U);
    EXPECT_EQ(first.bare, "0000000000000007");
    EXPECT_EQ(first.rewrite, line == 1 ? "unneeded-save" : "wide-save");
    ASSERT_TRUE(first.site) << line;
    EXPECT_EQ(first.site->line, line);
  }
}

TEST(Verify, OfAPlanTheFirstSiteThatMakesTheDifferenceIsFoundInItsOrder) {
  Program program;
  program.wrong = {2, 4};
  policy::RewriteSettings plan = level("");
  plan.sites = {site("wide-save", 4), site("unneeded-save", 1), site("wide-save", 3), site("wide-save", 2)};
  plan.sites[0].finding = "0123456789abcdef";
  const auto verdict = verify(program, plan);
  ASSERT_TRUE(verdict && verdict->difference && verdict->difference->site);
  EXPECT_EQ(*verdict->difference->site, site("wide-save", 4)) << "without the id of its finding";
  EXPECT_EQ(program.told[1], "run 2: with 4 sites of the plan");
}

TEST(Verify, ACrashIsADifferenceLikeAnyOther) {
  Program program;
  program.crashing = {3};
  const auto verdict = verify(program, level("lossless"));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->difference->kind, Difference::Kind::exit_code);
  EXPECT_EQ(verdict->difference->rewritten, "70");
  EXPECT_EQ(verdict->difference->site->line, 3U);
}

TEST(Verify, AProgramThatIsNotDeterministicHasNoVerdictAndNoSearch) {
  Program program;
  program.wrong = {2};
  program.is_random = true;
  const auto verdict = verify(program, level("lossless"));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->answer(), Answer::none);
  EXPECT_EQ(verdict->difference->rewritten, "00000000000004d2") << "of the second bare run";
  EXPECT_EQ(program.names, (Names{"bare", "rewritten", "bare-again"}));
}

TEST(Verify, LossesAloneProveNothing) {
  Program program;
  std::erase_if(program.bare_run.processes[0].checksums,
                [](const RecordedChecksum& c) { return c.of != ChecksumOf::loss; });
  const auto verdict = verify(program, level("lossless"));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->answer(), Answer::none);
  EXPECT_FALSE(verdict->difference);
}

TEST(Verify, WhereNothingCanBeComparedTheErrorSaysOfWhichKind) {
  const auto kind = [](Program& program) {
    const auto verdict = verify(program, level("lossless"));
    EXPECT_FALSE(verdict);
    return verdict.error().kind;
  };
  Program failing;
  failing.bare_run.figures.exit_code = 9;
  EXPECT_EQ(kind(failing), ErrorKind::command_failed);
  Program lossy;
  lossy.bare_run.incomplete = true;
  EXPECT_EQ(kind(lossy), ErrorKind::incomplete);
  Program unrecorded;
  unrecorded.bare_run.was_recorded = false;
  EXPECT_EQ(kind(unrecorded), ErrorKind::nothing_recorded);
  Program simulated;
  simulated.bare_run.was_simulated = true;
  EXPECT_EQ(kind(simulated), ErrorKind::nothing_compared);
  Program silent;
  silent.bare_run.processes.clear();
  EXPECT_EQ(kind(silent), ErrorKind::nothing_compared);
  Program missing;
  missing.fails["bare"] = {"no-such: command not found", ErrorKind::command_failed};
  EXPECT_EQ(kind(missing), ErrorKind::command_failed);
  Program full_disk;
  full_disk.wrong = {2};
  full_disk.fails["bare-again"] = {"the disk is full"};
  EXPECT_EQ(kind(full_disk), ErrorKind::unreadable);
}

TEST(Verify, ASearchThatCannotGoOnNamesWhatItHas) {
  Program program;
  program.wrong = {4};
  program.fails["search-2"] = {"the disk is full"};
  const auto verdict = verify(program, level("lossless"));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->difference->rewrite, "wide-save");
  EXPECT_FALSE(verdict->difference->site);
  EXPECT_EQ(program.told.back(), "the search for the site ends: the disk is full");
}

TEST(Verify, WhatAddsInAnotherOrderIsMeasuredWhereAllElseIsTheSame) {
  Program program;
  program.wrong = {5};
  policy::RewriteSettings settings = level("bitwise");
  settings.allowed = {"expanded-save"};
  const auto verdict = verify(program, settings);
  ASSERT_TRUE(verdict && verdict->rounding);
  EXPECT_EQ(verdict->rounding->unknown, "values can be had of one process of Python with an optimizer");
  EXPECT_EQ(program.names, (Names{"bare", "rewritten", "bare-again", "search-1", "values-bare", "values-rewritten"}));
  // If another value differs as well, the search looks for that difference instead.
  program.wrong = {3, 5};
  const auto other = verify(program, settings);
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->rounding);
  EXPECT_EQ(other->difference->site->line, 3U);
}

class VerifyPatch : public ::testing::Test {
 protected:
  VerifyPatch() {
    program_.bare_run.files = {"/repo/train.py"};
    program_.patched_run = program_.bare_run;
    program_.patched_run->files = {"/copy/train.py"};
    program_.patched_run->figures.peak = Bytes{400};
  }
  trace::Result<Verdict> verdict() { return verify_patch(program_, files_); }

  Program program_;
  std::vector<PatchedFile> files_{{"train.py", "/repo/train.py", "/copy/train.py"}};
};

TEST_F(VerifyPatch, WhatIsTheSameTakesTwoRuns) {
  const auto v = verdict();
  ASSERT_TRUE(v);
  EXPECT_EQ(v->answer(), Answer::identical);
  EXPECT_EQ(v->patch, (Patch{{"train.py"}, {}, 0, 0}));
  EXPECT_EQ(v->bare.peak, Bytes{1000});
  EXPECT_EQ(v->rewritten.peak, Bytes{400});
  EXPECT_EQ(program_.told, (Names{"run 1: bare", "run 2: with the patch"}));
}

TEST_F(VerifyPatch, WhatDiffersIsRunBareAgain) {
  program_.patched_run->processes = {process(-1, 8)};
  const auto v = verdict();
  ASSERT_TRUE(v);
  EXPECT_EQ(v->answer(), Answer::different);
  EXPECT_EQ(v->difference->rewritten, "0000000000000008");
  EXPECT_EQ(program_.names, (Names{"bare", "patched", "bare-again"}));
  program_.is_random = true;
  const auto random = verdict();
  ASSERT_TRUE(random);
  EXPECT_EQ(random->answer(), Answer::none);
}

TEST_F(VerifyPatch, NothingIsSaidOfAPatchThatDidNotRun) {
  program_.patched_run->files = {"/repo/train.py", "/copy/train.py"};
  const auto v = verdict();
  ASSERT_FALSE(v);
  EXPECT_EQ(v.error().kind, ErrorKind::nothing_compared);
  EXPECT_NE(v.error().message.find("still ran /repo/train.py"), std::string::npos);
  program_.patched_run->files.clear();
  const auto unseen = verdict();
  ASSERT_TRUE(unseen);
  EXPECT_EQ(unseen->patch->unseen, Names{"train.py"});
}

TEST_F(VerifyPatch, GradientsThatOnlyOneHasAreCountedAndParametersAreNot) {
  const auto without = [](verify::ProgramRun& run, ChecksumOf of, uint64_t step) {
    std::erase_if(run.processes[0].checksums, [&](const RecordedChecksum& c) { return c.of == of && c.step == step; });
  };
  without(*program_.patched_run, ChecksumOf::gradient, 0);
  auto v = verdict();
  ASSERT_TRUE(v);
  EXPECT_EQ(v->answer(), Answer::identical);
  EXPECT_EQ(v->patch->gradients_of_bare, 1U);
  EXPECT_EQ(v->compared, (Compared{2, 2, 1, 2, 0, 0}));
  without(program_.bare_run, ChecksumOf::gradient, 1);
  v = verdict();
  ASSERT_TRUE(v);
  EXPECT_EQ(v->patch->gradients_of_patched, 1U);
  EXPECT_EQ(v->compared.gradients, 0U);
  without(*program_.patched_run, ChecksumOf::parameter, 1);
  v = verdict();
  ASSERT_TRUE(v);
  EXPECT_EQ(v->answer(), Answer::different);
  EXPECT_EQ(v->difference->kind, Difference::Kind::parameter);
}

TEST(Compare, RanksSayWhichProcessIsWhich) {
  verify::ProgramRun bare, other;
  bare.processes = {process(0, 1), process(1, 2)};
  other.processes = {process(0, 2), process(1, 1)};
  ASSERT_TRUE(compare(bare, other));
  EXPECT_EQ(compare(bare, other)->rank, 0);
  for (verify::ProgramRun* run : {&bare, &other}) {
    for (verify::ProgramRun::Process& one : run->processes) one.rank = -1;
  }
  EXPECT_FALSE(compare(bare, other)) << "without ranks each may be any other";
  EXPECT_EQ(comparable(bare).gradients, 4U);
  other.processes.pop_back();
  EXPECT_TRUE(compare(bare, other));
}

// The format of profiler/record/float64.py.
void write_values(const std::string& path, const std::vector<std::pair<std::string, std::vector<double>>>& gradients,
                  const std::map<std::string, std::vector<double>>& exact) {
  std::ofstream file(path, std::ios::binary);
  for (const auto& [name, numbers] : gradients) {
    const auto followed = exact.find(name);
    file << R"({"name": ")" << name << R"(", "count": )" << numbers.size() << R"(, "float64": )"
         << (followed != exact.end() ? "true" : "false") << "}\n";
    const auto put = [&](const std::vector<double>& all) {
      file.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size() * sizeof(double)));
    };
    put(numbers);
    if (followed != exact.end()) put(followed->second);
  }
  file << "end\n";
}

TEST(Rounding, IsRelativeToTheLargestElementAndTheLargestDifferenceIsFirst) {
  const std::string bare = ::testing::TempDir() + "/tapelens-bare.values",
                    rewritten = ::testing::TempDir() + "/tapelens-rewritten.values";
  write_values(bare, {{"w", {1, 2, 4}}, {"b", {8}}, {"sparse", {}}}, {{"w", {1, 2.5, 4}}, {"b", {8}}});
  write_values(rewritten, {{"w", {1, 2, 5}}, {"b", {4}}, {"sparse", {}}}, {});
  const Rounding rounding = compare_values(bare, rewritten);
  EXPECT_EQ(rounding.unknown, "");
  EXPECT_EQ(rounding.gradients, (std::vector<GradientError>{{"b", 0.5, 0, 0.5}, {"w", 0.25, 0.125, 0.25}}));
  EXPECT_EQ(rounding.left_out, 1U);

  write_values(rewritten, {{"w", {1, 2, 5}}}, {});
  EXPECT_EQ(compare_values(bare, rewritten).unknown, "the runs have different gradients");
  EXPECT_EQ(compare_values(bare, rewritten + ".none").unknown, "the runs have different gradients");
  std::ofstream(rewritten, std::ios::binary) << R"({"name": "w", "count": 3, "float64": false})"
                                             << "\nshort";
  EXPECT_EQ(compare_values(bare, rewritten).unknown, "the gradients cannot be read");
}

}  // namespace
}  // namespace tapelens::verify
