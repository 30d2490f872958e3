// The session with CUPTI over a made-up one: functions with the same signatures, and records as it lays them out.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "profiler/cupti/clocks.h"
#include "profiler/cupti/records.h"
#include "profiler/cupti/session.h"

namespace tapelens::cupti {
namespace {

// What the made-up CUPTI is asked to do, and what it was asked.
struct Fake {
  uint32_t version = 130200;
  Result subscribed = Result::success, registered = Result::success, enabled = Result::success;
  const char* holder = "";
  size_t dropped = 0;
  uint64_t now = 1000;
  size_t stride = sizeof(MemoryActivity);  // of its records
  RequestBuffer request = nullptr;
  CompleteBuffer complete = nullptr;
  int subscribers = 0, kinds = 0, sources = 0, flushes = 0;
  uint32_t period = 0;
  std::vector<uint8_t> waiting;  // records that are not given back yet
};
Fake g_fake;
std::mutex g_fake_lock;

void give(std::span<const uint8_t> records) {
  uint8_t* buffer = nullptr;
  size_t bytes = 0, most = 0;
  g_fake.request(&buffer, &bytes, &most);
  ASSERT_NE(buffer, nullptr);
  ASSERT_LE(records.size(), bytes);
  std::ranges::copy(records, buffer);
  g_fake.complete(nullptr, 0, buffer, bytes, records.size());
}

Functions functions() {
  Functions f;
  f.get_version = [](uint32_t* version) {
    *version = g_fake.version;
    return Result::success;
  };
  f.get_result_string = [](Result result, const char** text) {
    *text = result == Result::insufficient_privileges ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
    return Result::success;
  };
  f.subscribe = [](Subscriber* to, void*, void*) {
    if (g_fake.subscribed == Result::success) ++g_fake.subscribers;
    *to = &g_fake;
    return g_fake.subscribed;
  };
  f.subscribe_v2 = [](Subscriber* to, void*, void*, const SubscriberParameters* parameters) {
    EXPECT_EQ(parameters->bytes, sizeof(SubscriberParameters));
    std::strncpy(parameters->holder, g_fake.holder, parameters->holder_room - 1);
    if (g_fake.subscribed == Result::success) ++g_fake.subscribers;
    *to = &g_fake;
    return g_fake.subscribed;
  };
  f.unsubscribe = [](Subscriber subscriber) {
    EXPECT_EQ(subscriber, &g_fake);
    --g_fake.subscribers;
    return Result::success;
  };
  f.register_callbacks = [](RequestBuffer request, CompleteBuffer complete) {
    g_fake.request = request;
    g_fake.complete = complete;
    return g_fake.registered;
  };
  f.enable = [](uint32_t kind) {
    EXPECT_EQ(kind, kMemory2);
    if (g_fake.enabled == Result::success) ++g_fake.kinds;
    return g_fake.enabled;
  };
  f.disable = [](uint32_t) {
    --g_fake.kinds;
    return Result::success;
  };
  f.enable_source = [](uint8_t on) {
    g_fake.sources = on;
    return Result::success;
  };
  f.flush_period = [](uint32_t ms) {
    g_fake.period = ms;
    return Result::success;
  };
  f.flush_all = [](uint32_t) {
    ++g_fake.flushes;
    std::vector<uint8_t> records;
    {
      const std::lock_guard lock(g_fake_lock);
      records.swap(g_fake.waiting);
    }
    if (!records.empty()) give(records);
    return Result::success;
  };
  f.get_next_record = [](uint8_t* buffer, size_t valid, ActivityHeader** record) {
    uint8_t* next = *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + g_fake.stride;
    if (next >= buffer + valid) return Result::max_limit_reached;
    *record = reinterpret_cast<ActivityHeader*>(next);
    return Result::success;
  };
  f.get_dropped = [](void*, uint32_t, size_t* dropped) {
    *dropped = g_fake.dropped;
    return Result::success;
  };
  f.get_timestamp = [](uint64_t* ns) {
    *ns = g_fake.now;
    return Result::success;
  };
  return f;
}

MemoryActivity memory(Operation operation, uint64_t address, uint64_t bytes, const char* source = nullptr) {
  MemoryActivity made{};
  made.kind = kMemory2;
  made.operation = static_cast<uint32_t>(operation);
  made.memory_kind = static_cast<uint32_t>(MemoryKind::device);
  made.address = address;
  made.bytes = bytes;
  made.timestamp = 400;
  made.device = 3;
  made.source = source;
  return made;
}

void append(std::vector<uint8_t>& to, const MemoryActivity& record, size_t bytes = sizeof(MemoryActivity)) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&record);
  to.insert(to.end(), begin, begin + bytes);
}

