// Short forms of events: smaller, and equal to the full form once they are read.
#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/trace_spools.h"
#include "trace/short_form.h"
#include "trace/whole_record.h"

namespace tapelens::trace {
namespace {

using Bytes = std::string;

template <class Record, class Element = uint64_t>
Bytes bytes_of(Record record, const std::vector<Element>& tail = {}) {
  record.header.words = static_cast<uint16_t>((sizeof(Record) + tail.size() * sizeof(Element)) / 8);
  Bytes bytes(reinterpret_cast<const char*>(&record), sizeof record);
  return bytes.append(reinterpret_cast<const char*>(tail.data()), tail.size() * sizeof(Element));
}

// Writes events to a spool, and compares what a reader gets with their full forms.
class Events {
 public:
  Events() {
    EXPECT_EQ(writer_.open(path().c_str(), {}), 0);
    writer_.attach(lane_, 1);
    EXPECT_TRUE(lane_.write(event_at(ticks_now())));  // begins a block
    written_.push_back({});
    committed_ = committed();
  }
  ~Events() { writer_.close(); }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  // Returns the bytes that the event takes in the spool.
  template <class Record>
  size_t add(const Record& record) {
    EXPECT_TRUE(lane_.write(record));
    return added(bytes_of(record));
  }
  template <class Record, class Element>
  size_t add(const Record& record, const std::vector<Element>& tail) {
    EXPECT_TRUE(lane_.write(record, std::span<const Element>(tail)));
    return added(bytes_of(record, tail));
  }
  void expect_read_in_full() {
    const SpoolReader spool = read_spool(path());
    EXPECT_EQ(spool.torn_blocks(), 0U);
    size_t i = 0;
    spool.for_each_event(
        [&](const RecordHeader* record, size_t, uint64_t) {
          ASSERT_LT(i, written_.size());
          if (i > 0) {
            EXPECT_EQ(Bytes(reinterpret_cast<const char*>(record), size_t{record->words} * 8), written_[i])
                << "event " << i << ", kind " << static_cast<int>(record->kind);
          }
          ++i;
        },
        [](size_t) { ADD_FAILURE() << "nothing is missing"; });
    EXPECT_EQ(i, written_.size());
  }

 private:
  std::string path() const { return folder_ / "1.spool"; }
  uint32_t committed() const {
    const SpoolReader spool = read_spool(path());
    return spool.blocks().front().committed;
  }
  size_t added(const Bytes& full) {
    written_.push_back(full);
    const uint32_t now = committed();
    return now - std::exchange(committed_, now);
  }

  TestFolder folder_;
  SpoolWriter writer_;
  Lane lane_;
  std::vector<Bytes> written_;
  uint32_t committed_ = 0;
};

template <class Record>
RecordHeader header(RecordKind kind, uint8_t flags = 0, uint32_t id = 0) {
  return SpoolBuilder::header<Record>(kind, flags, id);
}

OperatorRecord operator_at(uint64_t ticks, uint64_t sequence_nr, uint32_t written = 0, uint8_t flags = 0) {
  return {header<OperatorRecord>(RecordKind::operator_begin, flags, 7), ticks, sequence_nr, 8, written};
}

TEST(ShortForm, IsReadInFull) {
  Events events;
  const uint64_t now = ticks_now();
  for (const RecordKind end : {RecordKind::operator_end, RecordKind::evaluation_end, RecordKind::backward_end,
                               RecordKind::module_end, RecordKind::optimizer_end, RecordKind::range_end}) {
    EXPECT_EQ(events.add(EventRecord{header<EventRecord>(end), now + 1}), 8U);
    EXPECT_EQ(events.add(NamedEventRecord{header<NamedEventRecord>(end, 3), now + 2}), 8U);
  }
  EXPECT_EQ(events.add(FreeRecord{header<FreeRecord>(RecordKind::free, 2), now + 3, 0x7fff12345678}), 16U);
  EXPECT_EQ(events.add(FreeRecord{header<FreeRecord>(RecordKind::free_request, 255), now + 4, UINT64_MAX}), 16U);
  EXPECT_EQ(
      events.add(NodeReleaseRecord{header<NodeReleaseRecord>(RecordKind::node_release, kNodeDied), now + 5, 0x1234}),
      16U);
  EXPECT_EQ(events.add(EvaluationRecord{header<EvaluationRecord>(RecordKind::evaluation_begin, kEvaluationReleases),
                                        now + 6, 0x5678}),
            16U);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{64}, uint64_t{UINT32_MAX}}) {
    EXPECT_EQ(
        events.add(AllocationRecord{header<AllocationRecord>(RecordKind::allocation, 1, 9), now + 7, 0x77, bytes}),
        24U);
  }
  EXPECT_EQ(events.add(operator_at(now + 8, UINT64_MAX), std::vector<uint64_t>{}), 16U);
  EXPECT_EQ(events.add(operator_at(now + 8, UINT64_MAX), std::vector<uint64_t>{1, 2, UINT64_MAX}), 40U);
  EXPECT_EQ(events.add(operator_at(now + 9, 0), std::vector<uint64_t>{5}), 32U);
  EXPECT_EQ(events.add(operator_at(now + 9, UINT32_MAX - 1, 3, kOperatorIsPythonFunction), std::vector<uint64_t>{5}),
            32U);
  EXPECT_EQ(events.add(operator_at(now + 9, UINT64_MAX, UINT32_MAX), std::vector<uint64_t>{5}), 32U);
  const InputViewsRecord views{header<InputViewsRecord>(RecordKind::input_views), now + 9};
  EXPECT_EQ(events.add(views, std::vector<InputView>{{3, 0, 0}, {0, 0, UINT32_MAX}}), 24U);
  EXPECT_EQ(events.add(EventRecord{header<EventRecord>(RecordKind::operator_end), now + UINT32_MAX / 2}), 8U);
  events.expect_read_in_full();
}

