// Release and restoration of storage versions: profiler/versions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "profiler/versions/departures.h"
#include "profiler/versions/shared_budget.h"
#include "profiler/versions/trials.h"
#include "profiler/versions/version.h"
#include "tests/unit/support/fake_memory.h"

namespace tapelens::versions {
namespace {

using namespace fake;

constexpr uint64_t kBytes = 1 << 20;
const recompute::Repeatable kRelu = recompute::cheap("aten::relu"), kMul = recompute::cheap("aten::mul"),
                            kMatrix = recompute::repeatable("aten::mm");

// A tensor of the program.
struct Tensor {
  StoragePtr storage;
  FakeVersionPtr version;
};

class Versions : public testing::Test {
 protected:
  ~Versions() override {
    EXPECT_EQ(Memory::alive, before_) << "something keeps memory";
    EXPECT_EQ(FakeVersion::alive, versions_before_) << "something keeps versions";
  }

  Tensor tensor(uint64_t value, uint64_t bytes = kBytes) {
    auto storage = std::make_shared<Storage>(value);
    auto version = std::make_shared<FakeVersion>(storage, bytes, rules_);
    return {std::move(storage), std::move(version)};
  }
  Tensor made_by(recompute::Repeatable op, const std::vector<Tensor*>& sources, uint64_t bytes = kBytes) {
    auto call = std::make_unique<FakeCall>(op, false);
    call->bytes = bytes;
    std::vector<StoragePtr> storages;
    for (const Tensor* source : sources) {
      call->read(source->version);
      storages.push_back(source->storage);
    }
    Tensor made = tensor(call->first_result(storages), bytes);
    made.version->set_rematerialization(std::move(call));
    return made;
  }
  // An operator writes `of` and reads its old content.
  void write_by(recompute::Repeatable op, Tensor& of) {
    auto call = std::make_unique<FakeCall>(op, true);
    call->read(of.version);
    write(of, call->first_result({of.storage}));
    of.version = std::make_shared<FakeVersion>(of.storage, of.version->bytes(), rules_);
    of.version->set_rematerialization(std::move(call));
    of.version->forget_useless_recipe();
  }
  std::unique_ptr<FakeHook> save(const Tensor& of, Encodes encodes = Encodes::never, bool may_encode = true,
                                 bool may_rematerialize = true) {
    return std::make_unique<FakeHook>(of.version, of.storage, encodes, Ways{may_encode, may_rematerialize});
  }
  // Writes as an operator of the program does.
  static void write(Tensor& tensor, uint64_t value) {
    tensor.version->about_to_be_written();
    tensor.storage->memory->value = value;
    ++*tensor.storage->counter;
    tensor.version->overwritten();
  }

  Rules rules_;

