// See intern.h. Records are written under the lock, so that every record that names an interned one is later in time.
#include "profiler/record/intern.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "profiler/observe/observers.h"
#include "profiler/record/source_file.h"

namespace tapelens::record {

namespace {

using observe::FrameText;
using observe::mix;
using trace::RecordKind;

struct Tables {
  base::Mutex lock;
  std::unordered_map<std::string, uint32_t> strings TAPELENS_GUARDED_BY(lock);
  // By hash; `stacks` by the caller's.
  std::unordered_map<uint64_t, uint32_t> stacks_by_frames TAPELENS_GUARDED_BY(lock), stacks TAPELENS_GUARDED_BY(lock),
      layouts TAPELENS_GUARDED_BY(lock), frames TAPELENS_GUARDED_BY(lock);
  uint32_t stacks_told TAPELENS_GUARDED_BY(lock) = 0;
  std::unordered_set<uint32_t> sources TAPELENS_GUARDED_BY(lock);  // strings: files that frames name
};
Tables& tables() {
  static auto* made = new Tables;
  return *made;
}

// A record may not be larger than a block.
constexpr size_t kMostText = 32 * 1024;
constexpr size_t kMostFrames = 8 * 1024 - 64;

uint32_t string_locked(Tables& t, ThreadState& thread, std::string_view text) TAPELENS_REQUIRES(t.lock) {
  if (text.empty()) return 0;
  if (text.size() > kMostText) {
    text = text.substr(0, kMostText);
    g_spool.count(trace::Loss::truncated_text);
  }
  const auto [at, is_new] = t.strings.try_emplace(std::string(text), static_cast<uint32_t>(t.strings.size() + 1));
  if (!is_new) return at->second;
  const size_t words = (text.size() + 7) / 8;
  size_t bytes;
  if (auto* record = reserve<trace::StringRecord>(thread, RecordKind::string, 0, at->second, words, bytes)) {
    record->bytes = static_cast<uint32_t>(text.size());
    record->reserved = 0;
    auto* tail = reinterpret_cast<char*>(record + 1);
    std::memset(tail, 0, 8 * words);
    std::memcpy(tail, text.data(), text.size());
    thread.lane.commit(bytes);
  }
  return at->second;
}

template <class Record, class Value>
void write_stack(ThreadState& thread, RecordKind kind, uint32_t id, std::span<const Value> values) {
  const size_t words = (values.size_bytes() + 7) / 8;
  size_t bytes;
  if (auto* record = reserve<Record>(thread, kind, 0, id, words, bytes)) {
    record->count = static_cast<uint32_t>(values.size());
    record->reserved = 0;
    auto* tail = reinterpret_cast<char*>(record + 1);
    std::memset(tail, 0, 8 * words);
    std::memcpy(tail, values.data(), values.size_bytes());
    thread.lane.commit(bytes);
  }
}

template <class Value>
std::span<const Value> at_most_a_block(std::span<const Value> values, size_t most) {
  if (values.size() <= most) return values;
  g_spool.count(trace::Loss::truncated_text);
  return values.first(most);
}

}  // namespace

uint32_t intern_string(ThreadState& thread, std::string_view text) {
  Tables& t = tables();
  const base::MutexLock guard(t.lock);
  return string_locked(t, thread, text);
}

uint32_t intern_attributes(ThreadState& thread, std::string_view text) {
  if (text.empty()) return 0;
  std::array<char, sizeof(ThreadState::Attributes::copy)> copy{};
  if (text.size() > copy.size()) return intern_string(thread, text);
  std::memcpy(copy.data(), text.data(), text.size());
  uint64_t hash = text.size();
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, copy.data() + i, sizeof word);
    hash = mix(hash, word);
  }
  ThreadState::Attributes& seen = thread.attributes[slot_of(hash, thread.attributes.size())];
  if (seen.id == 0 || seen.copy != copy) seen = {copy, intern_string(thread, text)};
  return seen.id;
}

