// Placements of DTensors as the recorder wrote them. Malformed entries are ignored.
#include <gtest/gtest.h>

#include "analyzer/peak/analysis.h"
#include "analyzer/peak/sharding.h"
#include "testing/model_builder.h"

namespace tapelens::peak {
namespace {

struct Told : testing::ProcessBuilder {
  explicit Told(std::initializer_list<const char*> values) {
    allocate(5, 1000);
    for (const char* value : values) process.information.push_back({string("sharding"), string(value)});
  }
  std::vector<Sharding> read() const { return shardings(Analysis(process, text)); }
};

TEST(Shardings, ParametersThatAreSpreadAlikeAreTogether) {
  const Told b({"dp=2 tp=4\tdp=1 tp=3\tReplicate(), Shard(dim=0)\t100\t400\tup.weight",
                "dp=2\tdp=1\tShard(dim=0)\t900\t1800\tnorm.weight",
                "dp=2 tp=4\tdp=1 tp=3\tReplicate(), Shard(dim=0)\t50\t200\tdown\tweight"});
  const std::vector<Sharding> all = b.read();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].mesh, "dp=2");
  EXPECT_EQ(all[1].mesh, "dp=2 tp=4");
  EXPECT_EQ(all[1].coordinate, "dp=1 tp=3");
  EXPECT_EQ(all[1].placements, "Replicate(), Shard(dim=0)");
  EXPECT_EQ(all[1].parameters, (std::vector<std::string>{"up.weight", "down\tweight"}));
  EXPECT_EQ(all[1].here, Bytes{150});
  EXPECT_EQ(all[1].all, Bytes{600});
  EXPECT_EQ(mesh_coordinate(Analysis(b.process, b.text)), "dp=1 tp=3") << "the mesh with the most dimensions";
}

TEST(Shardings, WhatIsNotAsItShouldBeIsLeftOut) {
  const Told b({"", "dp=2", "dp=2\tdp=1\tShard(dim=0)\t-1\t2\tw", "dp=2\tdp=1\tShard(dim=0)\t1\tx\tw",
                "dp=2\tdp=1\tShard(dim=0)\t1\t9999999999999999999\tw", "dp=2\tdp=1\tShard(dim=0)\t\t\tw"});
  EXPECT_TRUE(b.read().empty());
  EXPECT_EQ(mesh_coordinate(Analysis(b.process, b.text)), "");
  EXPECT_TRUE(Told({}).read().empty());
}

TEST(Shardings, SumsOfHostileNumbersDoNotOverflow) {
  Told b({});
  for (int i = 0; i < 20'000; ++i) {
    b.process.information.push_back(
        {b.string("sharding"), b.string("2\t0\tShard(dim=0)\t1125899906842624\t1125899906842624\tw")});
  }
  const std::vector<Sharding> all = b.read();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_GT(all[0].all.value, 0);
  EXPECT_GT(all[0].here.value, 0);
}

}  // namespace
}  // namespace tapelens::peak
