// Builds real spools through SpoolWriter and seals them, for tests of code that reads recordings.
//
//   SpoolBuilder b;
//   b.op("aten::mm").alloc(0x1000, 64).end_op();
//   Recording recording = b.seal();
//
// Each event is 10 ns after the previous one, unless at() sets its time; the sealed file has these times exactly.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trace/record.h"
#include "trace/recording.h"
#include "trace/seal.h"
#include "trace/spool_reader.h"
#include "trace/spool_writer.h"

namespace tapelens::trace {

// A folder that is removed at the end of its test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tapelens-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Sealed {
  SealSummary summary;
  Recording recording;
};

// Fails the test and throws if the spools of a folder cannot be sealed or the file cannot be read.
inline Sealed seal_folder(const TestFolder& folder, const std::string& command = "python train.py") {
  SealOptions options;
  options.directory = folder.path();
  options.output = folder / "run.tapelens";
  options.command = command;
  auto summary = seal(options);
  if (!summary) throw std::runtime_error(summary.error().message);
  auto recording = Recording::open(options.output);
  if (!recording) throw std::runtime_error(recording.error().message);
  return {*summary, std::move(*recording)};
}

class SpoolBuilder {
 public:
  static constexpr uint64_t kNone = UINT64_MAX;

  SpoolBuilder() : own_folder_(std::make_unique<TestFolder>()) { open(*own_folder_ / "1.spool", {}); }
  SpoolBuilder(const TestFolder& folder, std::string_view name, const SpoolLimits& limits = {}) {
    open(folder / name, limits);
  }
  SpoolBuilder(const SpoolBuilder&) = delete;
  SpoolBuilder& operator=(const SpoolBuilder&) = delete;
  ~SpoolBuilder() { writer_.close(); }

  // ---- threads and times
  SpoolBuilder& thread(uint32_t number) {  // from 1, made on first use
    while (lanes_.size() < number) {
      lanes_.push_back(std::make_unique<Lane>());
      writer_.attach(*lanes_.back(), 1000 + static_cast<uint32_t>(lanes_.size()));
    }
    lane_ = lanes_[number - 1].get();
    return *this;
  }
  SpoolBuilder& at(uint64_t ns) {  // time of the next event
    now_ = ns - 10;
    return *this;
  }
  uint64_t now() const { return now_; }  // time of the last event
  // From here on with the clock of a recorded process, so that events have their short forms. Call it first.
  SpoolBuilder& as_recorded() {
    is_as_recorded_ = true;
    return *this;
  }

