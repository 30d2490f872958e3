// A session with a fake CUPTI: functions with the same signatures, and records in its layout.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "profiler/cupti/clocks.h"
#include "profiler/cupti/records.h"
#include "profiler/cupti/session.h"

namespace tapelens::cupti {
namespace {

// The fake CUPTI: its behaviour, and the calls that it received.
struct Fake {
  uint32_t version = 130200;
  Result subscribed = Result::success, registered = Result::success, enabled = Result::success;
  uint32_t lacks = 0;  // a function without callbacks
  Callback callback = nullptr;
  std::set<std::pair<Domain, uint32_t>> functions;  // functions with enabled callbacks
  std::multiset<uint32_t> activities;               // enabled kinds
  const char* holder = "";
  size_t dropped = 0;
  uint64_t now = 1000;
  size_t stride = sizeof(MemoryActivity);  // bytes of a record
  RequestBuffer request = nullptr;
  CompleteBuffer complete = nullptr;
  int subscribers = 0, sources = 0;
  std::vector<uint8_t> waiting;  // records that were not delivered yet
};
Fake g_fake;
std::mutex g_fake_lock;  // of `waiting`, which the delivery's thread takes
std::atomic<int> g_flushes = 0, g_forced = 0;

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
  f.subscribe = [](Subscriber* to, Callback callback, void*) {
    g_fake.callback = callback;
    if (g_fake.subscribed == Result::success) ++g_fake.subscribers;
    *to = &g_fake;
    return g_fake.subscribed;
  };
  f.subscribe_v2 = [](Subscriber* to, Callback callback, void*, const SubscriberParameters* parameters) {
    g_fake.callback = callback;
    EXPECT_EQ(parameters->bytes, sizeof(SubscriberParameters));
    std::strncpy(parameters->holder, g_fake.holder, parameters->holder_room - 1);
    if (g_fake.subscribed == Result::success) ++g_fake.subscribers;
    *to = &g_fake;
    return g_fake.subscribed;
  };
  f.unsubscribe = [](Subscriber subscriber) {
    EXPECT_EQ(subscriber, &g_fake);
    --g_fake.subscribers;
    g_fake.functions.clear();
    return Result::success;
  };
  f.enable_callback = [](uint32_t on, Subscriber subscriber, Domain domain, uint32_t function) {
    EXPECT_EQ(on, 1U);
    EXPECT_EQ(subscriber, &g_fake);
    if (function == g_fake.lacks) return Result::not_supported;
    EXPECT_TRUE(g_fake.functions.emplace(domain, function).second);
    return Result::success;
  };
  f.register_callbacks = [](RequestBuffer request, CompleteBuffer complete) {
    g_fake.request = request;
    g_fake.complete = complete;
    return g_fake.registered;
  };
  f.enable = [](uint32_t kind) {
    if (g_fake.enabled == Result::success) g_fake.activities.insert(kind);
    return g_fake.enabled;
  };
  f.disable = [](uint32_t kind) {
    g_fake.activities.erase(kind);
    return Result::success;
  };
  f.enable_source = [](uint8_t on) {
    g_fake.sources = on;
    return Result::success;
  };
  f.flush_all = [](uint32_t flag) {
    ++(flag == kForced ? g_forced : g_flushes);
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
  made.correlation = 17;
  made.source = source;
  return made;
}

template <class Record>
void append(std::vector<uint8_t>& to, const Record& record, size_t bytes = sizeof(Record)) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&record);
  to.insert(to.end(), begin, begin + bytes);
}

// CUPTI has the record, in a buffer that is not full.
void keep_in_buffer(const MemoryActivity& record) {
  const std::lock_guard lock(g_fake_lock);
  append(g_fake.waiting, record);
}