 private:
  const int64_t before_ = Memory::alive, versions_before_ = FakeVersion::alive;
};

TEST_F(Versions, AStorageThatTheProgramHasIsKeptUntilItLetsGo) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  x.version->kept_by_program();
  const auto saved = save(y);
  EXPECT_FALSE(y.version->try_release());
  EXPECT_FALSE(saved->is_released());
  y.storage.reset();
  EXPECT_TRUE(y.version->try_release());
  EXPECT_TRUE(saved->is_released());
  EXPECT_EQ(saved->freed, kBytes);
  EXPECT_TRUE(saved->is_right());
  EXPECT_TRUE(saved->is_right());  // and again
}

TEST_F(Versions, WithoutAWayBackAStorageStays) {
  Tensor x = tensor(7);
  const auto saved = save(x);
  x.storage.reset();
  EXPECT_TRUE(x.version->try_release());
  EXPECT_FALSE(saved->is_released());
  EXPECT_TRUE(saved->is_right());
}

// Autocast's copies of weights (profiler/rewrite/autocast_copies.h).
TEST_F(Versions, ACacheGivesTheMemoryBackUntilItsNextReader) {
  Tensor weight = tensor(7), copy = made_by(kRelu, {&weight});
  weight.version->kept_by_program();
  copy.version->is_cached = true;
  const uint64_t value = copy.storage->memory->value;
  const auto saved = save(copy);
  StoragePtr reader = copy.storage;
  EXPECT_FALSE(copy.version->try_release()) << "an operator reads it";
  reader.reset();
  EXPECT_TRUE(copy.version->try_release());
  EXPECT_TRUE(saved->is_released());
  EXPECT_EQ(copy.storage->memory, nullptr);
  EXPECT_TRUE(saved->is_right());
  copy.version->give_memory();
  ASSERT_NE(copy.storage->memory, nullptr);
  EXPECT_EQ(copy.storage->memory->value, value);
  EXPECT_TRUE(saved->is_right());
}

TEST_F(Versions, ACacheHasTheOldValuesAfterItsSourceIsWritten) {
  for (const bool is_saved : {true, false}) {
    Tensor weight = tensor(7), copy = made_by(kRelu, {&weight});
    weight.version->kept_by_program();
    weight.version->cast = copy.version;
    copy.version->is_cached = true;
    const uint64_t value = copy.storage->memory->value;
    auto saved = save(copy);
    EXPECT_TRUE(copy.version->try_release());
    if (!is_saved) saved.reset();  // its backward is over
    EXPECT_TRUE(copy.version->is_without_memory());
    write(weight, 9);
    ASSERT_NE(copy.storage->memory, nullptr);
    EXPECT_EQ(copy.storage->memory->value, value);
    EXPECT_TRUE(!is_saved || saved->is_right());
  }
}

TEST_F(Versions, ACacheKeepsWhatIsNotRecomputedAndTheReasonIsCountedOnce) {
  rules_.is_worth = [](uint64_t, uint64_t, uint64_t) { return false; };
  Tensor weight = tensor(7), copy = made_by(kRelu, {&weight});
  weight.version->kept_by_program();
  copy.version->is_cached = true;
  FakeHook saved(copy.version, copy.storage, Encodes::never,
                 Ways{.encode = false, .rematerialize = true, .offload = true});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(copy.version->try_release());
  EXPECT_FALSE(saved.is_released() || copy.version->is_leaving());
  copy.storage.reset();
  EXPECT_TRUE(copy.version->try_release());
  EXPECT_TRUE(copy.version->is_leaving());
  EXPECT_EQ(copy.version->reasons, std::vector<std::string>{"over the recompute budget"});
}

TEST_F(Versions, OneSaveWithoutAHookKeepsTheStorageForAll) {
  Tensor x = tensor(7);
  const auto saved = save(x, Encodes::exact);
  x.version->kept_by_save();
  x.storage.reset();
  EXPECT_TRUE(x.version->try_release());
  EXPECT_FALSE(saved->is_released());
}

TEST_F(Versions, HooksThatCannotAllEncodeKeepTheStorage) {
  for (const Encodes other : {Encodes::never, Encodes::not_these_values}) {
    Tensor x = tensor(7);
    const auto one = save(x, Encodes::mask);
    const auto two = save(x, other);
    x.storage.reset();
    EXPECT_TRUE(x.version->try_release());
    EXPECT_FALSE(one->is_released() || two->is_released());
  }
}

TEST_F(Versions, EachHookKeepsItsOwnEncodingAndOneCountsTheBytes) {
  Tensor x = tensor(7);
  const auto one = save(x, Encodes::mask), two = save(x, Encodes::exact);
  x.storage.reset();
  EXPECT_TRUE(x.version->try_release());
  EXPECT_TRUE(one->is_released() && two->is_released());
  EXPECT_EQ(one->freed + two->freed, kBytes);
  EXPECT_TRUE(one->is_right() && two->is_right());
}

TEST_F(Versions, WhatIsNotAskedForIsNotDone) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  x.version->kept_by_program();
  const auto saved = save(y, Encodes::mask, false, false);
  y.storage.reset();
  EXPECT_TRUE(y.version->try_release());
  EXPECT_FALSE(saved->is_released());
}

TEST_F(Versions, ASegmentWithACostlyOperatorRunsOnceInABackward) {
  for (const bool is_costly : {false, true}) {
    Tensor x = tensor(7);
    x.version->kept_by_program();
    std::vector<Tensor> made;
    std::vector<std::unique_ptr<FakeHook>> saves;
    for (int i = 0; i < 4; ++i) {
      made.push_back(made_by(i == 0 && is_costly ? kMatrix : kRelu, {i == 0 ? &x : &made.back()}));
      saves.push_back(save(made.back()));
      saves.push_back(save(made.back()));  // its own node and the next one save it
    }
    for (Tensor& tensor : made) {
      tensor.storage.reset();
      EXPECT_TRUE(tensor.version->try_release());
    }
    const int64_t alive = Memory::alive;
    const uint32_t before = FakeCall::runs;
    for (int backward = 0; backward < 2; ++backward) {  // the graph is kept
      for (size_t i = saves.size(); i-- > 0;) EXPECT_TRUE(saves[i]->is_released() && saves[i]->is_right());
      EXPECT_EQ(Memory::alive, alive) << "values stay after their last use";
    }
    EXPECT_EQ(FakeCall::runs - before, is_costly ? 2 * 4u : 2 * (4u + 3 + 2 + 1));
    for (size_t i = saves.size(); i-- > 0;) {
      EXPECT_TRUE(saves[i]->is_right());
      saves.pop_back();
    }
    EXPECT_EQ(Memory::alive, alive);
  }
}