  // ---- interned records, without duplicates
  uint32_t string(std::string_view text) {
    return intern(strings_, std::string(text), [&](uint32_t id) {
      raw(StringRecord{header<StringRecord>(RecordKind::string, 0, id), static_cast<uint32_t>(text.size()), 0},
          text.data(), text.size());
    });
  }
  uint32_t frame(std::string_view file, uint32_t line, std::string_view function) {
    const uint32_t f = string(file), g = string(function);
    return intern(frames_, key({f, g, line}), [&](uint32_t id) {
      raw(FrameRecord{header<FrameRecord>(RecordKind::frame, 0, id), f, g, line, 0});
    });
  }
  uint32_t stack(const std::vector<uint32_t>& frames) {  // innermost first
    return intern(stacks_, key(frames), [&](uint32_t id) {
      raw(StackRecord{header<StackRecord>(RecordKind::stack, 0, id), static_cast<uint32_t>(frames.size()), 0},
          frames.data(), frames.size() * sizeof(uint32_t));
    });
  }
  uint32_t native_stack(const std::vector<uint64_t>& program_counters) {
    const auto* words = reinterpret_cast<const uint32_t*>(program_counters.data());
    return intern(stacks_, "native" + key({words, words + 2 * program_counters.size()}), [&](uint32_t id) {
      raw(NativeStackRecord{header<NativeStackRecord>(RecordKind::native_stack, 0, id),
                            static_cast<uint32_t>(program_counters.size()), 0},
          program_counters.data(), program_counters.size() * sizeof(uint64_t));
    });
  }
  uint32_t layout(std::string_view dtype, uint16_t element_bytes, const std::vector<int64_t>& sizes,
                  const std::vector<int64_t>& strides) {
    const uint32_t type = string(dtype);
    std::vector<int64_t> extents = sizes;
    extents.insert(extents.end(), strides.begin(), strides.end());
    const auto* words = reinterpret_cast<const uint32_t*>(extents.data());
    return intern(layouts_, std::string(dtype) + key({words, words + 2 * extents.size()}), [&](uint32_t id) {
      raw(LayoutRecord{header<LayoutRecord>(RecordKind::layout, 0, id), type, element_bytes,
                       static_cast<uint16_t>(sizes.size())},
          extents.data(), extents.size() * sizeof(int64_t));
    });
  }
  uint32_t module(std::string_view path, std::string_view type) {
    const uint32_t p = string(path), t = string(type);
    return intern(modules_, key({p, t}), [&](uint32_t id) {
      raw(ModuleRecord{header<ModuleRecord>(RecordKind::module, 0, id), p, t});
    });
  }
  uint8_t device(std::string_view name) {
    const uint32_t n = string(name);
    return static_cast<uint8_t>(intern(devices_, std::string(name), [&](uint32_t id) {
      raw(DeviceRecord{header<DeviceRecord>(RecordKind::device, 0, id), n, 0});
    }));
  }
  SpoolBuilder& information(std::string_view k, std::string_view value) {
    const uint32_t ki = string(k), vi = string(value);
    return raw(InformationRecord{header<InformationRecord>(RecordKind::information, 0, ki), vi, 0});
  }
  SpoolBuilder& mapping(std::string_view path, uint64_t begin, uint64_t end, uint64_t bias) {
    const uint32_t p = string(path);
    return raw(MappingRecord{header<MappingRecord>(RecordKind::mapping, 0, p), begin, end, bias});
  }
  SpoolBuilder& source(std::string_view path, uint64_t size, uint64_t hash) {
    const uint32_t p = string(path);
    return raw(SourceRecord{header<SourceRecord>(RecordKind::source, 0, p), size, hash});
  }
  SpoolBuilder& loss(Loss kind, uint64_t count) {
    return raw(LossRecord{header<LossRecord>(RecordKind::loss, static_cast<uint8_t>(kind), 0), count, tick()});
  }

