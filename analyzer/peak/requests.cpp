#include "analyzer/peak/requests.h"

#include <algorithm>
#include <optional>
#include <span>

#include "analyzer/peak/device_events.h"

namespace tapelens::peak {
namespace {

using allocator::CachingAllocator;
using allocator::PoolId;

constexpr uint32_t kMostLearned = 2000;

bool gives_back(SegmentChange change) { return change == SegmentChange::freed || change == SegmentChange::unmapped; }

// Answers as the recorded device did, and notes the first request that the recorded device did not get.
class RecordedDevice : public allocator::Device {
 public:
  explicit RecordedDevice(const SegmentEvents& events) : events_(events) {}

  // `rows`: the events until the next request.
  void begin(std::span<SegmentEventId> rows) { rows_ = rows; }
  std::span<const SegmentEventId> left() const { return rows_; }
  bool differs() const { return differs_; }

  std::optional<uint64_t> allocate(uint64_t bytes) override {
    // The device refused a request when the allocator freed segments, or ran out of memory.
    if (rows_.empty() || gives_back(events_.change[rows_[0]])) return std::nullopt;
    const SegmentEventId row = take(0);
    differs_ |= events_.change[row] != SegmentChange::allocated || bytes_of(row) != bytes;
    return events_.address[row];
  }
  void free(uint64_t address, uint64_t bytes) override { given_back(SegmentChange::freed, address, bytes); }
  uint64_t reserve_addresses() override {
    const bool is_told = !rows_.empty() && events_.change[rows_[0]] == SegmentChange::mapped;
    return is_told ? events_.address[rows_[0]] : UINT64_MAX / 2;
  }
  bool map(uint64_t address, uint64_t bytes) override {
    if (rows_.empty() || gives_back(events_.change[rows_[0]])) return false;
    const SegmentEventId row = take(0);
    differs_ |=
        events_.change[row] != SegmentChange::mapped || events_.address[row] != address || bytes_of(row) != bytes;
    return true;
  }
  void unmap(uint64_t address, uint64_t bytes) override { given_back(SegmentChange::unmapped, address, bytes); }

  uint64_t bytes_of(SegmentEventId row) const { return static_cast<uint64_t>(events_.bytes[row].value); }

 private:
  SegmentEventId take(size_t place) {
    const SegmentEventId row = rows_[place];
    std::rotate(rows_.begin(), rows_.begin() + static_cast<int64_t>(place),
                rows_.begin() + static_cast<int64_t>(place) + 1);
    rows_ = rows_.subspan(1);
    return row;
  }
  // The order of frees within one moment has no effect.
  void given_back(SegmentChange change, uint64_t address, uint64_t bytes) {
    for (size_t place = 0; place < rows_.size() && gives_back(events_.change[rows_[place]]); ++place) {
      const SegmentEventId row = rows_[place];
      if (events_.address[row] != address || events_.change[row] != change || bytes_of(row) != bytes) continue;
      take(place);
      return;
    }
    differs_ = true;
  }

  const SegmentEvents& events_;
  std::span<SegmentEventId> rows_;
  bool differs_ = false;
};

class Comparison {
 public:
  // `most_learned`: the most facts to learn about the ages of segments from before the first request.
  Comparison(const Process& process, const Text& text, DeviceId device, Time until, DeviceRequests& out,
             uint32_t most_learned)
      : p_(process),
        text_(text),
        until_(until),
        most_learned_(most_learned),
        out_(out),
        events_(process, device),
        recorded_(process.segment_events),
        allocator_(out.settings, recorded_, process.allocations.rows() + 1, out.allowed) {
    allocator_.adopt(out.before);
  }

