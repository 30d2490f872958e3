// Versions that move to the memory of the host: which leave and when, how they come back, and the host's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "profiler/versions/departures.h"
#include "profiler/versions/host_memory.h"
#include "profiler/versions/read_ahead.h"
#include "tests/unit/support/fake_memory.h"

namespace tapelens::versions {
namespace {

using namespace fake;

constexpr uint64_t kBytes = 1 << 20;

class Offloads : public testing::Test {
 protected:
  ~Offloads() override {
    EXPECT_EQ(Memory::alive, before_) << "something keeps memory";
    EXPECT_EQ(FakeVersion::alive, versions_before_) << "something keeps versions";
  }

  // A save of a new tensor, which the program has released.
  FakeHook& saved(uint64_t value) {
    auto storage = std::make_shared<Storage>(value);
    const auto version = std::make_shared<FakeVersion>(storage, kBytes, rules_);
    saves_.push_back(std::make_unique<FakeHook>(version, std::move(storage), Encodes::never, Ways{.offload = true}));
    return *saves_.back();
  }
  void leave(const FakeHook& save) {
    EXPECT_TRUE(save.version()->try_release());
    EXPECT_TRUE(save.version()->is_leaving());
    leaving_.add(save.version());
    advance();
  }
  void advance() { leaving_.advance(held_); }
  // For each save: whether it is released.
  std::vector<bool> released() const {
    std::vector<bool> all;
    for (const auto& save : saves_) all.push_back(save->is_released());
    return all;
  }

  Rules rules_;
  std::vector<std::unique_ptr<FakeHook>> saves_;
  Departures<FakeVersion> leaving_;
  std::vector<FakeVersionPtr> held_;

 private:
  const int64_t before_ = Memory::alive, versions_before_ = FakeVersion::alive;
};

TEST_F(Offloads, TheNewestStayAndTheOthersComeBack) {
  for (uint64_t i = 0; i < 6; ++i) leave(saved(i));
  EXPECT_EQ(released(), (std::vector<bool>{true, true, false, false, false, false}));
  EXPECT_EQ(Memory::alive, 4 + 2 + 2) << "four on the device, of which two are copied, and two on the host";
  for (const auto& save : saves_) EXPECT_TRUE(save->is_right());
  for (const auto& save : saves_) EXPECT_TRUE(save->is_right()) << "again, as for a graph that is kept";
  EXPECT_EQ(saves_.front()->freed, kBytes);
  saves_.clear();
  leaving_.clear();
}

TEST_F(Offloads, AGraphWithoutABackwardKeepsNothing) {
  const int64_t before = Memory::alive;
  for (int step = 0; step < 200; ++step) {
    for (uint64_t i = 0; i < 10; ++i) leave(saved(i));
    saves_.clear();
    EXPECT_EQ(Memory::alive, before);
    EXPECT_LE(leaving_.size(), Departures<FakeVersion>::kStay + Departures<FakeVersion>::kUnderway);
  }
  leaving_.clear();
}

TEST_F(Offloads, OlderSavesThatAreFoundLaterLeaveFirst) {
  for (uint64_t i = 0; i < 6; ++i) saved(i);
  for (size_t i = saves_.size(); i-- > 0;) {
    saves_[i]->version()->try_release();
    leaving_.add(saves_[i]->version());
  }
  advance();
  EXPECT_EQ(released(), (std::vector<bool>{true, true, false, false, false, false}));
  saves_.clear();
  leaving_.clear();
}

TEST_F(Offloads, EachHookOfAVersionGetsTheValuesOfOneCopy) {
  auto storage = std::make_shared<Storage>(7);
  const auto version = std::make_shared<FakeVersion>(storage, kBytes, rules_);
  for (int i = 0; i < 3; ++i)
    saves_.push_back(std::make_unique<FakeHook>(version, storage, Encodes::never, Ways{.offload = i == 1}));
  storage.reset();
  EXPECT_TRUE(version->try_release());
  EXPECT_EQ(version->end_offload(), Version::Leaving::ok);
  for (int backward = 0; backward < 2; ++backward) {
    const uint32_t fetches = FakeOffloaded::fetches;
    for (const auto& save : saves_) EXPECT_TRUE(save->is_right());
    EXPECT_EQ(FakeOffloaded::fetches - fetches, 1U);
    EXPECT_EQ(Memory::alive, 1) << "the host's";
  }
  saves_.clear();
}

TEST_F(Offloads, AVersionThatOthersHoldAgainStaysAndIsTriedAgain) {
  for (const bool is_copied : {false, true}) {
    FakeHook& save = saved(7);
    FakeVersion& version = *save.version();
    EXPECT_TRUE(version.try_release());
    if (is_copied) {
      EXPECT_EQ(version.begin_offload(), Version::Leaving::ok);
    }
    ValuesPtr held = values_of(nullptr, 0, true, save.storage());
    EXPECT_EQ(version.end_offload(), Version::Leaving::held);
    EXPECT_FALSE(version.is_leaving() || save.is_released());
    EXPECT_FALSE(version.try_release());
    held.reset();
    EXPECT_TRUE(version.try_release());
    EXPECT_EQ(version.end_offload(), Version::Leaving::ok);
    EXPECT_TRUE(save.is_right());
  }
  saves_.clear();
}

TEST_F(Offloads, AVersionThatIsWrittenDuringItsCopyStays) {
  FakeHook& save = saved(7);
  FakeVersion& version = *save.version();
  EXPECT_TRUE(version.try_release());
  EXPECT_EQ(version.begin_offload(), Version::Leaving::ok);
  ++*save.storage()->counter;
  EXPECT_EQ(version.end_offload(), Version::Leaving::ended);
  EXPECT_FALSE(save.is_released());
  EXPECT_EQ(Memory::alive, 1);
  saves_.clear();
}

TEST_F(Offloads, WithoutMemoryOfTheHostASaveStaysOnTheDevice) {
  rules_.is_host_full = [] { return true; };
  for (uint64_t i = 0; i < 8; ++i) leave(saved(i));
  EXPECT_EQ(std::ranges::count(released(), true), 0);
  EXPECT_EQ(saves_.front()->version()->reasons, std::vector<std::string>{"full"});
  EXPECT_TRUE(held_.empty());
  saves_.clear();
  leaving_.clear();
}

TEST_F(Offloads, ASourceComesBackForWhatIsMadeOfItAfterItsOwnSaveIsGone) {
  auto storage = std::make_shared<Storage>(7), result = std::make_shared<Storage>(0);
  const auto version = std::make_shared<FakeVersion>(storage, kBytes, rules_);
  auto call = std::make_unique<FakeCall>(recompute::cheap("aten::relu"), false);
  call->read(version);
  result->memory->value = call->first_result({storage});
  const auto made = std::make_shared<FakeVersion>(result, kBytes, rules_);
  made->set_rematerialization(std::move(call));
  auto source = std::make_unique<FakeHook>(version, std::move(storage), Encodes::never, Ways{.offload = true});
  auto save = std::make_unique<FakeHook>(made, std::move(result), Encodes::never, Ways{.rematerialize = true});
  EXPECT_TRUE(made->try_release());
  EXPECT_TRUE(save->is_released() && !save->is_offloaded);
  EXPECT_TRUE(version->try_release());
  EXPECT_EQ(version->end_offload(), Version::Leaving::ok);
  source.reset();
  EXPECT_EQ(Memory::alive, 1) << "the host's";
  EXPECT_TRUE(save->is_right());
  save.reset();
  EXPECT_EQ(Memory::alive, 0);
}

// ---- the order in which they return

class FakeAway final : public Away {
 public:
  void fetch_ahead() noexcept override { is_here = true; }
  void drop_ahead() noexcept override { is_here = false; }
  bool is_here = false;
};

std::set<uint64_t> here(const std::vector<std::shared_ptr<FakeAway>>& all) {
  std::set<uint64_t> found;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i]->is_here) found.insert(i);
  return found;
}