  // ---- events
  SpoolBuilder& op(std::string_view name, const std::vector<uint64_t>& inputs = {}, uint32_t stack_id = 0,
                   uint64_t sequence_nr = kNone, uint8_t flags = 0, uint32_t written = 0) {
    const uint32_t id = string(name);
    return raw(OperatorRecord{header<OperatorRecord>(RecordKind::operator_begin, flags, id), tick(), sequence_nr,
                              stack_id, written},
               inputs.data(), inputs.size() * sizeof(uint64_t));
  }
  SpoolBuilder& views(const std::vector<InputView>& of_inputs) {
    return raw(InputViewsRecord{header<InputViewsRecord>(RecordKind::input_views, 0, 0), tick()}, of_inputs.data(),
               of_inputs.size() * sizeof(InputView));
  }
  SpoolBuilder& end_op() { return end(RecordKind::operator_end); }
  SpoolBuilder& alloc(uint64_t address, uint64_t bytes, std::string_view device_name = "cpu", uint32_t stack_id = 0) {
    const uint8_t id = device(device_name);
    return raw(
        AllocationRecord{header<AllocationRecord>(RecordKind::allocation, id, stack_id), tick(), address, bytes});
  }
  SpoolBuilder& free(uint64_t address, std::string_view device_name = "cpu") {
    const uint8_t id = device(device_name);
    return raw(FreeRecord{header<FreeRecord>(RecordKind::free, id, 0), tick(), address});
  }
  // A block of a device's own allocator.
  SpoolBuilder& block(uint64_t address, uint64_t bytes, uint64_t rounded, std::string_view device_name = "cuda:0",
                      uint64_t stream = 0, PoolNumbers pool = {}, uint32_t flags = 0, uint32_t stack_id = 0) {
    const uint8_t id = device(device_name);
    return raw(DeviceAllocationRecord{header<DeviceAllocationRecord>(RecordKind::device_allocation, id, stack_id),
                                      tick(), address, bytes, rounded, stream, pool, flags, 0});
  }
  SpoolBuilder& request_free(uint64_t address, std::string_view device_name = "cuda:0") {
    const uint8_t id = device(device_name);
    return raw(FreeRecord{header<FreeRecord>(RecordKind::free_request, id, 0), tick(), address});
  }
  SpoolBuilder& segment(SegmentChange change, uint64_t address, uint64_t bytes, std::string_view device_name = "cuda:0",
                        uint64_t stream = 0, PoolNumbers pool = {}) {
    const uint8_t id = device(device_name);
    return raw(SegmentRecord{header<SegmentRecord>(RecordKind::segment, id, static_cast<uint32_t>(change)), tick(),
                             address, bytes, stream, pool});
  }
  SpoolBuilder& out_of_memory(uint64_t bytes, uint64_t allocated, uint64_t reserved, uint64_t free = UINT64_MAX,
                              std::string_view device_name = "cuda:0", uint32_t stack_id = 0) {
    const uint8_t id = device(device_name);
    return raw(OutOfMemoryRecord{header<OutOfMemoryRecord>(RecordKind::out_of_memory, id, stack_id), tick(), bytes,
                                 allocated, reserved, free});
  }
  SpoolBuilder& foreign(uint64_t address, uint64_t bytes, std::string_view device_name = "cpu") {
    const uint8_t id = device(device_name);
    return raw(ForeignRecord{header<ForeignRecord>(RecordKind::foreign, id, 0), tick(), address, bytes});
  }
  SpoolBuilder& node(std::string_view type, uint64_t address, const std::vector<NodeEdge>& edges = {},
                     uint64_t sequence_nr = 0, uint8_t flags = 0, std::string_view attributes = {}) {
    const uint32_t id = string(type), said = attributes.empty() ? 0 : string(attributes);
    return raw(NodeRecord{header<NodeRecord>(RecordKind::node, flags, id), tick(), address, sequence_nr, 0, said, 0},
               edges.data(), edges.size() * sizeof(NodeEdge));
  }
  SpoolBuilder& accumulate_grad(uint64_t address, uint64_t storage) {
    const uint32_t id = string("AccumulateGrad");
    return raw(NodeRecord{header<NodeRecord>(RecordKind::node, kNodeIsAccumulateGrad, id), tick(), address, kNone,
                          storage, 0, 0});
  }
  SpoolBuilder& save(uint64_t node_address, std::string_view field, uint64_t storage, uint64_t storage_bytes,
                     uint32_t layout_id = 0, uint8_t flags = 0, uint32_t index = 0, uint64_t offset = 0) {
    const uint32_t id = field.empty() ? 0 : string(field);
    return raw(SaveRecord{header<SaveRecord>(RecordKind::save, flags, id), tick(), node_address, storage, storage_bytes,
                          offset, layout_id, index});
  }
  // A save of a compiled function, computed at the line of a stack.
  SpoolBuilder& placed_save(uint64_t node_address, std::string_view field, uint64_t storage, uint64_t storage_bytes,
                            uint32_t stack_id, uint8_t flags = 0) {
    const uint32_t behind[] = {stack_id, 0};  // the additional fields of a PlacedSaveRecord
    static_assert(sizeof(SaveRecord) + sizeof behind == sizeof(PlacedSaveRecord));
    return raw(SaveRecord{header<SaveRecord>(RecordKind::save, flags, string(field)), tick(), node_address, storage,
                          storage_bytes, 0, 0, 0},
               behind, sizeof behind);
  }
  SpoolBuilder& node_release(uint64_t node_address) { return release(node_address, 0); }
  SpoolBuilder& node_dies(uint64_t node_address) { return release(node_address, kNodeDied); }
  SpoolBuilder& evaluate(uint64_t node_address, bool releases = true) {
    return raw(
        EvaluationRecord{header<EvaluationRecord>(RecordKind::evaluation_begin, releases ? kEvaluationReleases : 0, 0),
                         tick(), node_address});
  }
  SpoolBuilder& end_evaluation() { return end(RecordKind::evaluation_end); }
  SpoolBuilder& backward(uint8_t flags = 0) { return begin(RecordKind::backward_begin, flags, 0); }
  SpoolBuilder& end_backward() { return end(RecordKind::backward_end); }
  SpoolBuilder& role(Role role, std::string_view name, uint64_t storage, uint64_t storage_bytes,
                     uint64_t parameter = 0) {
    const uint32_t id = string(name);
    return raw(RoleRecord{header<RoleRecord>(RecordKind::role, static_cast<uint8_t>(role), id), tick(), storage,
                          storage_bytes, parameter});
  }
  SpoolBuilder& held(HeldBy by, std::string_view field, uint64_t storage, uint64_t storage_bytes,
                     uint64_t node_address = 0) {
    const uint32_t id = string(field);
    return raw(HeldRecord{header<HeldRecord>(RecordKind::held, static_cast<uint8_t>(by), id), tick(), node_address,
                          storage, storage_bytes});
  }
  SpoolBuilder& variable(std::string_view name, uint64_t storage, uint64_t storage_bytes) {
    const uint32_t id = string(name);
    return raw(VariableRecord{header<VariableRecord>(RecordKind::variable, 0, id), tick(), storage, storage_bytes});
  }
  // Skipped if `reason` is not empty.
  SpoolBuilder& rewrite(std::string_view id, uint8_t level, uint64_t node_address, std::string_view field,
                        uint64_t bytes, uint64_t kept = 0, std::string_view reason = {}, uint32_t stack_id = 0) {
    const uint32_t rewrite_id = string(id), field_id = field.empty() ? 0 : string(field);
    const uint32_t reason_id = reason.empty() ? 0 : string(reason);
    const auto flags = static_cast<uint8_t>(level | (reason.empty() ? 0 : kRewriteSkipped));
    return raw(RewriteRecord{header<RewriteRecord>(RecordKind::rewrite, flags, rewrite_id), tick(), node_address,
                             field_id, 0, reason_id, stack_id, bytes, kept});
  }
  SpoolBuilder& checksum(ChecksumOf of, std::string_view name, uint64_t step, uint64_t value, uint64_t spent_ns = 0) {
    const uint32_t id = name.empty() ? 0 : string(name);
    return raw(ChecksumRecord{header<ChecksumRecord>(RecordKind::checksum, static_cast<uint8_t>(of), id), tick(), step,
                              value, spent_ns});
  }
  SpoolBuilder& outside(trace::OutsideChange change, uint64_t address, uint64_t bytes, std::string_view library,
                        std::string_view device_name = "cuda:0", uint64_t age_ns = 0,
                        trace::OutsideMemory memory = trace::OutsideMemory::device, uint32_t call = 0) {
    const uint8_t device_id = device(device_name);
    const uint32_t id = library.empty() ? 0 : string(library);
    return raw(OutsideRecord{header<OutsideRecord>(RecordKind::outside, device_id, id),
                             tick(),
                             age_ns,
                             address,
                             bytes,
                             change,
                             memory,
                             {},
                             call});
  }
  SpoolBuilder& outside_call(uint32_t call) {
    return raw(OutsideCallRecord{header<OutsideCallRecord>(RecordKind::outside_call, 0, 0), tick(), call, 0});
  }
  struct Physical {
    trace::VirtualChange change{};
    uint64_t handle = 0, address = 0, bytes = 0, age_ns = 0;
    uint32_t call = 0;
    std::string_view library = {}, device = "cuda:0";
  };
  SpoolBuilder& physical(const Physical& p) {
    const uint8_t device_id = device(p.device);
    const uint32_t id = p.library.empty() ? 0 : string(p.library);
    return raw(VirtualMemoryRecord{header<VirtualMemoryRecord>(RecordKind::virtual_memory, device_id, id),
                                   tick(),
                                   p.age_ns,
                                   p.handle,
                                   p.address,
                                   p.bytes,
                                   p.call,
                                   p.change,
                                   {}});
  }
  SpoolBuilder& pool(uint64_t address, uint64_t reserved, uint64_t used, uint64_t age_ns = 0,
                     trace::PoolChange change = trace::PoolChange::now, std::string_view device_name = "cuda:0") {
    const uint8_t device_id = device(device_name);
    return raw(MemoryPoolRecord{header<MemoryPoolRecord>(RecordKind::memory_pool, device_id, 0),
                                tick(),
                                age_ns,
                                address,
                                reserved,
                                used,
                                change,
                                {}});
  }
  SpoolBuilder& device_usage(uint64_t used, uint64_t total, std::string_view device_name = "cuda:0") {
    const uint8_t device_id = device(device_name);
    return raw(
        DeviceUsageRecord{header<DeviceUsageRecord>(RecordKind::device_usage, device_id, 0), tick(), used, total});
  }
  SpoolBuilder& value_read(std::string_view op, uint32_t stack_id = 0) {
    const uint32_t id = string(op);
    return raw(ValueReadRecord{header<ValueReadRecord>(RecordKind::value_read, 0, id), tick(), stack_id, 0});
  }
  SpoolBuilder& enter(std::string_view path, std::string_view type, uint8_t flags = 0) {  // a module
    return begin(RecordKind::module_begin, flags, module(path, type));
  }
  SpoolBuilder& leave() { return end(RecordKind::module_end); }
  SpoolBuilder& optimizer(std::string_view name) { return begin(RecordKind::optimizer_begin, 0, string(name)); }
  SpoolBuilder& end_optimizer() { return end(RecordKind::optimizer_end); }
  SpoolBuilder& range(std::string_view name) { return begin(RecordKind::range_begin, 0, string(name)); }
  SpoolBuilder& end_range() { return end(RecordKind::range_end); }

