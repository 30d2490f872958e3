// Two training threads and a backward on a third thread use shared storage versions. ThreadSanitizer detects an access
// to a version without its lock.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "profiler/versions/shared_budget.h"
#include "profiler/versions/trials.h"
#include "tests/unit/support/fake_memory.h"

namespace tapelens::versions {
namespace {

using namespace fake;

constexpr uint64_t kBytes = 1 << 20;

struct Tensor {
  StoragePtr storage;
  FakeVersionPtr version;
};
using Saves = std::vector<std::unique_ptr<FakeHook>>;

class Threads : public testing::Test {
 protected:
  Threads() {
    for (uint64_t i = 0; i < 3; ++i) {
      parameters_.push_back(tensor(100 + i));
      parameters_.back().version->kept_by_program();
    }
  }

  Tensor tensor(uint64_t value) {
    auto storage = std::make_shared<Storage>(value);
    auto version = std::make_shared<FakeVersion>(storage, kBytes, rules_);
    return {std::move(storage), std::move(version)};
  }
  Tensor made_by(const char* op, const std::vector<const Tensor*>& sources) {
    auto call = std::make_unique<FakeCall>(recompute::cheap(op), false);
    std::vector<StoragePtr> storages;
    for (const Tensor* source : sources) {
      call->read(source->version);
      storages.push_back(source->storage);
    }
    Tensor made = tensor(call->first_result(storages));
    Version& first = *sources.front()->version;
    if (auto before = first.made_before(*call)) {
      call = std::make_unique<FakeCall>(recompute::Repeatable{}, false);
      call->read(std::static_pointer_cast<FakeVersion>(before));
    }
    const uint64_t key = call->key();
    made.version->set_rematerialization(std::move(call));
    first.made(made.version, key);
    return made;
  }
  void save(const Tensor& tensor, Encodes encodes, Saves& saves) {
    saves.push_back(std::make_unique<FakeHook>(tensor.version, tensor.storage, encodes,
                                               Ways{true, true, encodes == Encodes::mask}));
  }
  static void release_all(const Saves& saves) {
    for (const auto& saved : saves) saved->version()->try_release();
  }

  // A forward: both threads cast the same parameters, as autocast does, and save the casts.
  Saves forward(uint64_t seed) {
    Saves saves;
    std::vector<Tensor> live{tensor(seed)};
    for (const Tensor& parameter : parameters_) {
      const Tensor cast = made_by("aten::_to_copy", {&parameter});
      save(cast, Encodes::never, saves);
      live.push_back(made_by("aten::mul", {&cast, &live.back()}));
      save(live.back(), Encodes::mask, saves);
      live.push_back(made_by("aten::relu", {&live.back()}));
      save(live.back(), seed % 2 != 0 ? Encodes::exact : Encodes::not_these_values, saves);
      release_all(saves);
    }
    Tensor& input = live.front();
    input.version->about_to_be_written();
    input.storage->memory->value = 0;
    ++*input.storage->counter;
    input.version->overwritten();
    live.clear();
    release_all(saves);
    return saves;
  }
  void backward(Saves saves) {
    while (!saves.empty()) {
      try {
        wrong_ += saves.back()->is_right() ? 0 : 1;
      } catch (const std::exception& error) {
        errors_.push_back(error.what());
      }
      released_ += saves.back()->is_released() ? 1 : 0;
      saves.pop_back();
    }
    backward_ended();
  }

  Rules rules_;
  std::vector<Tensor> parameters_;
  uint64_t wrong_ = 0, released_ = 0;  // written by the thread that runs the backward
  std::vector<std::string> errors_;
};

TEST_F(Threads, TwoThatTrainAndABackwardOnAThirdGetWhatTheySaved) {
  constexpr uint64_t kRounds = 400;
  constexpr size_t kMostWaiting = 4;
  const int64_t before = Memory::alive;
  std::mutex lock;
  std::condition_variable changed;
  std::deque<Saves> graphs;
  int training = 2;
  const auto train = [&](uint64_t first) {
    for (uint64_t round = 0; round < kRounds; ++round) {
      Saves saves = forward(first + round);
      std::unique_lock guard(lock);
      changed.wait(guard, [&] { return graphs.size() < kMostWaiting; });
      graphs.push_back(std::move(saves));
      changed.notify_all();
    }
    const std::lock_guard guard(lock);
    --training;
    changed.notify_all();
  };
  std::thread one(train, 1000), two(train, 1'000'000), engine([&] {
    while (true) {
      std::unique_lock guard(lock);
      changed.wait(guard, [&] { return !graphs.empty() || training == 0; });
      if (graphs.empty()) return;
      Saves saves = std::move(graphs.front());
      graphs.pop_front();
      changed.notify_all();
      guard.unlock();
      backward(std::move(saves));
    }
  });
  one.join();
  two.join();
  engine.join();
  EXPECT_EQ(wrong_, 0U);
  EXPECT_EQ(errors_, std::vector<std::string>());
  EXPECT_GT(released_, kRounds);
  EXPECT_EQ(Memory::alive, before);
}

TEST(SharedByThreads, TrialsAndTheBudgetAreForAllThreads) {
  Trials trials;
  SharedBudget budget(0.5);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < 500; ++i) {
        trials.learn(i % 7, i, i % 7 != 3);
        wrong += trials.state(i % 7, i) != (i % 7 == 3 ? Trials::State::wrong : Trials::State::right);
        budget.ran(10);
        budget.allows(i % 5, 100, 1);
        if (thread == 0 && i % 100 == 99) budget.backward_ended();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tapelens::versions