struct Told : Sink {
  std::vector<Activity> all;
  uint64_t lost = 0;
  void happened(std::span<const Activity> activities) override {
    all.insert(all.end(), activities.begin(), activities.end());
  }
  void dropped(uint64_t records) override { lost += records; }
};

class CuptiSession : public testing::Test {
 protected:
  void SetUp() override { g_fake = Fake(); }
  void TearDown() override { give_way(); }
  Told told_;
};

TEST_F(CuptiSession, TellsWhatIsInABuffer) {
  ASSERT_EQ(begin(functions(), told_), "");
  std::vector<uint8_t> records;
  const uint64_t before = monotonic_ns();
  append(records, memory(Operation::allocation, 0x100, 64, "/lib/libnccl.so.2"));
  append(records, memory(Operation::release, 0x100, 64));
  give(records);
  ASSERT_EQ(told_.all.size(), 2U);
  EXPECT_TRUE(told_.all[0].is_allocation);
  EXPECT_FALSE(told_.all[1].is_allocation);
  EXPECT_EQ(told_.all[0].address, 0x100U);
  EXPECT_EQ(told_.all[0].bytes, 64U);
  EXPECT_EQ(told_.all[0].device, 3U);
  EXPECT_LE(told_.all[0].happened_ns, monotonic_ns() - 600);
  EXPECT_GE(told_.all[0].happened_ns, before - 600);
  EXPECT_EQ(told_.all[0].kind, MemoryKind::device);
  EXPECT_EQ(told_.all[0].library, "/lib/libnccl.so.2");
  EXPECT_EQ(told_.all[1].library, "");
  EXPECT_EQ(told_.lost, 0U);
}

TEST_F(CuptiSession, ATimeThatIsNotYetIsNow) {
  g_fake.now = 100;
  const uint64_t before = monotonic_ns();
  ASSERT_EQ(begin(functions(), told_), "");
  std::vector<uint8_t> records;
  append(records, memory(Operation::allocation, 1, 1));
  give(records);
  ASSERT_EQ(told_.all.size(), 1U);
  EXPECT_LE(told_.all[0].happened_ns, monotonic_ns());
  EXPECT_GE(told_.all[0].happened_ns, before);
}

TEST_F(CuptiSession, OtherKindsAndOperationsArePassedOver) {
  ASSERT_EQ(begin(functions(), told_), "");
  std::vector<uint8_t> records;
  MemoryActivity other = memory(Operation::allocation, 1, 1);
  other.kind = 9999;
  append(records, other);
  append(records, memory(static_cast<Operation>(77), 2, 2));
  append(records, memory(Operation::allocation, 3, 3));
  give(records);
  ASSERT_EQ(told_.all.size(), 1U);
  EXPECT_EQ(told_.all[0].address, 3U);
}

// Versions without the name of the library have shorter records, the first the shortest.
TEST_F(CuptiSession, OlderVersionsHaveShorterRecords) {
  for (const size_t stride : {kShortest, kWithoutSource}) {
    g_fake = Fake();
    g_fake.stride = stride;
    told_.all.clear();
    Functions older = functions();
    older.enable_source = nullptr;
    older.subscribe_v2 = nullptr;
    older.flush_period = nullptr;
    ASSERT_EQ(begin(older, told_), "");
    std::vector<uint8_t> records;
    for (uint64_t i = 1; i <= 5; ++i) append(records, memory(Operation::allocation, i, i), stride);
    give(records);
    ASSERT_EQ(told_.all.size(), 5U);
    EXPECT_EQ(told_.all[4].address, 5U);
    EXPECT_EQ(told_.all[4].library, "");
    EXPECT_TRUE(give_way());
  }
}