TEST_F(Versions, ValuesThatAreKeptForAHookDieWithIt) {
  Tensor x = tensor(7), y = made_by(kMatrix, {&x}), z = made_by(kRelu, {&y});
  x.version->kept_by_program();
  auto of_y = save(y), again = save(y), of_z = save(z);
  y.storage.reset();
  z.storage.reset();
  ASSERT_TRUE(z.version->try_release() && y.version->try_release());
  const int64_t alive = Memory::alive;
  EXPECT_TRUE(of_z->is_right());  // makes y
  EXPECT_EQ(Memory::alive, alive + 1);
  EXPECT_TRUE(of_y->is_right());
  EXPECT_EQ(Memory::alive, alive + 1);
  again.reset();  // no backward reads it
  EXPECT_EQ(Memory::alive, alive);
  EXPECT_TRUE(of_y->is_right());
}

TEST_F(Versions, ASourceThatTheProgramWritesLaterIsReadAsItWas) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  x.version->kept_by_program();
  const auto saved = save(y);
  y.storage.reset();
  ASSERT_TRUE(y.version->try_release() && saved->is_released());
  write(x, 8);
  EXPECT_TRUE(saved->is_right());
  x.storage.reset();
  EXPECT_TRUE(saved->is_right());
}

TEST_F(Versions, ASourceThatWasWrittenBeforeKeepsWhatReadsIt) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  x.version->kept_by_program();
  const auto saved = save(y);
  write(x, 8);
  y.storage.reset();
  EXPECT_TRUE(y.version->try_release());
  EXPECT_FALSE(saved->is_released());
  EXPECT_EQ(y.version->reasons, std::vector<std::string>{"its inputs are not kept"});
}

TEST_F(Versions, TheLastHookOfASourcePinsItForWhatDependsOnIt) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  auto of_x = save(x), of_y = save(y);
  y.storage.reset();
  ASSERT_TRUE(y.version->try_release() && of_y->is_released());
  x.storage.reset();
  of_x.reset();  // its node was evaluated first
  EXPECT_TRUE(of_y->is_right());
}

TEST_F(Versions, APinOfTheStorageItselfIsNotReadWhenItWasWrittenAndCouldNotBeCopied) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  auto of_x = save(x), of_y = save(y);
  y.storage.reset();
  ASSERT_TRUE(y.version->try_release() && of_y->is_released());
  of_x.reset();
  rules_.copy_fails = [] { return true; };
  EXPECT_THROW(x.version->about_to_be_written(), std::bad_alloc);
  x.storage->memory->value = 8;
  ++*x.storage->counter;
  x.version->overwritten();
  EXPECT_ANY_THROW(of_y->is_right());  // an error, not a wrong gradient
}

TEST_F(Versions, AChainOfReleasedVersionsComesBackOneThroughTheOther) {
  Tensor x = tensor(7);
  x.version->kept_by_program();
  std::vector<Tensor> row = {x};
  std::vector<std::unique_ptr<FakeHook>> saved;
  for (int i = 0; i < 5; ++i) {
    row.push_back(made_by(kRelu, {&row.back()}));
    saved.push_back(save(row.back()));
  }
  for (Tensor& one : row) one.storage.reset();
  for (size_t i = 1; i < row.size(); ++i) EXPECT_TRUE(row[i].version->try_release()) << i;
  for (size_t i = 0; i < saved.size(); ++i) {
    EXPECT_TRUE(saved[i]->is_released()) << i;
    EXPECT_TRUE(saved[i]->is_right()) << i;
  }
  row.clear();
  while (!saved.empty()) {
    saved.erase(saved.begin());  // reverse order of a backward: saves that later hooks read stay
    for (const auto& hook : saved) EXPECT_TRUE(hook->is_right());
  }
}

