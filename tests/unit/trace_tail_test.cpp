// A spool that is followed while it is written passes on the same events as a reader of the whole.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/unit/trace_ring.h"
#include "trace/spool_tail.h"

namespace tapelens::trace {
namespace {

using Event = std::array<uint64_t, 5>;

// The events that a visitor received, in a form to compare.
class Said : public SpoolVisitor {
 public:
  void interned(const RecordHeader* record) override { names += record->kind != RecordKind::lane ? 1 : 0; }
  void event(const RecordHeader* record, uint32_t lane, uint64_t ticks) override {
    events.push_back({lane, ticks, static_cast<uint64_t>(record->kind), record->id, record->words});
  }
  void gap(uint32_t) override { ++gaps; }
  void restart() override {
    ++restarts;
    events.clear();
    gaps = 0;
  }
  std::vector<Event> events;
  size_t names = 0, gaps = 0, restarts = 0;
};

std::vector<uint32_t> lane_numbers(const SpoolReader& spool) {
  std::vector<uint32_t> numbers;
  for (const auto& lane : spool.lanes()) numbers.push_back(spool.blocks()[lane.first_block].lane);
  return numbers;
}

std::vector<Event> whole(const std::string& path) {
  Said said;
  const SpoolReader spool = read_spool(path);
  const std::vector<uint32_t> numbers = lane_numbers(spool);
  spool.for_each_event(
      [&](const RecordHeader* record, size_t lane, uint64_t ticks) { said.event(record, numbers[lane], ticks); },
      [](size_t) {});
  return said.events;
}

SpoolTail open_tail(const std::string& path) {
  auto tail = SpoolTail::open(path);
  if (!tail) throw std::runtime_error(tail.error().message);
  return std::move(*tail);
}

void read_all(SpoolTail& tail, Said& said) {
  while (!tail.poll(UINT64_MAX, said)) {
  }
}

TEST(Tail, PassesOnTheEventsOfTheWholeSpoolInParts) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    SpoolBuilder b;
    Program program(b, seed);
    SpoolTail tail = open_tail(b.path());
    Said said;
    Random random(seed);
    for (int step = 0; step < 60; ++step) {
      program.step();
      if (random.one_of(3)) read_all(tail, said);
    }
    b.finish();
    read_all(tail, said);
    EXPECT_EQ(tail.late_events(), 0U);
    EXPECT_EQ(said.events, whole(b.path()));
    EXPECT_EQ(said.restarts, 1U) << "the begin";
    EXPECT_EQ(said.gaps, 0U);
    EXPECT_EQ(tail.state(), SpoolState::finished);
  }
}

TEST(Tail, PassesOnShortFormsInFull) {
  SpoolBuilder b;
  Program program(b.as_recorded(), 3);
  SpoolTail tail = open_tail(b.path());
  Said said;
  for (int step = 0; step < 40; ++step) {
    program.step();
    if (step % 3 == 0) read_all(tail, said);
  }
  b.finish();
  read_all(tail, said);
  EXPECT_EQ(tail.late_events(), 0U);
  EXPECT_EQ(said.events, whole(b.path()));
  for (const Event& event : said.events) EXPECT_FALSE(is_short(RecordKind(event[2])));
}

TEST(Tail, PassesOnEventsBeforeATimeOnly) {
  SpoolBuilder b;
  b.at(100).op("aten::mm").at(200).end_op();
  b.thread(2).at(150).op("aten::add").at(300).end_op();
  SpoolTail tail = open_tail(b.path());
  Said said;
  EXPECT_TRUE(tail.poll(200, said));
  EXPECT_EQ(said.events.size(), 2U) << "the events at 100 and 150";
  read_all(tail, said);
  EXPECT_EQ(said.events, whole(b.path()));
}

TEST(Tail, CountsEventsThatAreCommittedLateAndReadsThemAgainInOrder) {
  SpoolBuilder b;
  b.at(100).op("aten::mm").at(200).end_op();
  SpoolTail tail = open_tail(b.path());
  Said said;
  read_all(tail, said);
  b.thread(2).at(150).op("aten::add").at(300).end_op();
  read_all(tail, said);
  EXPECT_EQ(tail.late_events(), 1U);
  EXPECT_NE(said.events, whole(b.path()));
  tail.restart();
  read_all(tail, said);
  EXPECT_EQ(tail.late_events(), 0U);
  EXPECT_EQ(said.events, whole(b.path()));
}

TEST(Tail, ReadsALargeSpoolInPartsWithBoundedMemory) {
  const TestFolder folder;
  SpoolWriter writer;
  ASSERT_EQ(writer.open((folder / "1.spool").c_str(), {}), 0);
  Lane lanes[3];
  for (Lane& lane : lanes) writer.attach(lane, 1);
  uint64_t events = 0;
  for (int i = 0; i < 260; ++i)
    for (Lane& lane : lanes) events += write_events(lane, 3000);
  SpoolTail tail = open_tail(folder / "1.spool");
  Said said;
  size_t parts = 1;
  while (!tail.poll(UINT64_MAX, said)) ++parts;
  EXPECT_GT(parts, 1U);
  EXPECT_EQ(said.events.size(), events);
  EXPECT_EQ(tail.late_events(), 0U);
  EXPECT_EQ(said.events, whole(folder / "1.spool"));
  writer.close();
}