uint32_t intern_layout(ThreadState& thread, const c10::TensorImpl& tensor) {
  // The fields themselves: a subclass's overrides may throw (nested tensors) or run Python.
  if (tensor.is_sparse() || tensor.is_sparse_compressed() || tensor.is_mkldnn() || tensor.has_symbolic_sizes_strides())
    return 0;
  const auto sizes = tensor.sizes_default(), strides = tensor.strides_default();
  uint64_t hash = mix(mix(0x1a407, sizes.size()), static_cast<uint64_t>(tensor.dtype().toScalarType()));
  for (const int64_t size : sizes) hash = mix(hash, static_cast<uint64_t>(size));
  for (const int64_t stride : strides) hash = mix(hash, static_cast<uint64_t>(stride));
  ThreadState::Layout& slot = thread.layouts[slot_of(hash, thread.layouts.size())];
  if (slot.hash == hash && slot.id != 0) return slot.id;

  Tables& t = tables();
  const base::MutexLock guard(t.lock);
  const auto [at, is_new] = t.layouts.try_emplace(hash, static_cast<uint32_t>(t.layouts.size() + 1));
  if (is_new) {
    // PyTorch's Python names: "float32", not "Float".
    const uint32_t dtype = string_locked(t, thread, c10::getDtypeNames(tensor.dtype().toScalarType()).first);
    size_t bytes;
    if (auto* record =
            reserve<trace::LayoutRecord>(thread, RecordKind::layout, 0, at->second, 2 * sizes.size(), bytes)) {
      record->dtype = dtype;
      record->element_bytes = static_cast<uint16_t>(tensor.dtype().itemsize());
      record->rank = static_cast<uint16_t>(sizes.size());
      auto* tail = reinterpret_cast<int64_t*>(record + 1);
      std::copy(strides.begin(), strides.end(), std::copy(sizes.begin(), sizes.end(), tail));
      thread.lane.commit(bytes);
    }
  }
  slot = {hash, at->second};
  return at->second;
}

void module_named(Thread& thread, uint32_t id, std::string_view path, std::string_view type) {
  ThreadState& own = *thread.recording;
  Tables& t = tables();
  const base::MutexLock guard(t.lock);
  const uint32_t path_id = string_locked(t, own, path), type_id = string_locked(t, own, type);
  own.lane.write(trace::ModuleRecord{header<trace::ModuleRecord>(RecordKind::module, 0, id), path_id, type_id});
}

uint32_t find_stack(Thread& thread, uint64_t hash) {
  ThreadState& own = *thread.recording;
  ThreadState::Stack& slot = own.stacks[slot_of(hash, own.stacks.size())];
  if (slot.hash == hash && slot.id != 0) return slot.id;
  Tables& t = tables();
  const base::MutexLock guard(t.lock);
  const auto at = t.stacks.find(hash);
  if (at == t.stacks.end()) return 0;
  slot = {hash, at->second};
  return at->second;
}

namespace {

uint32_t add_frames(ThreadState& thread, uint64_t hash, std::span<const FrameText> frames,
                    std::vector<FrameText>& new_files) {
  Tables& t = tables();
  const base::MutexLock guard(t.lock);
  std::vector<uint32_t> ids;
  for (const FrameText& frame : at_most_a_block(frames, kMostFrames)) {
    const uint32_t file = string_locked(t, thread, frame.file);
    const uint32_t function = frame.is_generated
                                  ? string_locked(t, thread, std::string(trace::kInductor).append(frame.function))
                                  : string_locked(t, thread, frame.function);
    const uint64_t key = mix(mix(mix(0xf7a3e, file), function), frame.line);  // small numbers: mix each
    const auto [at, is_new] = t.frames.try_emplace(key, static_cast<uint32_t>(t.frames.size() + 1));
    if (is_new) {
      thread.lane.write(trace::FrameRecord{header<trace::FrameRecord>(RecordKind::frame, 0, at->second), file, function,
                                           frame.line, 0});
      if (file != 0 && t.sources.insert(file).second) new_files.push_back(frame);
    }
    ids.push_back(at->second);
  }
  uint64_t content = mix(0x57ac4, ids.size());
  for (const uint32_t frame : ids) content = mix(content, frame);
  const auto [at, is_new] = t.stacks_by_frames.try_emplace(content, t.stacks_told + 1);
  t.stacks_told += is_new;
  if (is_new) write_stack<trace::StackRecord, uint32_t>(thread, RecordKind::stack, at->second, ids);
  if (hash != 0) t.stacks.emplace(hash, at->second);
  return at->second;
}

}  // namespace