TEST_F(Versions, WhatOthersDependOnGoesOnlyWholeOrByAWayOfItsOwn) {
  for (const bool is_exact : {false, true}) {
    Tensor x = tensor(7), y = made_by(kRelu, {&x});
    const auto of_x = save(x, is_exact ? Encodes::exact : Encodes::mask), of_y = save(y);
    y.storage.reset();
    ASSERT_TRUE(y.version->try_release() && of_y->is_released());
    x.storage.reset();
    EXPECT_TRUE(x.version->try_release());
    EXPECT_EQ(of_x->is_released(), is_exact);
    EXPECT_TRUE(of_x->is_right() && of_y->is_right());
  }
}

TEST_F(Versions, AnExactEncodingStaysWhenItsHookGoesAndOthersDependOnIt) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  auto of_x = save(x, Encodes::exact), of_y = save(y);
  y.storage.reset();
  ASSERT_TRUE(y.version->try_release());
  x.storage.reset();
  ASSERT_TRUE(x.version->try_release() && of_x->is_released());
  of_x.reset();
  EXPECT_TRUE(of_y->is_right());
}

TEST_F(Versions, WhatGivesOtherBitsStaysAndPinsNothing) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  x.version->kept_by_program();
  y.version->gives_other_bits = true;
  const auto saved = save(y);
  y.storage.reset();
  EXPECT_TRUE(y.version->try_release());
  EXPECT_FALSE(saved->is_released());
  EXPECT_EQ(y.version->reasons, std::vector<std::string>{"recomputed it has other bits"});
  EXPECT_EQ(x.storage->memory.use_count(), 1);
}

TEST_F(Versions, WhatIsNotWorthItStays) {
  uint64_t asked = 0;
  rules_.is_worth = [&](uint64_t, uint64_t bytes, uint64_t cost) {
    EXPECT_EQ(bytes, kBytes);
    asked = cost;
    return false;
  };
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  x.version->kept_by_program();
  const auto saved = save(y);
  y.storage.reset();
  EXPECT_TRUE(y.version->try_release());
  EXPECT_FALSE(saved->is_released());
  EXPECT_EQ(asked, kRelu.passes * kBytes);
}

TEST_F(Versions, EachDependentIsPaidFor) {
  std::vector<uint64_t> costs;
  rules_.is_worth = [&](uint64_t, uint64_t, uint64_t cost) {
    costs.push_back(cost);
    return true;
  };
  Tensor x = tensor(7), y = made_by(kRelu, {&x}), a = made_by(kRelu, {&y}), b = made_by(kMul, {&y, &y});
  x.version->kept_by_program();
  const auto of_y = save(y), of_a = save(a), of_b = save(b);
  for (Tensor* one : {&a, &b, &y}) {
    one->storage.reset();
    EXPECT_TRUE(one->version->try_release());
  }
  ASSERT_EQ(costs.size(), 3U);
  EXPECT_EQ(costs[2], kRelu.passes * kBytes * 4);  // for itself, for a, and twice for b
  EXPECT_TRUE(of_y->is_right() && of_a->is_right() && of_b->is_right());
}

TEST_F(Versions, WhatIsMuchLargerThanItsDependentsStays) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x}), part = made_by(kRelu, {&y}, kBytes / 8);
  x.version->kept_by_program();
  const auto of_y = save(y), of_part = save(part);
  part.storage.reset();
  ASSERT_TRUE(part.version->try_release() && of_part->is_released());
  y.storage.reset();
  EXPECT_TRUE(y.version->try_release());
  EXPECT_FALSE(of_y->is_released());
}

TEST_F(Versions, TheSameCallIsFoundAgainAsLongAsItsResultCanBeHad) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  x.version->made(y.version, FakeCall(kRelu, false).key());
  FakeCall again(kRelu, false), other(kMul, false);
  again.read(x.version);
  other.read(x.version);
  EXPECT_EQ(x.version->made_before(again), y.version);
  EXPECT_EQ(x.version->made_before(other), nullptr);
  y.storage.reset();
  EXPECT_EQ(x.version->made_before(again), nullptr);
}