  void run() {
    while (const std::optional<DeviceEvent> event = events_.next()) {
      if (is_before(p_, event->time)) continue;
      if (event->time >= until_) break;
      if (event->kind == DeviceEvent::Kind::segment) {
        waiting_.push_back(SegmentEventId{event->row});
        continue;
      }
      out_.compared += waiting_.size() + 1;
      recorded_.begin(waiting_);
      happens(*event);
      if (out_.differs.empty() && !recorded_.left().empty()) {
        const SegmentChange change = p_.segment_events.change[recorded_.left()[0]];
        differs(gives_back(change)
                    ? "a segment was given back that is in use"
                    : "a segment was reserved that no request needed (memory from before the recording)");
      }
      if (out_.differs.empty() && recorded_.differs()) differs("another segment was reserved or given back");
      if (!out_.differs.empty()) return;
      waiting_.clear();
    }
    recorded_.begin(waiting_);
    out_.compared += waiting_.size();
    give_back_whole_pools();
    if (recorded_.differs() || !recorded_.left().empty()) differs("the last segments were given back otherwise");
  }

  uint32_t learned() const { return learned_; }
  // The segments from before the first request, the oldest first, as far as the events tell their age.
  std::vector<CachingAllocator::Segment> before() const {
    std::vector<CachingAllocator::Segment> all = out_.before;
    std::ranges::stable_sort(all, {}, [&](const auto& one) { return allocator_.age_of(one.address); });
    return all;
  }

 private:
  void differs(const char* what) {
    if (out_.differs.empty()) out_.differs = what;
  }

  void happens(const DeviceEvent& event) {
    time_ = event.time;
    switch (event.kind) {
      case DeviceEvent::Kind::allocate:
        return allocate(AllocationId{event.row});
      case DeviceEvent::Kind::out_of_memory:
        return out_of_memory(OutOfMemoryId{event.row});
      case DeviceEvent::Kind::request_free:
        give_back_whole_pools();
        add(Request::Kind::request_free, event.row);
        return allocator_.request_free(event.row);
      case DeviceEvent::Kind::free:
        give_back_whole_pools();
        add(Request::Kind::free, event.row);
        return allocator_.free(event.row);
      case DeviceEvent::Kind::segment:
        return;
    }
  }

  void add(Request::Kind kind, uint32_t row) { out_.all.push_back({time_, row, kind}); }

  void allocate(AllocationId id) {
    const DeviceBlockId block = events_.block_of(id);
    const DeviceBlocks& b = p_.device_blocks;
    const auto bytes = static_cast<uint64_t>(p_.allocations.bytes[id].value);
    const PoolId pool{b.graph_pool[block], b.user_pool[block]};
    before_request(id, b.stream[block], pool);
    if (learned_ < most_learned_ && allocator_.learn_age(bytes, b.stream[block], pool, b.address[block])) ++learned_;
    add(Request::Kind::allocate, id.value);
    if (!allocator_.allocate(id.value, bytes, b.stream[block], pool)) {
      return differs("a segment would be reserved that was not");
    }
    if (allocator_.address_of(id.value) != b.address[block]) return differs("a block lies elsewhere");
    if (allocator_.bytes_of(id.value) != static_cast<uint64_t>(b.rounded[block].value)) {
      differs("a block has another size");
    }
  }

  void out_of_memory(OutOfMemoryId row) {
    const auto bytes = static_cast<uint64_t>(p_.out_of_memory.bytes[row].value);
    add(Request::Kind::out_of_memory, row.value);
    if (allocator_.allocate(p_.allocations.rows() + 1, bytes, 0, {})) differs("a request was served that failed");
  }

  // Segments may be freed before a block because the program emptied the cache. Or the allocator frees them for this
  // very request, if it has no cached block for it. Two facts show the second case: some segments stay, or the free
  // happens inside the operator of the request, where the program cannot run.
  void before_request(AllocationId id, uint64_t stream, PoolId pool) {
    if (waiting_.empty() || !gives_back(p_.segment_events.change[waiting_[0]])) return;
    const auto bytes = static_cast<uint64_t>(p_.allocations.bytes[id].value);
    const bool is_by_allocator = is_garbage() || !is_whole_pools() || is_within_operator(id);
    if (allocator_.is_cached(bytes, stream, pool) || !is_by_allocator) give_back_whole_pools();
  }