  // Any record, with `bytes` after it, padded.
  template <class Record>
  SpoolBuilder& raw(Record record, const void* tail = nullptr, size_t bytes = 0) {
    const size_t size = (sizeof(Record) + bytes + 7) / 8 * 8;
    record.header.words = static_cast<uint16_t>(size / 8);
    if (is_as_recorded_ && write_as_recorded(record, tail, bytes)) return *this;
    auto* place = static_cast<std::byte*>(lane_->reserve(size));
    if (place == nullptr) return *this;
    std::memset(place, 0, size);
    std::memcpy(place, &record, sizeof(record));
    if (bytes > 0) std::memcpy(place + sizeof(record), tail, bytes);
    lane_->commit(size);
    return *this;
  }
  template <class Record>
  static RecordHeader header(RecordKind kind, uint8_t flags, uint32_t id) {
    return {kind, flags, sizeof(Record) / 8, id};
  }

  // ---- the end of the process
  void finish() {  // a regular end
    for (auto& lane : lanes_) lane->finish();
    writer_.finish();
    set_clock();
  }
  void kill() {  // the state after SIGKILL
    set_clock();
  }
  Recording seal() { return std::move(seal_all().recording); }  // finishes, and seals this process only
  Sealed seal_all() {
    finish();
    return seal_folder(*own_folder_);
  }