TEST_F(CuptiSession, ARecordThatIsCutEndsTheBuffer) {
  ASSERT_EQ(begin(functions(), told_), "");
  std::vector<uint8_t> records;
  append(records, memory(Operation::allocation, 1, 1));
  append(records, memory(Operation::allocation, 2, 2));
  for (size_t bytes = sizeof(MemoryActivity); bytes < records.size(); bytes += 8) {
    told_.all.clear();
    give(std::span(records).first(bytes));
    EXPECT_EQ(told_.all.size(), 1U) << bytes;
  }
}

TEST_F(CuptiSession, ALibraryThatGoesRoundInABufferComesToAnEnd) {
  Functions round = functions();
  round.get_next_record = [](uint8_t* buffer, size_t, ActivityHeader** record) {
    *record = reinterpret_cast<ActivityHeader*>(buffer);
    return Result::success;
  };
  ASSERT_EQ(begin(round, told_), "");
  std::vector<uint8_t> records;
  append(records, memory(Operation::allocation, 1, 1));
  give(records);
  EXPECT_EQ(told_.all.size(), 1U);
}

TEST_F(CuptiSession, WhatWasDroppedIsCounted) {
  ASSERT_EQ(begin(functions(), told_), "");
  g_fake.dropped = 7;
  give({});
  EXPECT_EQ(told_.lost, 7U);
  EXPECT_TRUE(told_.all.empty());
}

TEST_F(CuptiSession, GivingWayLeavesCuptiAsItWas) {
  ASSERT_EQ(begin(functions(), told_), "");
  EXPECT_EQ(g_fake.subscribers, 1);
  EXPECT_EQ(g_fake.kinds, 1);
  EXPECT_EQ(g_fake.sources, 1);
  EXPECT_GT(g_fake.period, 0U);
  append(g_fake.waiting, memory(Operation::allocation, 5, 5));
  EXPECT_TRUE(give_way());
  EXPECT_EQ(told_.all.size(), 1U);  // what waited is told
  EXPECT_EQ(g_fake.subscribers, 0);
  EXPECT_EQ(g_fake.kinds, 0);
  EXPECT_EQ(g_fake.sources, 0);
  EXPECT_EQ(g_fake.period, 0U);
  EXPECT_FALSE(give_way());
  std::vector<uint8_t> late;
  append(late, memory(Operation::allocation, 6, 6));
  give(late);  // a buffer that CUPTI still had: it is freed, and nothing is told
  EXPECT_EQ(told_.all.size(), 1U);
}

TEST_F(CuptiSession, TheEndTellsWhatWaits) {
  ASSERT_EQ(begin(functions(), told_), "");
  append(g_fake.waiting, memory(Operation::allocation, 5, 5));
  finish();
  EXPECT_EQ(told_.all.size(), 1U);
  finish();
  EXPECT_EQ(g_fake.flushes, 1);
}

TEST_F(CuptiSession, RefusalsAreOneSentenceAndLeaveNothingBehind) {
  g_fake.subscribed = Result::multiple_subscribers;
  g_fake.holder = "CUPTI for Nsight";
  EXPECT_NE(begin(functions(), told_).find("(CUPTI for Nsight)"), std::string::npos);
  g_fake = Fake();
  g_fake.subscribed = Result::insufficient_privileges;
  EXPECT_NE(begin(functions(), told_).find("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"), std::string::npos);
  g_fake = Fake();
  g_fake.version = 13;
  EXPECT_NE(begin(functions(), told_).find("MEMORY2"), std::string::npos);
  EXPECT_EQ(g_fake.request, nullptr);
  g_fake = Fake();
  g_fake.enabled = Result::invalid_kind;
  EXPECT_NE(begin(functions(), told_).find("MEMORY2"), std::string::npos);
  EXPECT_EQ(g_fake.subscribers, 0);
  EXPECT_EQ(g_fake.sources, 0);
  EXPECT_FALSE(give_way());
}

TEST_F(CuptiSession, BuffersFromSeveralThreadsAreToldOneAfterAnother) {
  ASSERT_EQ(begin(functions(), told_), "");
  constexpr uint64_t kEach = 200;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (uint64_t i = 0; i < kEach; ++i) {
        std::vector<uint8_t> records;
        append(records, memory(Operation::allocation, t * kEach + i + 1, 1));
        give(records);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told_.all.size(), 4 * kEach);
  EXPECT_TRUE(give_way());
}

}  // namespace
}  // namespace tapelens::cupti