TEST(Tail, FollowsLanesThatTakeOverTheRestOfABlock) {
  const TestFolder folder;
  SpoolWriter writer;
  ASSERT_EQ(writer.open((folder / "1.spool").c_str(), {}), 0);
  SpoolTail tail = open_tail(folder / "1.spool");
  Said said;
  uint64_t events = 0;
  Lane first;
  writer.attach(first, 1);
  for (int i = 0; i < 40; ++i) {
    Lane lane;
    writer.attach(lane, 2);
    events += write_events(lane, 500) + write_events(first, 10);
    if (i % 3 == 0) read_all(tail, said);
    lane.leave();
    if (i % 5 == 0) first.leave();
  }
  read_all(tail, said);
  EXPECT_EQ(said.events.size(), events);
  EXPECT_EQ(said.events, whole(folder / "1.spool"));
  writer.close();
}

TEST(Tail, FollowsAProcessThatWritesAtTheSameTime) {
  const TestFolder folder;
  SpoolWriter writer;
  ASSERT_EQ(writer.open((folder / "1.spool").c_str(), {}), 0);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> written = 0;
  for (uint32_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      Lane lane;
      writer.attach(lane, i);
      for (int part = 0; part < 50; ++part) written += write_events(lane, 2000);
      lane.finish();
    });
  }
  SpoolTail tail = open_tail(folder / "1.spool");
  Said said;
  for (int i = 0; i < 20; ++i) tail.poll(ticks_now(), said);
  for (std::thread& thread : threads) thread.join();
  writer.finish();
  read_all(tail, said);
  EXPECT_EQ(said.events.size(), written.load());
  tail.restart();
  read_all(tail, said);
  EXPECT_EQ(said.events, whole(folder / "1.spool"));
  writer.close();
}

TEST(Tail, FollowsARingFromAnyTime) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    SpoolBuilder ring, all;
    Program program(ring, seed), same(all, seed);
    SpoolTail early = open_tail(ring.path());
    std::optional<SpoolTail> late;
    Said from_begin, from_middle;
    Random random(seed + 7);
    for (int step = 0; step < 90; ++step) {
      program.step();
      same.step();
      if (step == 40) late.emplace(open_tail(ring.path()));
      if (step % 2 == 0) read_all(early, from_begin);
      if (late && step % 2 == 1) read_all(*late, from_middle);
      if (random.one_of(8)) leave_out(ring.path(), 2 + random.upto(4));
    }
    read_all(early, from_begin);
    read_all(*late, from_middle);
    EXPECT_EQ(early.late_events() + late->late_events(), 0U);
    EXPECT_EQ(early.torn_blocks() + late->torn_blocks(), 0U);
    // The newest events are the same in all of them.
    const std::vector<Event> expected = whole(all.path());
    for (const Said* said : {&from_begin, &from_middle}) {
      ASSERT_GE(said->events.size(), 50U);
      EXPECT_TRUE(std::equal(said->events.end() - 50, said->events.end(), expected.end() - 50));
    }
  }
}

TEST(Tail, NeverCrashesOnDamagedSpools) {
  SpoolBuilder original;
  Program program(original, 3);
  for (int i = 0; i < 40; ++i) program.step();
  original.kill();
  std::ifstream file(original.path(), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.resize(std::min<size_t>(bytes.size(), kSpoolHeaderBytes + 3 * kBlockBytes));
  const TestFolder folder;
  Random random(1);
  const std::string path = folder / "1.spool";
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes;
    const size_t flips = 1 + random.upto(30);
    for (size_t flip = 0; flip < flips; ++flip) {
      // Half of the flips are in headers.
      const size_t at = random.one_of(2) ? random.upto(static_cast<uint32_t>(damaged.size()))
                                         : (random.one_of(2) ? random.upto(300) : kSpoolHeaderBytes + random.upto(64));
      damaged[at] = static_cast<char>(random.upto(256));
    }
    if (random.one_of(4)) damaged.resize(random.upto(static_cast<uint32_t>(damaged.size())));
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(damaged.data(), std::ssize(damaged));
    auto tail = SpoolTail::open(path);
    if (!tail) continue;
    Said said;
    for (int part = 0; part < 50 && !tail->poll(UINT64_MAX, said); ++part) {
    }
    // The file shrinks while it is followed.
    std::filesystem::resize_file(path, damaged.size() / 2);
    tail->poll(UINT64_MAX, said);
    tail->restart();
    for (int part = 0; part < 50 && !tail->poll(UINT64_MAX, said); ++part) {
    }
  }
}

TEST(Tail, RefusesWhatIsNoSpool) {
  const TestFolder folder;
  std::ofstream(folder / "a.spool") << "no spool";
  EXPECT_FALSE(SpoolTail::open(folder / "a.spool"));
  EXPECT_FALSE(SpoolTail::open(folder / "none.spool"));
  EXPECT_FALSE(SpoolTail::open(folder.path()));
}

}  // namespace
}  // namespace tapelens::trace