TEST_F(Versions, AStorageThatIsLeftAloneIsNeitherReleasedNorRead) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  x.version->kept_by_program();
  const auto of_x = save(x, Encodes::exact), of_y = save(y);
  x.version->leave_alone();
  y.storage.reset();
  EXPECT_TRUE(y.version->try_release());
  EXPECT_FALSE(of_y->is_released());
  x.storage.reset();
  EXPECT_TRUE(x.version->try_release());
  EXPECT_FALSE(of_x->is_released());
}

TEST_F(Versions, AReaderGetsTheValuesFromBeforeAWrite) {
  Tensor x = tensor(7);
  ASSERT_TRUE(x.version->add_reader());
  write(x, 8);
  EXPECT_EQ(memory_of(x.version->read()).value, 7U);
  x.storage.reset();
  EXPECT_EQ(memory_of(x.version->read()).value, 7U);
  x.version->remove_reader();
  EXPECT_THROW(x.version->read(), std::runtime_error);
}

TEST_F(Versions, ValuesThatWereWrittenOrMayBeWrittenUnseenGetNoReader) {
  Tensor x = tensor(7), y = tensor(9), z = tensor(1);
  const FakeVersionPtr before = x.version;
  write(x, 8);
  EXPECT_FALSE(before->add_reader());
  y.version->exposed();
  EXPECT_FALSE(y.version->add_reader());
  z.version->leave_alone();
  EXPECT_FALSE(z.version->add_reader());
}

TEST_F(Versions, OnlyTheLastReaderTakesTheMemory) {
  Tensor x = tensor(7);
  ASSERT_TRUE(x.version->add_reader());
  ASSERT_TRUE(x.version->add_reader());
  EXPECT_EQ(x.version->take(), nullptr) << "another reader";
  x.version->remove_reader();
  EXPECT_EQ(x.version->take(), nullptr) << "the program has it";
  auto saved = save(x);
  x.storage.reset();
  EXPECT_EQ(x.version->take(), nullptr) << "a save has it";
  saved.reset();
  const ValuesPtr taken = x.version->take();
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(memory_of(taken).value, 7U);
  EXPECT_THROW(x.version->read(), std::runtime_error);
  EXPECT_FALSE(x.version->add_reader());
  x.version->remove_reader();
}

TEST_F(Versions, WhatTheFirstHookGotOfAPinIsNotGivenToTheNextWhenItWasWrittenSince) {
  Tensor x = tensor(7), y = made_by({}, {&x});  // a copy
  auto of_x = save(x), one = save(y), two = save(y);
  y.storage.reset();
  ASSERT_TRUE(y.version->try_release() && one->is_released() && two->is_released());
  of_x.reset();  // the storage itself is the pin now
  EXPECT_TRUE(one->is_right());
  write(x, 8);
  EXPECT_TRUE(two->is_right());
}

// ---- how long versions live

const recompute::Repeatable kMulInPlace = recompute::cheap("aten::mul_");

TEST_F(Versions, ATensorThatIsWrittenInEachStepKeepsFewOfItsVersions) {
  Tensor state = tensor(7);
  int64_t most = 0;
  for (int i = 0; i < 10'000; ++i) {
    write_by(kMulInPlace, state);
    most = std::max<int64_t>(most, FakeVersion::alive);
  }
  EXPECT_LE(most, recompute::kMostOperators + 2);
}

TEST_F(Versions, AStateThatIsMadeAnewInEachStepKeepsFewOfItsVersions) {
  Tensor weight = tensor(3), average = tensor(7);
  int64_t most = 0;
  for (int i = 0; i < 10'000; ++i) {
    write_by(kMulInPlace, weight);
    Tensor old = made_by(kMul, {&average}), share = made_by(kMul, {&weight});
    average = made_by(recompute::cheap("aten::add"), {&old, &share});
    most = std::max<int64_t>(most, FakeVersion::alive);
  }
  EXPECT_LE(most, 4 * recompute::kMostOperators);
}

TEST_F(Versions, CopiesOfCopiesKeepFewOfTheirVersions) {
  Tensor copy = tensor(7);
  int64_t most = 0;
  for (int i = 0; i < 10'000; ++i) {
    copy = made_by({}, {&copy});
    most = std::max<int64_t>(most, FakeVersion::alive);
  }
  EXPECT_LE(most, recompute::kMostVersions + 4);
}