struct CollectedEvents : SessionObserver {
  std::vector<Activity> all;
  std::vector<PoolState> pools;
  std::vector<VirtualMemory> physical;
  std::vector<uint32_t> calls;
  uint64_t lost = 0;
  void were(std::span<const PoolState> states) override { pools.insert(pools.end(), states.begin(), states.end()); }
  void called(uint32_t call) override { calls.push_back(call); }
  void changed(const VirtualMemory& memory) override { physical.push_back(memory); }
  void happened(std::span<const Activity> activities) override {
    all.insert(all.end(), activities.begin(), activities.end());
  }
  void dropped(uint64_t records) override { lost += records; }
};

class CuptiSession : public testing::Test {
 protected:
  void SetUp() override {
    g_fake = Fake();
    g_flushes = g_forced = 0;
  }
  void TearDown() override { give_way(); }
  CollectedEvents told_;
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
  EXPECT_EQ(told_.all[0].call, 17U);
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

// Versions without the library's name have shorter records. The first version has the shortest.
TEST_F(CuptiSession, OlderVersionsHaveShorterRecords) {
  for (const size_t stride : {kShortest, kWithoutSource}) {
    g_fake = Fake();
    g_fake.stride = stride;
    told_.all.clear();
    Functions older = functions();
    older.enable_source = nullptr;
    older.subscribe_v2 = nullptr;
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
  EXPECT_EQ(g_fake.activities, (std::multiset{kMemory2, kMemoryPool}));
  EXPECT_GT(g_fake.functions.size(), 5U);
  EXPECT_EQ(g_fake.sources, 1);
  keep_in_buffer(memory(Operation::allocation, 5, 5));
  EXPECT_TRUE(give_way());
  EXPECT_EQ(told_.all.size(), 1U);  // the waiting record was delivered
  EXPECT_EQ(g_fake.subscribers, 0);
  EXPECT_TRUE(g_fake.activities.empty());
  EXPECT_TRUE(g_fake.functions.empty());
  EXPECT_EQ(g_fake.sources, 0);
  EXPECT_FALSE(give_way());
  std::vector<uint8_t> late;
  append(late, memory(Operation::allocation, 6, 6));
  give(late);  // a buffer that CUPTI still had: freed without a notification
  EXPECT_EQ(told_.all.size(), 1U);
}

TEST_F(CuptiSession, TheEndTellsWhatWaits) {
  ASSERT_EQ(begin(functions(), told_), "");
  keep_in_buffer(memory(Operation::allocation, 5, 5));
  finish();
  EXPECT_EQ(told_.all.size(), 1U);
  finish();
  EXPECT_EQ(g_forced, 1);
}

// A process that ends by _exit() loses at most the records of the last period.
TEST_F(CuptiSession, ABufferThatIsNotFullIsDeliveredDuringTheSession) {
  ASSERT_EQ(begin(functions(), told_), "");
  keep_in_buffer(memory(Operation::allocation, 5, 5));
  const int before = g_flushes;
  while (g_flushes < before + 2) std::this_thread::yield();
  {
    const std::lock_guard lock(g_fake_lock);
    EXPECT_TRUE(g_fake.waiting.empty());
  }
  EXPECT_EQ(g_forced, 0);
  finish();
  EXPECT_EQ(told_.all.size(), 1U);
  const int after = g_flushes;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(g_flushes, after);
}

TEST_F(CuptiSession, AForkedChildDoesNotWaitForTheThread) {
  ASSERT_EQ(begin(functions(), told_), "");
  const pid_t child = fork();
  if (child == 0) {
    finish();
    _exit(told_.all.empty() ? 7 : 8);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
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
  g_fake = Fake();
  g_fake.lacks = kMemMap;
  EXPECT_NE(begin(functions(), told_), "");
  EXPECT_EQ(g_fake.subscribers, 0);
  EXPECT_TRUE(g_fake.activities.empty());
}

// ---- pools

MemoryActivity in_pool(MemoryKind kind, uint64_t pool, uint64_t reserved, uint64_t used) {
  MemoryActivity made = memory(Operation::allocation, 0x100, 64);
  made.memory_kind = static_cast<uint32_t>(kind);
  made.pool = {kLocalPool, 0, pool, 0, reserved, used};
  return made;
}

TEST_F(CuptiSession, WhatPoolsHaveIsToldWithEachActivity) {
  g_fake.stride = sizeof(MemoryActivity);
  ASSERT_EQ(begin(functions(), told_), "");
  std::vector<uint8_t> records;
  append(records, in_pool(MemoryKind::device, 0xa, 1000, 64));
  append(records, in_pool(MemoryKind::pinned, 0xb, 1000, 64));  // host memory
  MemoryActivity imported = in_pool(MemoryKind::device, 0xc, 1000, 64);
  imported.pool.type = 2;  // allocated by another process
  append(records, imported);
  append(records, memory(Operation::allocation, 1, 1));
  give(records);
  EXPECT_EQ(told_.all.size(), 4U);
  ASSERT_EQ(told_.pools.size(), 1U);
  EXPECT_EQ(told_.pools[0].address, 0xaU);
  EXPECT_EQ(told_.pools[0].device, 3U);
  EXPECT_EQ(told_.pools[0].reserved, 1000U);
  EXPECT_EQ(told_.pools[0].used, 64U);
  EXPECT_FALSE(told_.pools[0].is_destroyed);
  EXPECT_EQ(told_.pools[0].happened_ns, told_.all[0].happened_ns);
}

TEST_F(CuptiSession, PoolsAreTrimmedAndDestroyed) {
  g_fake.stride = sizeof(PoolActivity);
  ASSERT_EQ(begin(functions(), told_), "");
  std::vector<uint8_t> records;
  PoolActivity pool{};
  pool.kind = kMemoryPool;
  pool.operation = static_cast<uint32_t>(PoolOperation::trimmed);
  pool.type = kLocalPool;
  pool.device = 1;
  pool.address = 0xa;
  pool.reserved = 100;
  pool.used = 40;
  pool.timestamp = 400;
  append(records, pool);
  pool.operation = static_cast<uint32_t>(PoolOperation::destroyed);
  append(records, pool);
  pool.type = 2;
  append(records, pool);
  give(records);
  ASSERT_EQ(told_.pools.size(), 2U);
  EXPECT_FALSE(told_.pools[0].is_destroyed);
  EXPECT_EQ(told_.pools[0].reserved, 100U);
  EXPECT_EQ(told_.pools[0].used, 40U);
  EXPECT_EQ(told_.pools[0].device, 1U);
  EXPECT_TRUE(told_.pools[1].is_destroyed);
  // A truncated record ends the buffer.
  told_.pools.clear();
  give(std::span(records).first(sizeof(PoolActivity) + kWithUsed - 8));
  EXPECT_EQ(told_.pools.size(), 1U);
}

// In versions whose records have no source, pool records may be incomplete too.
TEST_F(CuptiSession, OfOlderVersionsPoolsAreNotKnown) {
  g_fake.stride = kShortest;
  Functions older = functions();
  older.enable_source = nullptr;
  ASSERT_EQ(begin(older, told_), "");
  EXPECT_EQ(g_fake.activities, (std::multiset{kMemory2}));
  std::vector<uint8_t> records;
  append(records, in_pool(MemoryKind::device, 0xa, 1000, 64), kShortest);
  give(records);
  EXPECT_EQ(told_.all.size(), 1U);
  EXPECT_TRUE(told_.pools.empty());
}

// ---- callbacks

// A CUDA call from begin to end, as CUPTI reports it.
void call(Domain domain, uint32_t function, const void* parameters, uint32_t number, int result = 0) {
  uint64_t between = 0;
  CallbackData data{};
  data.parameters = parameters;
  data.from_enter_to_exit = &between;
  data.correlation = number;
  data.site = CallbackSite::enter;
  g_fake.callback(nullptr, domain, function, &data);
  data.site = CallbackSite::exit;
  data.result = &result;
  g_fake.callback(nullptr, domain, function, &data);
}

TEST_F(CuptiSession, CallsAreToldOnTheirThreadAsTheyBegin) {
  ASSERT_EQ(begin(functions(), told_), "");
  call(Domain::runtime, 20, nullptr, 5);  // the cudaMalloc of function 20: an activity record has its memory
  call(Domain::driver, 243, nullptr, 5);
  call(Domain::runtime, kMemCreate, nullptr, 6);  // the runtime API has a separate numbering
  EXPECT_EQ(told_.calls, (std::vector<uint32_t>{5, 5, 6}));
  EXPECT_TRUE(told_.physical.empty());
}

TEST_F(CuptiSession, PhysicalMemoryIsToldAsCallsSucceed) {
  ASSERT_EQ(begin(functions(), told_), "");
  const uint64_t handle = 0x77;
  const AllocationProperties on_device{1, 0, kOnDevice, 2}, on_host{1, 0, 3, 0};
  const CreateParameters create{&handle, 4096, &on_device, 0}, create_on_host{&handle, 4096, &on_host, 0};
  const MapParameters map{0x9000, 4096, 0, handle, 0};
  const RetainParameters retain{&handle, nullptr};
  const ReleaseParameters release{handle};
  const UnmapParameters unmap{0x9000, 4096};
  const uint64_t before = monotonic_ns();
  call(Domain::driver, kMemCreate, &create_on_host, 1);
  call(Domain::driver, kMemCreate, &create, 2, 2);  // fails: out of memory
  call(Domain::driver, kMemCreate, &create, 3);
  call(Domain::driver, kMemMap, &map, 4);
  call(Domain::driver, kMemRetain, &retain, 5);
  call(Domain::driver, kMemRelease, &release, 6);
  call(Domain::driver, kMemUnmap, &unmap, 7);
  using Change = VirtualMemory::Change;
  ASSERT_EQ(told_.physical.size(), 5U);
  const auto& all = told_.physical;
  EXPECT_EQ(all[0].change, Change::created);
  EXPECT_EQ(all[0].handle, handle);
  EXPECT_EQ(all[0].bytes, 4096U);
  EXPECT_EQ(all[0].device, 2U);
  EXPECT_EQ(all[0].call, 3U);
  EXPECT_EQ(all[0].library, "");  // no CUDA library is on the stack
  EXPECT_EQ(all[1].change, Change::mapped);
  EXPECT_EQ(all[1].handle, handle);
  EXPECT_EQ(all[1].address, 0x9000U);
  EXPECT_EQ(all[2].change, Change::retained);
  EXPECT_EQ(all[2].handle, handle);
  EXPECT_EQ(all[3].change, Change::released);
  EXPECT_EQ(all[3].handle, handle);
  EXPECT_EQ(all[4].change, Change::unmapped);
  EXPECT_EQ(all[4].address, 0x9000U);
  EXPECT_EQ(all[4].bytes, 4096U);
  for (const VirtualMemory& one : all) {
    EXPECT_GE(one.happened_ns, before);
    EXPECT_LE(one.happened_ns, monotonic_ns());
  }
}

TEST_F(CuptiSession, WhatIsTakenBackWasSoWhenTheCallBegan) {
  ASSERT_EQ(begin(functions(), told_), "");
  const ReleaseParameters release{7};
  uint64_t between = 0;
  int result = 0;
  CallbackData data{};
  data.parameters = &release;
  data.from_enter_to_exit = &between;
  data.correlation = 1;
  g_fake.callback(nullptr, Domain::driver, kMemRelease, &data);
  const uint64_t begun = monotonic_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  data.site = CallbackSite::exit;
  data.result = &result;
  g_fake.callback(nullptr, Domain::driver, kMemRelease, &data);
  ASSERT_EQ(told_.physical.size(), 1U);
  EXPECT_LE(told_.physical[0].happened_ns, begun);
}

TEST_F(CuptiSession, AfterItsEndNoCallIsTold) {
  ASSERT_EQ(begin(functions(), told_), "");
  EXPECT_TRUE(give_way());
  const ReleaseParameters release{7};
  call(Domain::driver, kMemRelease, &release, 9);
  EXPECT_TRUE(told_.calls.empty());
  EXPECT_TRUE(told_.physical.empty());
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
