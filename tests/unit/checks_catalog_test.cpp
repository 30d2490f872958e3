// The catalog of rewrites and the list of built-in checks, both from the folders of plugins/.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plugins/builtin.h"
#include "plugins/wide-save/rule.h"
#include "policy/catalog.h"

namespace tapelens {
namespace {

TEST(Catalog, EachRewriteIsThereOnceAndNamesItself) {
  const auto catalog = policy::catalog();
  EXPECT_GE(catalog.size(), 8U);
  EXPECT_TRUE(std::ranges::is_sorted(catalog, std::ranges::less_equal(), &policy::RewriteInfo::id))
      << "by id, no id twice";
  for (const policy::RewriteInfo& rewrite : catalog) {
    EXPECT_FALSE(rewrite.title.empty()) << rewrite.id;
    EXPECT_LE(rewrite.title.size(), 60U) << rewrite.id;
  }
}

TEST(Catalog, WhatReordersSumsIsNotOfTheSameBits) {
  for (const policy::RewriteInfo& rewrite : policy::catalog()) {
    EXPECT_EQ(policy::reorders_sums(rewrite.id), rewrite.reorders_sums);
    EXPECT_TRUE(!rewrite.reorders_sums || rewrite.level >= policy::Level::equivalent) << rewrite.id;
  }
  EXPECT_FALSE(policy::reorders_sums("one-of-a-library"));
}

TEST(Catalog, ACheckThatPredictsARewriteHasItsLevel) {
  const advise::Checks checks = plugins::builtin_checks();
  int predicted = 0;
  for (const advise::Checks::Entry& entry : checks.entries()) {
    const check::CheckInfo info = entry.check->info();
    if (info.rewrite_level < 0) continue;
    ++predicted;
    const auto rewrite = std::ranges::find(policy::catalog(), info.id, &policy::RewriteInfo::id);
    ASSERT_NE(rewrite, policy::catalog().end()) << info.id;
    EXPECT_EQ(info.rewrite_level, static_cast<int>(rewrite->level)) << info.id;
  }
  EXPECT_GE(predicted, 3);
}

TEST(Catalog, EachBuiltinCheckHasAPage) {
  const advise::Checks checks = plugins::builtin_checks();
  for (const advise::Checks::Entry& entry : checks.entries()) {
    const std::string id(entry.check->info().id);
    EXPECT_TRUE(plugins::page(id).starts_with("# " + id + ": ")) << id;
  }
  EXPECT_EQ(plugins::page("one-of-a-library"), "");
}

TEST(WideSave, AFieldIsOfOneKind) {
  using plugins::wide_save::Kind;
  using plugins::wide_save::kind_of;
  EXPECT_EQ(kind_of("ReluBackward0", "result"), Kind::mask);
  EXPECT_EQ(kind_of("ReluBackward0", "self"), Kind::none);
  EXPECT_EQ(kind_of("LeakyReluBackward1", "result"), Kind::mask);
  EXPECT_EQ(kind_of("MulBackward0", "other"), Kind::noise);
  EXPECT_EQ(kind_of("MulBackward0", "self"), Kind::none);
  EXPECT_EQ(kind_of("NativeDropoutBackward0", "result1"), Kind::noise);
  EXPECT_EQ(kind_of("MaskedFillBackward0", "mask"), Kind::bools);
  EXPECT_EQ(kind_of("MaxPool2DWithIndicesBackward0", "result1"), Kind::pool_indices);
  EXPECT_EQ(kind_of("MaxPool2DWithIndicesBackward0", "self"), Kind::none);
  EXPECT_EQ(kind_of("NativeLayerNormBackward0", "result1"), Kind::none) << "statistics, not places";
  EXPECT_EQ(kind_of("SortBackward0", "indices"), Kind::other_indices);
  EXPECT_EQ(kind_of("", ""), Kind::none);
}

}  // namespace
}  // namespace tapelens