TEST_F(Versions, AnActivationThatWasWrittenInPlaceIsStillMadeOfWhatItWasMadeOf) {
  Tensor x = tensor(7);
  x.version->kept_by_program();
  Tensor y = made_by(kMul, {&x});
  write_by(recompute::cheap("aten::relu_"), y);
  const auto saved = save(y);
  y.storage.reset();
  EXPECT_TRUE(y.version->try_release());
  EXPECT_TRUE(saved->is_released());
  EXPECT_TRUE(saved->is_right());
}

// Each version owns the one before it: recursive destruction would overflow the stack.
TEST_F(Versions, ALongRowOfVersionsThatAllLivedIsFreed) {
  std::vector<Tensor> all = {tensor(7)};
  for (int i = 0; i < 300'000; ++i) all.push_back(made_by(kMul, {&all.back()}));
  Tensor last = all.back();
  all.clear();
  EXPECT_GT(FakeVersion::alive, 300'000);
  last.version->forget_useless_recipe();
  EXPECT_EQ(FakeVersion::alive, 1);
}

TEST_F(Versions, NoChainBecomesLongerByTheReleaseOfWhatItReads) {
  std::vector<Tensor> row = {tensor(7)};
  std::vector<std::unique_ptr<FakeHook>> saved;
  for (int i = 0; i < 1000; ++i) {
    row.push_back(made_by(kMul, {&row.back()}));
    saved.push_back(save(row.back()));
  }
  for (Tensor& one : row) one.storage.reset();
  for (size_t i = row.size(); i-- > 1;) row[i].version->try_release();
  size_t released = 0, in_a_row = 0;
  for (const auto& hook : saved) {
    in_a_row = hook->is_released() ? in_a_row + 1 : 0;
    released += hook->is_released() ? 1 : 0;
    EXPECT_LE(in_a_row, recompute::kMostOperators);
    EXPECT_TRUE(hook->is_right());
  }
  EXPECT_GT(released, saved.size() / 2);
}

TEST_F(Versions, WhatTheSameCallsMadeIsForgottenWhenItIsGone) {
  Tensor x = tensor(7);
  for (int i = 0; i < 10'000; ++i) {
    const Tensor y = made_by(kRelu, {&x});
    x.version->made(y.version, FakeCall(kRelu, false).key());
  }
  EXPECT_EQ(FakeVersion::alive, 1);
}

// ---- writes that PyTorch does not detect

TEST_F(Versions, AStorageWhoseAddressIsKnownStaysAndIsNoSource) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  const auto of_x = save(x, Encodes::exact), of_y = save(y);
  x.version->exposed();
  y.storage.reset();
  EXPECT_TRUE(y.version->try_release());
  EXPECT_FALSE(of_y->is_released());
  x.storage.reset();
  EXPECT_TRUE(x.version->try_release());
  EXPECT_FALSE(of_x->is_released());
}

TEST_F(Versions, WhatWasReleasedBeforeAnAddressIsGivenAwayReadsACopy) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  const auto of_x = save(x), of_y = save(y);
  y.storage.reset();
  ASSERT_TRUE(y.version->try_release() && of_y->is_released());
  x.version->about_to_be_written();
  x.version->exposed();
  x.storage->memory->value = 8;  // no operator
  EXPECT_TRUE(of_y->is_right());
}

TEST_F(Versions, AParameterWhoseAddressIsKnownIsComparedWithWhatItWas) {
  for (const bool is_written : {false, true}) {
    Tensor x = tensor(7), y = made_by(kRelu, {&x});
    x.version->kept_by_program();
    x.version->exposed();
    x.version->compares = true;
    const auto saved = save(y);
    y.storage.reset();
    ASSERT_TRUE(y.version->try_release() && saved->is_released());
    if (is_written) x.storage->memory->value = 8;
    if (is_written) {
      EXPECT_ANY_THROW(saved->is_right());  // an error, not a wrong gradient
    } else {
      EXPECT_TRUE(saved->is_right());
    }
  }
}

TEST_F(Versions, AParameterThatWasWrittenUnseenBeforeTheReleaseKeepsWhatReadsIt) {
  Tensor x = tensor(7), y = made_by(kRelu, {&x});
  x.version->kept_by_program();
  x.version->exposed();
  x.version->compares = y.version->trusts = true;
  const auto saved = save(y);
  x.storage->memory->value = 8;  // no operator
  y.storage.reset();
  EXPECT_TRUE(y.version->try_release());
  EXPECT_FALSE(saved->is_released());
  EXPECT_EQ(y.version->reasons, std::vector<std::string>{"recomputed it has other bits"});
}