  SpoolWriter& writer() { return writer_; }
  const std::string& path() const { return path_; }
  const TestFolder& folder() const { return *own_folder_; }

 private:
  void open(const std::string& path, const SpoolLimits& limits) {
    path_ = path;
    const int error = writer_.open(path.c_str(), limits);
    if (error != 0) throw std::runtime_error(path + ": " + std::strerror(error));
    thread(1);
  }
  uint64_t tick() {
    now_ += 10;
    if (is_as_recorded_) now_ = std::max(now_, ticks_now());
    return now_;
  }
  template <class Record>
  bool write_as_recorded(const Record& record, const void* tail, size_t bytes) {
    if constexpr (std::is_same_v<Record, OperatorRecord>) {
      return lane_->write(record, std::span(static_cast<const uint64_t*>(tail), bytes / sizeof(uint64_t)));
    } else if constexpr (std::is_same_v<Record, InputViewsRecord>) {
      return lane_->write(record, std::span(static_cast<const InputView*>(tail), bytes / sizeof(InputView)));
    } else {
      return bytes == 0 && lane_->write(record);
    }
  }
  SpoolBuilder& begin(RecordKind kind, uint8_t flags, uint32_t id) {
    return raw(NamedEventRecord{header<NamedEventRecord>(kind, flags, id), tick()});
  }
  SpoolBuilder& end(RecordKind kind) { return raw(EventRecord{header<EventRecord>(kind, 0, 0), tick()}); }
  SpoolBuilder& release(uint64_t node_address, uint8_t flags) {
    return raw(NodeReleaseRecord{header<NodeReleaseRecord>(RecordKind::node_release, flags, 0), tick(), node_address});
  }
  using Ids = std::map<std::string, uint32_t>;
  template <class Write>
  static uint32_t intern(Ids& ids, const std::string& what, Write&& write) {
    const auto [at, is_new] = ids.try_emplace(what, static_cast<uint32_t>(ids.size() + 1));
    if (is_new) write(at->second);
    return at->second;
  }
  static std::string key(const std::vector<uint32_t>& words) {
    return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t)};
  }
  // One tick is one nanosecond, and the recording began at tick 0, or with as_recorded() at its first tick: sets every
  // anchor in the file accordingly.
  void set_clock() {
    constexpr uint64_t kFar[2] = {uint64_t{1} << 40, uint64_t{1} << 40};
    constexpr uint64_t kZero[2] = {0, 0};
    const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    const auto put = [&](int of, size_t offset, const uint64_t* anchor) {
      uint64_t ticks[2] = {anchor[0], anchor[1]};
      if (is_as_recorded_ && pread(of, ticks, 8, static_cast<off_t>(offset)) == 8) ticks[1] = ticks[0];
      if (pwrite(of, ticks, 16, static_cast<off_t>(offset)) != 16)
        ADD_FAILURE() << "the clock of " << path_ << " could not be set";
    };
    // Does not touch blocks whose space was released.
    const auto set_anchors = [&](int of, uint64_t blocks) {
      struct stat facts {};
      if (fstat(of, &facts) != 0) return;
      for (uint64_t i = 0; i < blocks; ++i) {
        const uint64_t at = kSpoolHeaderBytes + i * kBlockBytes;
        uint32_t magic = 0;
        if (at + kBlockBytes > static_cast<uint64_t>(facts.st_size)) return;
        if (pread(of, &magic, sizeof(magic), static_cast<off_t>(at)) != sizeof(magic) || magic == 0) continue;
        put(of, at + offsetof(BlockHeader, anchor_ticks), kFar);
      }
    };
    uint64_t epoch[2] = {0, 0};
    if (is_as_recorded_ && pread(file, epoch, 8, offsetof(SpoolHeader, start_ticks)) != 8) epoch[0] = 0;
    if (pwrite(file, epoch, 8, offsetof(SpoolHeader, epoch_ns)) != 8) ADD_FAILURE() << path_;
    put(file, offsetof(SpoolHeader, start_ticks), kZero);
    put(file, offsetof(SpoolHeader, end_ticks), kFar);
    uint64_t claimed = 0;
    if (pread(file, &claimed, sizeof(claimed), offsetof(SpoolHeader, claimed_blocks)) != sizeof(claimed)) claimed = 0;
    set_anchors(file, claimed);
    ::close(file);
    if (const int older = ::open(older_path(path_).c_str(), O_RDWR | O_CLOEXEC); older >= 0) {
      set_anchors(older, UINT64_MAX);
      ::close(older);
    }
  }

  std::unique_ptr<TestFolder> own_folder_;
  std::string path_;
  SpoolWriter writer_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Lane* lane_ = nullptr;
  uint64_t now_ = 0;
  bool is_as_recorded_ = false;
  Ids strings_, frames_, stacks_, layouts_, modules_, devices_;
};

}  // namespace tapelens::trace
