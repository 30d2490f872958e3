// The rewrites that a run requests, and their encoding for the probe: policy/.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "policy/plan.h"
#include "policy/wire.h"

namespace tapelens::policy {
namespace {

TEST(Level, GroupsContainAllRewritesUpToTheirLevel) {
  EXPECT_EQ(highest_level("lossless"), static_cast<int>(Level::encoded));
  EXPECT_EQ(highest_level("bitwise"), static_cast<int>(Level::recomputed));
  EXPECT_EQ(highest_level("recompute"), static_cast<int>(Level::recomputed));
  for (const char* none : {"", "los", "lossless ", "equivalent"}) EXPECT_EQ(highest_level(none), kNone) << none;
  EXPECT_EQ(level_name(0), "never read");
  EXPECT_EQ(level_name(4), "shared forward");
  EXPECT_EQ(level_name(5), "offloaded");
  for (const int none : {-1, 6, 255}) EXPECT_EQ(level_name(none), "unknown");
}

TEST(Plan, AModulesPathMayHaveNumbersInPlaceOfStars) {
  EXPECT_TRUE(is_module("Net.layer12.conv1", "Net.layer*.conv1"));
  EXPECT_TRUE(is_module("Net.0.3", "Net.*.*"));
  EXPECT_TRUE(is_module("", ""));
  EXPECT_FALSE(is_module("Net.layer.conv1", "Net.layer*.conv1"));
  EXPECT_FALSE(is_module("Net.layer1.conv1.a", "Net.layer*.conv1"));
  EXPECT_FALSE(is_module("Net.layer1", "Net.layer*.conv1"));
  EXPECT_FALSE(is_module("Net.layerx.conv1", "Net.layer*.conv1"));
  EXPECT_FALSE(is_module("", "*"));
}

TEST(Plan, ALevelNamesAndSitesAreAddedUp) {
  RewriteSelection selection;
  EXPECT_FALSE(selection.may_have("unneeded-save", 0));
  selection.level = "lossless";
  EXPECT_TRUE(selection.has("unneeded-save", 0));
  EXPECT_TRUE(selection.has("one-of-a-library", 1));
  EXPECT_FALSE(selection.has("recomputable-save", 2));
  selection.allowed = {"expanded-save"};
  EXPECT_TRUE(selection.has("expanded-save", 3));
  EXPECT_FALSE(selection.may_have("trivial-concat", 4));
  selection.sites.push_back({.rewrite = "trivial-concat"});
  EXPECT_TRUE(selection.may_have("trivial-concat", 4));
  EXPECT_FALSE(selection.has("trivial-concat", 4));
}

TEST(Wire, SitesComeBackAsTheyWere) {
  const std::vector<Site> sites = {{.finding = "",
                                    .rewrite = "unneeded-save",
                                    .module = "Net.layer*.conv1",
                                    .op = "aten::conv2d",
                                    .node = "ConvolutionBackward0",
                                    .field = "input",
                                    .file = "a b:7.py",
                                    .line = 27},
                                   {.rewrite = "wide-save"}};
  const std::vector<Site> back = sites_of(flat(sites));
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(describe(back[0]), describe(sites[0]));
  EXPECT_EQ(describe(back[0]),
            "unneeded-save ConvolutionBackward0.input of aten::conv2d in Net.layer*.conv1, a b:7.py:27");
  EXPECT_EQ(describe(back[1]), "wide-save");
  EXPECT_TRUE(sites_of("\n\t\t\n").empty());
  EXPECT_TRUE(sites_of("").empty());
}

class WireEnvironment : public testing::Test {
 protected:
  ~WireEnvironment() override {
    for (const auto& [name, value] : environment_of({}, "")) unsetenv(name.c_str());
    unlink(sites_.c_str());
  }
  // Reads the settings as a child process does.
  RewriteSettings read(const RewriteSettings& settings) {
    std::ofstream(sites_) << flat(settings.sites);
    for (const auto& [name, value] : environment_of(settings, sites_)) {
      value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
    }
    return settings_of_environment();
  }
  const std::string sites_ = testing::TempDir() + "tapelens-sites-" + std::to_string(getpid());
};

TEST_F(WireEnvironment, AllThatIsAskedForReachesTheProbe) {
  RewriteSettings told;
  told.on = told.poison = true;
  told.level = "bitwise";
  told.allowed = {"expanded-save", "scan-save"};
  told.sites = {{.rewrite = "late-gradient", .module = "Net"}};
  told.min_bytes = 4096;
  told.host_memory = uint64_t{32} << 30;
  told.budget = 0.125;
  told.plugins = {"/a/b.so", "/c d/e.so"};
  told.tally = "/tmp/some folder";
  const RewriteSettings heard = read(told);
  EXPECT_TRUE(heard.on && heard.poison);
  EXPECT_EQ(heard.level, told.level);
  EXPECT_EQ(heard.allowed, told.allowed);
  ASSERT_EQ(heard.sites.size(), 1U);
  EXPECT_EQ(describe(heard.sites[0]), "late-gradient in Net");
  EXPECT_EQ(heard.min_bytes, told.min_bytes);
  EXPECT_EQ(heard.host_memory, told.host_memory);
  EXPECT_EQ(heard.budget, told.budget);
  EXPECT_EQ(heard.plugins, told.plugins);
  EXPECT_EQ(heard.tally, told.tally);
}

TEST_F(WireEnvironment, WhatIsOffIsOffWhateverARunAroundItWanted) {
  RewriteSettings told;
  told.on = true;
  told.level = "lossless";
  EXPECT_TRUE(read(told).on);
  told.on = false;
  const RewriteSettings heard = read(told);
  EXPECT_FALSE(heard.on);
  EXPECT_EQ(heard.level, "");
}

TEST_F(WireEnvironment, NumbersThatAreNoneAreTheDefaults) {
  RewriteSettings told;
  told.on = true;
  read(told);
  setenv("TAPELENS_REWRITE_MIN_BYTES", "-3", 1);
  setenv("TAPELENS_RECOMPUTE_BUDGET", "lots", 1);
  setenv("TAPELENS_HOST_MEMORY", "all", 1);
  setenv("TAPELENS_PLAN", "/no/such/file", 1);
  const RewriteSettings heard = settings_of_environment();
  EXPECT_EQ(heard.min_bytes, RewriteSelection().min_bytes);
  EXPECT_FALSE(heard.host_memory);
  EXPECT_EQ(heard.recompute_budget(), RewriteSelection().recompute_budget());
  EXPECT_TRUE(heard.sites.empty());
}

}  // namespace
}  // namespace tapelens::policy