// Random programs of all operations. A model of the saved values predicts every result.
class RandomProgram : public Versions {
 protected:
  void run(uint32_t seed, bool with_failures) {
    random_.seed(seed);
    may_fail_ = with_failures;
    rules_.copy_fails = [this] { return may_fail_ && random_() % 3 == 0 && (has_failed_ = true); };
    rules_.is_host_full = [this] { return random_() % 8 == 0; };
    rules_.is_worth = [this](uint64_t, uint64_t, uint64_t) { return random_() % 8 != 0; };
    for (int i = 0; i < 8; ++i) tensors_.push_back(tensor(random_()));
    for (int i = 0; i < 400; ++i) {
      step();
      if (i % 10 == 0) check();
    }
    check();
    while (!saved_.empty()) drop_save();
    tensors_.clear();
    versions_.clear();
    small_.clear();
    leaving_.clear();
  }
  uint64_t released = 0, offloaded = 0;

 private:
  size_t pick(size_t count) { return random_() % count; }
  Tensor& any() { return tensors_[pick(tensors_.size())]; }

  void step() {
    switch (pick(16)) {
      case 0:
        add(tensor(random_()));
        break;
      case 1:
      case 2:
      case 3:
        call(false);
        break;
      case 4:
        call(true);
        break;
      case 5:
        write_somehow();
        break;
      case 6:
      case 7:
      case 8:
        save_any();
        break;
      case 9:
      case 10:
        if (tensors_.size() > 4) tensors_.erase(tensors_.begin() + static_cast<long>(pick(tensors_.size())));
        break;
      case 11:
        if (!saved_.empty()) drop_save();
        break;
      case 12:
        marks();
        break;
      default:
        release_all();
    }
    std::erase_if(versions_, [](const auto& version) { return version->hooks() == 0; });
  }

  void release_all() {
    for (auto& version : versions_) {
      const bool was_leaving = version->is_leaving();
      version->try_release();
      if (version->is_leaving() && !was_leaving) leaving_.add(version);
    }
    std::vector<FakeVersionPtr> held;  // also in versions_
    leaving_.advance(held);
    if (pick(4) == 0) leaving_.forget_unused();
  }

  void add(Tensor made) { tensors_.push_back(std::move(made)); }

  void call(bool is_in_place) {
    static const std::array ops = {kRelu, kMul, recompute::cheap("aten::tanh"), recompute::Repeatable{}};
    const recompute::Repeatable op = is_in_place ? recompute::cheap("aten::relu_") : ops[pick(ops.size())];
    auto made = std::make_unique<FakeCall>(op, is_in_place);
    std::vector<StoragePtr> storages;
    Tensor& first = any();
    if (is_in_place && first.version->hooks() > 0) return;  // see write_somehow()
    made->read(first.version);
    storages.push_back(first.storage);
    if (op && pick(2) == 0) {
      const Tensor& second = any();
      if (!is_in_place || second.storage != first.storage) {
        made->read(second.version);
        storages.push_back(second.storage);
      }
    }
    if (op && pick(3) == 0) {
      small_.push_back(std::make_shared<Storage>(random_()));
      made->read_small(small_.back());
    }
    const uint64_t value = made->first_result(storages);
    if (is_in_place) {
      if (!try_write(first, value)) return;
      first.version = std::make_shared<FakeVersion>(first.storage, first.version->bytes(), rules_);
      first.version->set_rematerialization(std::move(made));
      return;
    }
    if (auto before = first.version->made_before(*made)) {
      made = std::make_unique<FakeCall>(recompute::Repeatable{}, false);
      made->read(std::static_pointer_cast<FakeVersion>(before));
    }
    Tensor result = tensor(value);
    const uint64_t key = made->key();
    result.version->set_rematerialization(std::move(made));
    first.version->made(result.version, key);
    add(std::move(result));
  }

  // False: the host could not keep the old content, so the content of the storage is unknown now.
  bool try_write(Tensor& of, uint64_t value) {
    bool is_kept = true;
    try {
      of.version->about_to_be_written();
    } catch (const std::bad_alloc&) {
      of.version->overwritten();
      is_kept = false;
    }
    of.storage->memory->value = value;
    ++*of.storage->counter;
    of.version->overwritten();
    if (!is_kept) of.version = std::make_shared<FakeVersion>(of.storage, of.version->bytes(), rules_);
    return is_kept;
  }