  // Whether all these segments were freed after the begin of the innermost operator around the request. Only for
  // PyTorch's own operators: another operator may be a function of the program that empties the cache.
  bool is_within_operator(AllocationId id) const {
    const OperatorId op = p_.allocations.op[id];
    return op && text_.string(p_.operators.name[op]).starts_with("aten::") &&
           p_.segment_events.time[given_back()[0]] > p_.operators.begin[op];
  }

  bool is_garbage() const {
    uint64_t bytes = 0;
    for (const SegmentEventId row : given_back()) bytes += recorded_.bytes_of(row);
    return bytes == allocator_.could_collect();
  }

  std::span<const SegmentEventId> given_back() const {
    const auto rows = recorded_.left();
    size_t count = 0;
    while (count < rows.size() && gives_back(p_.segment_events.change[rows[count]])) ++count;
    return rows.first(count);
  }

  PoolId pool_of(SegmentEventId row) const {
    return {p_.segment_events.graph_pool[row], p_.segment_events.user_pool[row]};
  }

  std::vector<PoolId> pools_given_back() const {
    std::vector<PoolId> pools;
    for (const SegmentEventId row : given_back()) {
      if (std::ranges::find(pools, pool_of(row)) == pools.end()) pools.push_back(pool_of(row));
    }
    return pools;
  }

  bool is_whole_pools() const {
    for (const PoolId pool : pools_given_back()) {
      uint64_t bytes = 0;
      for (const SegmentEventId row : given_back()) bytes += pool_of(row) == pool ? recorded_.bytes_of(row) : 0;
      if (bytes != allocator_.could_give_back(pool)) return false;
    }
    return true;
  }

  void give_back_whole_pools() {
    for (const PoolId pool : pools_given_back()) {
      add(Request::Kind::give_back, static_cast<uint32_t>(out_.pools.size()));
      out_.pools.push_back(pool);
      allocator_.give_back(pool);
    }
  }

  const Process& p_;
  const Text& text_;
  const Time until_;
  const uint32_t most_learned_;
  uint32_t learned_ = 0;
  DeviceRequests& out_;
  DeviceEvents events_;
  RecordedDevice recorded_;
  CachingAllocator allocator_;
  std::vector<SegmentEventId> waiting_;  // since the last request
  Time time_;
};

}  // namespace

DeviceRequests device_requests(const Process& process, const Text& text, DeviceId device, const AllocatorNoted& noted) {
  DeviceRequests none;
  const allocator::ParsedSettings parsed = allocator::parse_settings(noted.settings);
  none.device = device;
  none.settings = parsed.settings;
  none.allowed = noted.allowed;
  if (!parsed.unknown.empty()) {
    none.differs = "the setting " + parsed.unknown.front() + " is not modelled";
    return none;
  }
  MemoryBefore before = memory_before(process, device, parsed.settings);
  if (!before) {
    none.differs = "blocks from before the history lie over each other";
    return none;
  }
  none.before = std::move(*before);
  const auto compared = [&](allocator::Order order) {
    DeviceRequests out = none;
    out.settings.order = order;
    Comparison learning(process, text, device, noted.until, out, out.before.empty() ? 0 : kMostLearned);
    learning.run();
    if (learning.learned() == 0) return out;
    // All learned ages must form one order from the begin on.
    DeviceRequests again = none;
    again.settings.order = order;
    again.before = learning.before();
    Comparison(process, text, device, noted.until, again, 0).run();
    return again;
  };
  if (const auto order = allocator::order_of(noted.torch_version)) return compared(*order);
  DeviceRequests by_address = compared(allocator::Order::by_address);
  if (by_address.is_exact()) return by_address;
  DeviceRequests by_age = compared(allocator::Order::by_age);
  return by_age.is_exact() || by_age.compared > by_address.compared ? by_age : by_address;
}

}  // namespace tapelens::peak
