// JSON documents within a number of bytes.
#include <gtest/gtest.h>

#include <string>

#include "analyzer/text/shortened_json.h"

namespace tapelens::text {
namespace {

Json list(size_t items, size_t bytes) {
  Json all = Json::array();
  for (size_t i = 0; i < items; ++i) all.push_back(std::to_string(i) + std::string(bytes, 'x'));
  return all;
}

TEST(ShortenedJson, ADocumentThatFitsKeepsAll) {
  const Json document = {{"name", "run"}, {"groups", list(3, 4)}};
  const auto text = shortened(document, 100);
  ASSERT_TRUE(text);
  const Json read = Json::parse(*text);
  EXPECT_EQ(read["groups"], document["groups"]);
  EXPECT_EQ(read["left_out"], Json::array());
}

TEST(ShortenedJson, TheLongestListIsCutAndCounted) {
  const Json document = {{"groups", list(5, 20)}, {"allocations", list(1000, 20)}, {"bytes", 7}};
  for (const size_t most : {300U, 1000U, 5000U}) {
    const auto text = shortened(document, most);
    ASSERT_TRUE(text) << most;
    EXPECT_LE(text->size(), most);
    EXPECT_GT(text->size() + 40, most) << "one more element does not fit";
    const Json read = Json::parse(*text);
    EXPECT_EQ(read["bytes"], 7);
    EXPECT_EQ(read["left_out"][0]["list"], "/allocations");
    EXPECT_EQ(read["left_out"][0]["count"].get<size_t>() + read["allocations"].size(), 1000U);
    const bool all_fit = most > 300;
    EXPECT_TRUE(!all_fit || read["groups"].size() == 5U);
  }
}

TEST(ShortenedJson, ListsWithinListsAreCountedTogether) {
  Json rows = Json::array();
  for (int i = 0; i < 3; ++i) rows.push_back({{"stack", list(10, 50)}});
  const auto text = shortened({{"rows", rows}}, 700);
  ASSERT_TRUE(text);
  const Json read = Json::parse(*text);
  size_t stacks = 0, left_out = 0;
  for (const Json& row : read["rows"]) stacks += row["stack"].size();
  for (const Json& cut : read["left_out"]) {
    left_out += cut["count"].get<size_t>() * (cut["list"] == "/rows" ? 10 : 1);
    EXPECT_TRUE(cut["list"] == "/rows" || cut["list"] == "/rows/*/stack");
  }
  EXPECT_EQ(stacks + left_out, 30U);
}

TEST(ShortenedJson, EveryListKeepsItsFirstElement) {
  const Json document = {{"a", list(9, 30)}, {"b", Json::array({list(4, 30)})}};
  const size_t least = shortest(document);
  EXPECT_FALSE(shortened(document, least - 1));
  const auto text = shortened(document, least);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), least);
  const Json read = Json::parse(*text);
  EXPECT_EQ(read["a"].size(), 1U);
  EXPECT_EQ(read["b"][0].size(), 1U);
}

TEST(ShortenedJson, BytesThatAreNotUtf8AreReplaced) {
  const auto text = shortened({{"command", "\xff\xfe"}}, 100);
  ASSERT_TRUE(text);
  EXPECT_TRUE(Json::accept(*text));
}

}  // namespace
}  // namespace tapelens::text
