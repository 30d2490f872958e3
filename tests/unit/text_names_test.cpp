// Names in tables: natural order, common begins, equal layers, and cuts between words.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/text/format.h"
#include "analyzer/text/names.h"

namespace tapelens::text {
namespace {

using Names = std::vector<std::string_view>;

TEST(Names, NumbersAreSortedByValue) {
  Names names{"blocks.10", "blocks.2", "blocks.02", "blocks", "blocks.2.fc", "Blocks.3", "blocks.1"};
  std::ranges::sort(names, natural_less);
  EXPECT_EQ(names, (Names{"Blocks.3", "blocks", "blocks.1", "blocks.02", "blocks.2", "blocks.2.fc", "blocks.10"}));
  EXPECT_FALSE(natural_less("a.2", "a.2"));
}

TEST(Names, TheCommonPathEndsAtADot) {
  EXPECT_EQ(common_path(Names{"Model.layers.0", "Model.layers.1.fc"}), "Model.layers");
  EXPECT_EQ(common_path(Names{"Model.layers.1", "Model.layers.10"}), "Model.layers");
  EXPECT_EQ(common_path(Names{"Model.layers", "Model.layers.10", "(outside of modules)", ""}), "Model.layers");
  EXPECT_EQ(common_path(Names{"Generator.0", "Discriminator.0"}), "");
  EXPECT_EQ(common_path(Names{"GPT.head", "GPT.head"}), "") << "one name has no common part with another";
  EXPECT_EQ(common_path(Names{"GPT.head", "GPT.layers"}), "") << "too short to be left out";
  EXPECT_EQ(common_path(Names{}), "");
}

TEST(Names, TheCommonPathIsLeftOut) {
  EXPECT_EQ(below("Model.layers.0.fc", "Model.layers"), "0.fc");
  EXPECT_EQ(below("Model.layers", "Model.layers"), "(itself)");
  EXPECT_EQ(below("Model.layers2", "Model.layers"), "Model.layers2");
  EXPECT_EQ(below("(outside of modules)", "GPT"), "(outside of modules)");
  EXPECT_EQ(below("Model.layers", ""), "Model.layers");
}

TEST(Names, LongPathsLoseTheirBeginAtADotOrAWord) {
  EXPECT_EQ(fit_path("encoder.layer.3.attention.self", 40), "encoder.layer.3.attention.self");
  EXPECT_EQ(fit_path("encoder.layer.3.attention.self", 22), "….3.attention.self");
  EXPECT_EQ(fit_path("ScaledDotProductCudnnAttentionBackward0.key", 30), "…CudnnAttentionBackward0.key");
  EXPECT_EQ(fit_path("modeling_very_long_name_of_bert.py:335", 20), "…name_of_bert.py:335");
  EXPECT_EQ(fit_path("unbreakablelowercase", 8), "unbreak…");
  for (unsigned width = 1; width < 45; ++width) {
    EXPECT_LE(columns(fit_path("ScaledDotProductCudnnAttentionBackward0.key", width)), width);
  }
}

TEST(Names, LongTextsLoseTheirLastWords) {
  EXPECT_EQ(fit_words("gradient of layer.3.weight", 30), "gradient of layer.3.weight");
  EXPECT_EQ(fit_words("gradient of layer.3.weight", 20), "gradient of …");
  EXPECT_EQ(fit_words("abcdefgh", 5), "abcd…");
  for (unsigned width = 1; width < 30; ++width) {
    EXPECT_LE(columns(fit_words("gradient of layer.3.weight", width)), width);
  }
}

std::vector<std::string> merged(const std::vector<NamedRow>& rows) {
  std::vector<std::string> names;
  for (const EqualRows& equal : equal_rows(rows)) {
    names.push_back(equal.name + (equal.rows.size() > 1 ? " x" + std::to_string(equal.rows.size()) : ""));
  }
  return names;
}

using Texts = std::vector<std::string>;

TEST(Names, EqualLayersAreOneRow) {
  EXPECT_EQ(merged({{"e.layer.0.self", 1}, {"e.layer.1.self", 1}, {"e.layer.2.self", 1}, {"e.layer.0.out", 2}}),
            (Texts{"e.layer.{0-2}.self x3", "e.layer.0.out"}));
  EXPECT_EQ(merged({{"b.10", 1}, {"b.2", 1}, {"b.0", 1}, {"b.3", 1}, {"b.4", 1}}), (Texts{"b.{0,2-4,10} x5"}));
}

TEST(Names, DifferentLayersStayApart) {
  EXPECT_EQ(merged({{"b.0", 1}, {"b.1", 2}, {"c.0", 1}}), (Texts{"b.0", "b.1", "c.0"}));
  EXPECT_EQ(merged({{"layer1", 1}, {"layer2", 1}, {"(outside of modules)", 1}, {"", 1}}),
            (Texts{"layer1", "layer2", "(outside of modules)", ""}))
      << "only a whole component is an index";
}

TEST(Names, SeveralNumbersAreBracesOnlyIfAllCombinationsExist) {
  EXPECT_EQ(merged({{"s.0.b.0", 1}, {"s.0.b.1", 1}, {"s.1.b.0", 1}, {"s.1.b.1", 1}}), (Texts{"s.{0,1}.b.{0,1} x4"}));
  EXPECT_EQ(merged({{"s.0.b.0", 1}, {"s.0.b.1", 1}, {"s.1.b.0", 1}}), (Texts{"s.0.b.{0,1} x2", "s.1.b.0"}));
}

TEST(Names, RowsOfOneNameStayRows) {
  const std::vector<EqualRows> all = equal_rows(std::vector<NamedRow>{{"b.1", 1}, {"b.0", 1}, {"b.1", 1}});
  size_t rows = 0;
  for (const EqualRows& equal : all) rows += equal.rows.size();
  EXPECT_EQ(rows, 3U);
  EXPECT_EQ(all[0].rows, (std::vector<size_t>{1, 0})) << "in natural order of the names";
}

TEST(Names, IndicesOfParametersBecomeBraces) {
  EXPECT_EQ(without_indices("gradient of layer.3.weight, saved as AddmmBackward0.mat1 x2"),
            "gradient of layer.*.weight, saved as AddmmBackward0.mat1 x2");
  EXPECT_EQ(without_indices("parameter 0.weight"), "parameter *.weight");
  EXPECT_EQ(without_indices("x and 3 other saves"), "x and 3 other saves");
  EXPECT_EQ(
      with_indices(Texts{"gradient of layer.3.weight", "gradient of layer.1.weight", "gradient of layer.2.weight"}),
      "gradient of layer.{1-3}.weight");
  EXPECT_EQ(with_indices(Texts{"parameter fc.weight"}), "parameter fc.weight");
}

}  // namespace
}  // namespace tapelens::text