TEST(ReadAhead, TheSavesBeforeTheOneThatIsReadReturn) {
  ReadAhead ahead;
  std::vector<std::shared_ptr<FakeAway>> all;
  for (uint64_t order = 0; order < 10; ++order) {
    all.push_back(std::make_shared<FakeAway>());
    ahead.add(order, all.back());
  }
  ahead.read(100);
  EXPECT_EQ(here(all), (std::set<uint64_t>{7, 8, 9}));
  ahead.read(9);
  all[9]->is_here = false;  // read
  EXPECT_EQ(here(all), (std::set<uint64_t>{6, 7, 8}));
  ahead.read(3);
  EXPECT_EQ(here(all), (std::set<uint64_t>{0, 1, 2})) << "those that were passed go";
  ahead.read(0);
  EXPECT_EQ(here(all), (std::set<uint64_t>{}));
  ahead.remove(1);
  all[2].reset();
  ahead.read(4);
  EXPECT_TRUE(all[3]->is_here && !all[1]->is_here && all[0]->is_here);
}

TEST(ReadAhead, ThreadsMayReadAndDropAtOnce) {
  ReadAhead ahead;
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&ahead, thread] {
      for (uint64_t i = 0; i < 2000; ++i) {
        const uint64_t order = 3 * i + thread;
        struct Quiet final : Away {
          void fetch_ahead() noexcept override {}
          void drop_ahead() noexcept override {}
        };
        const auto away = std::make_shared<Quiet>();
        ahead.add(order, away);
        ahead.read(order + 1);
        if (i % 2 == 0) ahead.remove(order);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- the host's memory

TEST(HostMemory, NothingIsTakenOverTheLimit) {
  HostMemory memory(100);
  EXPECT_TRUE(memory.take(60));
  EXPECT_FALSE(memory.take(41));
  EXPECT_TRUE(memory.take(40));
  memory.give(60);
  EXPECT_EQ(memory.used(), 40U);
  memory.is_full();
  EXPECT_FALSE(memory.take(1));
  memory.give(40);
  EXPECT_TRUE(memory.take(40));
  EXPECT_FALSE(HostMemory(10).take(UINT64_MAX));
}

TEST(HostMemory, TheBlocksOfAVersionArePowersOfTwoAndAnEighthLargerAtMost) {
  EXPECT_EQ(pinned_blocks(0), std::vector<uint64_t>{});
  EXPECT_EQ(pinned_blocks(1), std::vector<uint64_t>{1});
  EXPECT_EQ(pinned_blocks(48), (std::vector<uint64_t>{32, 16}));
  EXPECT_EQ(pinned_blocks(33), (std::vector<uint64_t>{32, 4}));
  for (uint64_t bytes = 1; bytes < 5000; ++bytes) {
    const std::vector<uint64_t> blocks = pinned_blocks(bytes);
    EXPECT_TRUE(std::ranges::all_of(blocks, [](uint64_t block) { return std::has_single_bit(block); }));
    const uint64_t all = std::accumulate(blocks.begin(), blocks.end(), uint64_t{0});
    EXPECT_TRUE(all >= bytes && all <= bytes + bytes / 8) << bytes;
    EXPECT_LE(blocks.size(), 5U) << bytes;
    EXPECT_LT(all - blocks.back(), bytes) << "each block has a part of it";
  }
}

}  // namespace
}  // namespace tapelens::versions