  void write_somehow() {
    // LibTorch refuses to read a save after a write: programs do not write tensors that they saved.
    Tensor& of = any();
    if (of.version->hooks() > 0) return;
    if (!small_.empty() && pick(2) == 0) {
      Storage& small = *small_[pick(small_.size())];
      small.memory->value = random_();
      ++*small.counter;
      return;
    }
    if (try_write(of, random_())) of.version = std::make_shared<FakeVersion>(of.storage, kBytes, rules_);
  }

  void save_any() {
    Tensor& of = any();
    const std::array kinds = {Encodes::never, Encodes::never, Encodes::mask, Encodes::exact, Encodes::not_these_values};
    const Ways ways{pick(4) != 0, pick(4) != 0, pick(2) != 0};
    saved_.push_back(std::make_unique<FakeHook>(of.version, of.storage, kinds[pick(kinds.size())], ways));
    versions_.push_back(of.version);
  }

  void drop_save() {
    const size_t at = pick(saved_.size());
    check(*saved_[at]);
    released += saved_[at]->is_released() ? 1 : 0;
    offloaded += saved_[at]->is_offloaded ? 1 : 0;
    saved_.erase(saved_.begin() + static_cast<long>(at));
  }

  void marks() {
    switch (pick(4)) {
      case 0:
        any().version->kept_by_program();
        break;
      case 1:
        backward_ended();
        break;
      case 2:
        if (any().version->hooks() == 0) any().version->kept_by_save();
        break;
      default: {
        Tensor& of = any();
        if (of.version->hooks() > 0) return;
        of.version->leave_alone();
        try_write(of, of.storage->memory->value);
        of.version = std::make_shared<FakeVersion>(of.storage, kBytes, rules_);
        of.version->leave_alone();
      }
    }
  }

  void check(const FakeHook& hook) {
    try {
      EXPECT_TRUE(hook.is_right());
    } catch (const std::exception& error) {
      EXPECT_TRUE(has_failed_) << error.what();  // after a failed allocation, an error is correct
    }
  }
  void check() {
    for (const auto& hook : saved_) check(*hook);
  }

  std::mt19937 random_;
  std::vector<Tensor> tensors_;
  std::vector<std::unique_ptr<FakeHook>> saved_;
  std::vector<FakeVersionPtr> versions_;  // tensors with hooks
  std::vector<StoragePtr> small_;
  Departures<FakeVersion> leaving_;
  bool may_fail_ = false, has_failed_ = false;
};

TEST_F(RandomProgram, EachSaveComesBackAsItWasAndNothingStaysBehind) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    run(seed, false);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(released, 1000U);
  EXPECT_GT(offloaded, 200U);
}

TEST_F(RandomProgram, WithoutMemoryForCopiesASaveIsAnErrorAtWorst) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    run(seed, true);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(released, 1000U);
}

TEST(Trials, WrongOnceIsWrongForAllSizesAndRightForSeveralIsRightForAll) {
  Trials trials;
  EXPECT_EQ(trials.state(1, 10), Trials::State::untried);
  for (uint64_t key = 10; key < 26; ++key) {
    EXPECT_EQ(trials.state(1, key), Trials::State::untried) << key;
    trials.learn(1, key, true);
    EXPECT_EQ(trials.state(1, key), Trials::State::right) << key;
  }
  EXPECT_EQ(trials.state(1, 99), Trials::State::right);
  EXPECT_EQ(trials.state(2, 99), Trials::State::untried);
  trials.learn(1, 99, false);
  EXPECT_EQ(trials.state(1, 10), Trials::State::wrong);
}

TEST(SharedBudget, WhatRanOnAnyThreadIsWhatTheShareIsOf) {
  SharedBudget budget(0.1);
  EXPECT_TRUE(budget.allows(1, 100, 200));
  budget.ran(600);
  budget.ran(400);  // 10 % of three times 1000 are 300
  budget.backward_ended();
  EXPECT_TRUE(budget.allows(1, 100, 200));
  EXPECT_TRUE(budget.allows(2, 100, 200));
  budget.backward_ended();
  EXPECT_FALSE(budget.allows(2, 100, 200));
}

}  // namespace
}  // namespace tapelens::versions