TEST(ShortForm, IsNotUsedForAFieldThatDoesNotFit) {
  Events events;
  const uint64_t now = ticks_now();
  const auto end = [](uint64_t ticks) { return EventRecord{header<EventRecord>(RecordKind::operator_end), ticks}; };
  EXPECT_EQ(events.add(end(1)), 16U) << "before the block";
  EXPECT_EQ(events.add(end(now - (uint64_t{1} << 40))), 16U);
  const auto named = header<NamedEventRecord>(RecordKind::operator_end, 0, 1);
  EXPECT_EQ(events.add(NamedEventRecord{named, now}), 16U);
  EXPECT_EQ(events.add(NamedEventRecord{header<NamedEventRecord>(RecordKind::backward_begin), now}), 16U);
  EXPECT_EQ(
      events.add(AllocationRecord{header<AllocationRecord>(RecordKind::allocation), now, 1, uint64_t{UINT32_MAX} + 1}),
      32U);
  EXPECT_EQ(events.add(operator_at(now, UINT32_MAX), std::vector<uint64_t>{5}), 40U);
  EXPECT_EQ(events.add(operator_at(now, UINT64_MAX - 1), std::vector<uint64_t>{5}), 40U);
  EXPECT_EQ(events.add(operator_at(now, 1, 0, kShortOperatorIsLonger), std::vector<uint64_t>{}), 32U);
  const InputViewsRecord views{header<InputViewsRecord>(RecordKind::input_views), now};
  EXPECT_EQ(events.add(views, std::vector<InputView>{{3, 0, uint64_t{UINT32_MAX} + 1}}), 32U);
  EXPECT_EQ(events.add(end(now + (uint64_t{1} << 34))), 16U) << "long after the block began";
  events.expect_read_in_full();
}

TEST(ShortForm, OfTheLargestOperatorIsReadInFull) {
  const TestFolder folder;
  SpoolWriter writer;
  ASSERT_EQ(writer.open((folder / "1.spool").c_str(), {}), 0);
  Lane lane;
  writer.attach(lane, 1);
  lane.write(event_at(ticks_now()));
  constexpr size_t kMost = (kBlockPayloadBytes - sizeof(OperatorRecord)) / 8;
  std::vector<uint64_t> inputs(kMost);
  for (size_t i = 0; i < kMost; ++i) inputs[i] = i;
  ASSERT_TRUE(
      lane.write(operator_at(ticks_now() + (uint64_t{1} << 30), UINT64_MAX), std::span<const uint64_t>(inputs)));
  constexpr size_t kViews = (kBlockPayloadBytes - sizeof(InputViewsRecord)) / sizeof(InputView);
  const std::vector<InputView> views(kViews, InputView{1, 0, 2});
  const InputViewsRecord record{header<InputViewsRecord>(RecordKind::input_views), ticks_now() + (uint64_t{1} << 30)};
  ASSERT_TRUE(lane.write(record, std::span<const InputView>(views)));
  std::vector<uint64_t> sizes;
  read_spool(folder / "1.spool")
      .for_each_event(
          [&](const RecordHeader* of, size_t, uint64_t) {
            sizes.push_back(size_t{of->words} * 8);
            if (of->kind != RecordKind::operator_begin) return;
            EXPECT_EQ(std::memcmp(&as<OperatorRecord>(of) + 1, inputs.data(), kMost * 8), 0);
          },
          [](size_t) {});
  EXPECT_EQ(sizes, (std::vector<uint64_t>{16, sizeof(OperatorRecord) + kMost * 8,
                                          sizeof(InputViewsRecord) + kViews * sizeof(InputView)}));
  writer.close();
}

TEST(ShortForm, OfAnOperatorThatIsTooShortForItsFlagsIsTorn) {
  const auto record = [](uint16_t words, uint8_t flags) {
    return ShortOperatorRecord{{short_kind(RecordKind::operator_begin), flags, words, 0}, 1, 0};
  };
  const auto is_whole_record = [&](uint16_t words, uint8_t flags) {
    const ShortOperatorRecord of = record(words, flags);
    return is_whole(&of.header, size_t{words} * 8);
  };
  EXPECT_FALSE(is_whole_record(1, 0));
  EXPECT_TRUE(is_whole_record(2, 0));
  EXPECT_FALSE(is_whole_record(2, kShortOperatorIsLonger));
  EXPECT_TRUE(is_whole_record(3, kShortOperatorIsLonger));
}

TEST(ShortForm, ExistsOnlyForSomeEvents) {
  for (int kind = 0; kind < 128; ++kind) {
    if (!is_known(short_kind(RecordKind(kind)))) continue;
    EXPECT_TRUE(is_event(RecordKind(kind))) << kind;
    EXPECT_LT(shape_of(short_kind(RecordKind(kind))).bytes, shape_of(RecordKind(kind)).bytes) << kind;
  }
  EXPECT_FALSE(is_known(short_kind(RecordKind::string)));
  EXPECT_FALSE(is_known(short_kind(RecordKind::backward_begin)));
}

}  // namespace
}  // namespace tapelens::trace