uint32_t add_stack(Thread& of, uint64_t hash, std::span<const FrameText> frames) {
  ThreadState& thread = *of.recording;
  std::vector<FrameText> new_files;
  const uint32_t stack = add_frames(thread, hash, frames, new_files);
  for (const FrameText& frame : new_files) {
    if (const auto source = read_source(frame.file)) {
      thread.lane.write(
          trace::SourceRecord{header<trace::SourceRecord>(RecordKind::source, 0, intern_string(thread, frame.file)),
                              source->bytes, source->hash});
    }
  }
  return stack;
}

namespace {

void write_mapping(ThreadState& thread, std::string_view path, uint64_t begin, uint64_t end, uint64_t bias) {
  Tables& t = tables();
  const base::MutexLock guard(t.lock);
  const uint32_t id = string_locked(t, thread, path);
  thread.lane.write(trace::MappingRecord{header<trace::MappingRecord>(RecordKind::mapping, 0, id), begin, end, bias});
}

void write_mappings(ThreadState& thread) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        char path[4096];
        const char* name = info->dlpi_name;
        if (*name == '\0') {  // the program itself; an object without a file (the vdso) cannot be opened later
          const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
          if (length <= 0) return 0;
          path[length] = '\0';
          name = path;
        }
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
          write_mapping(*static_cast<ThreadState*>(data), name, begin, begin + segment.p_memsz, info->dlpi_addr);
        }
        return 0;
      },
      &thread);
}

// Writes the executable files in the address space again if libraries were loaded since the last call, for the
// symbolization of program counters when a spool is sealed.
void follow_mappings(ThreadState& thread) {
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  static std::atomic<unsigned long long> known{0};
  if (known.exchange(loaded, std::memory_order_relaxed) != loaded) write_mappings(thread);
}

uint32_t add_native_stack(ThreadState& thread, uint64_t hash, std::span<const uint64_t> program_counters) {
  Tables& t = tables();
  const base::MutexLock guard(t.lock);
  const auto [at, is_new] = t.stacks.try_emplace(hash, t.stacks_told + 1);
  t.stacks_told += is_new;
  if (is_new)
    write_stack<trace::NativeStackRecord, uint64_t>(thread, RecordKind::native_stack, at->second,
                                                    at_most_a_block(program_counters, kMostFrames / 2));
  return at->second;
}

}  // namespace

uint32_t native_stack(Thread& thread, std::span<const uint64_t> program_counters, bool is_cut) {
  if (is_cut) g_spool.count(trace::Loss::truncated_text);
  uint64_t hash = 0x6a71e;
  for (const uint64_t counter : program_counters) hash = mix(hash, counter);
  if (const uint32_t known = find_stack(thread, hash)) return known;
  follow_mappings(*thread.recording);
  return add_native_stack(*thread.recording, hash, program_counters);
}

void write_information(ThreadState& thread, std::string_view key, std::string_view value) {
  Tables& t = tables();
  const base::MutexLock guard(t.lock);
  const uint32_t key_id = string_locked(t, thread, key), value_id = string_locked(t, thread, value);
  thread.lane.write(
      trace::InformationRecord{header<trace::InformationRecord>(RecordKind::information, 0, key_id), value_id, 0});
}

void write_device(ThreadState& thread, uint8_t id, std::string_view name) {
  Tables& t = tables();
  const base::MutexLock guard(t.lock);
  const uint32_t name_id = string_locked(t, thread, name);
  thread.lane.write(trace::DeviceRecord{header<trace::DeviceRecord>(RecordKind::device, 0, id), name_id, 0});
}

}  // namespace tapelens::record
