#include "analyzer/snapshot/maker.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "analyzer/model/text.h"
#include "analyzer/pickle/window.h"
#include "analyzer/snapshot/stack_facts.h"

namespace tapelens::snapshot {

using pickle::Kind;
using pickle::Malformed;
using pickle::Value;

namespace {

// In the order of Key.
constexpr std::array<std::string_view, kKeys> kKeyTexts = {"action",
                                                           "addr",
                                                           "address",
                                                           "allocator_settings",
                                                           "blocks",
                                                           "compile_context",
                                                           "device",
                                                           "device_free",
                                                           "device_traces",
                                                           "external_annotations",
                                                           "filename",
                                                           "forward_frames",
                                                           "frames",
                                                           "host_segments",
                                                           "host_traces",
                                                           "is_expandable",
                                                           "line",
                                                           "name",
                                                           "pool_id",
                                                           "requested_size",
                                                           "segment_pool_id",
                                                           "segments",
                                                           "PYTORCH_CUDA_ALLOC_CONF",
                                                           "size",
                                                           "stage",
                                                           "state",
                                                           "stream",
                                                           "time_us",
                                                           "total_size",
                                                           "user_metadata"};

// They follow the keys, so that the number of each word is known. The first words are actions, in the order of Action.
constexpr std::string_view kWords[] = {"alloc",
                                       "free_requested",
                                       "free_completed",
                                       "segment_alloc",
                                       "segment_free",
                                       "segment_map",
                                       "segment_unmap",
                                       "snapshot",
                                       "oom",
                                       "annotate",
                                       "active_allocated",
                                       "active_pending_free",
                                       "active_awaiting_free",
                                       "START",
                                       "END",
                                       "N/A"};
enum Word : uint64_t {
  kFirstAction = kKeys,
  kActiveAllocated = kFirstAction + static_cast<uint64_t>(Action::unknown),
  kActivePendingFree,
  kActiveAwaitingFree,
  kStart,
  kEnd,
  kNotApplicable,
};

constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";
constexpr uint32_t kFrameKindBit = 32;  // position of the FrameKind in a frame's payload

// No snapshot has larger sizes and times. The limits also keep sums within 63 bits.
constexpr uint64_t kMostBytes = uint64_t{1} << 52;
constexpr int64_t kLatest = int64_t{1} << 53;  // microseconds: 285 years

}  // namespace

// The values of a dict, by the keys that the maker reads.
class SnapshotMaker::Fields {
 public:
  explicit Fields(std::span<const Value> pairs) {
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (pairs[i].kind == Kind::text && pairs[i].payload < kKeys) values_[pairs[i].payload] = &pairs[i + 1];
    }
  }
  const Value* operator[](Key key) const { return values_[static_cast<size_t>(key)]; }
  bool has(Key key) const { return (*this)[key] != nullptr; }

  std::optional<uint64_t> text(Key key) const {
    const Value* value = (*this)[key];
    if (value == nullptr || value->kind != Kind::text) return std::nullopt;
    return value->payload;
  }
  // The C++ pickler writes addresses above 2^63 as negative numbers: the same bits.
  uint64_t address(Key key) const { return integer(key).payload; }
  uint64_t bytes(Key key) const {
    const Value& value = integer(key);
    if (value.is_negative || value.payload > kMostBytes) wrong(key, "is not a size");
    return value.payload;
  }
  // No byte of a region may be after the last 64-bit address.
  static void check_region(uint64_t address, uint64_t bytes) {
    if (address + bytes < address) throw Malformed{0, "memory that ends behind the last address"};
  }
  int64_t number(Key key, int64_t otherwise) const {
    if (!has(key)) return otherwise;
    const Value& value = integer(key);
    if (!value.is_negative && value.payload > INT64_MAX) wrong(key, "is too large");
    return static_cast<int64_t>(value.payload);
  }
  // 0: unknown. CPython uses -1 for generated code; some writers turn that into 2^64 - 1.
  uint32_t line() const {
    const Value* value = (*this)[Key::line];
    const bool is_line =
        value != nullptr && value->kind == Kind::integer && !value->is_negative && value->payload <= UINT32_MAX;
    return is_line ? static_cast<uint32_t>(value->payload) : 0;
  }
  int64_t time() const {
    const int64_t time = number(Key::time_us, 0);
    if (time < 0 || time > kLatest) wrong(Key::time_us, "is not a time");
    return time;
  }
  bool is_true(Key key) const {
    const Value* value = (*this)[key];
    return value != nullptr && (value->kind == Kind::boolean || value->kind == Kind::integer) && value->payload != 0;
  }
  PoolId pool(Key key, const std::vector<PoolId>& pools) const {
    const Value* value = (*this)[key];
    return value != nullptr && is(*value, Made::pool) ? pools[value->payload] : PoolId{};
  }

 private:
  const Value& integer(Key key) const {
    const Value* value = (*this)[key];
    if (value == nullptr) wrong(key, "is missing");
    if (value->kind != Kind::integer) wrong(key, "is not an integer");
    return *value;
  }
  [[noreturn]] static void wrong(Key key, const char* what) {
    throw Malformed{0, "'" + std::string(kKeyTexts[static_cast<size_t>(key)]) + "' " + what};
  }

  std::array<const Value*, kKeys> values_{};
};

SnapshotMaker::SnapshotMaker(Snapshot& snapshot, trace::SharedTables& shared) : snapshot_(snapshot), shared_(shared) {
  for (const std::string_view key : kKeyTexts) text(key);
  for (const std::string_view word : kWords) text(word);
  streams_[0] = 0;
  pools_[PoolId{}] = 0;
  notes_[Note{}] = 0;
  calls_[Call{}] = 0;
}

bool SnapshotMaker::is_snapshot(const Value& value) { return is(value, Made::snapshot); }

uint64_t SnapshotMaker::text(std::string_view text) {
  if (const auto known = text_numbers_.find(text); known != text_numbers_.end()) return known->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.push_back(&text_numbers_.emplace(text, number).first->first);
  shared_texts_.emplace_back();
  return number;
}

StringId SnapshotMaker::shared_text(uint64_t text) {
  StringId& id = shared_texts_[text];
  if (!id) id = shared_.string(*texts_[text]);
  return id;
}

// ---- lists ------------------------------------------------------------------------------------------------------

SnapshotMaker::Made SnapshotMaker::list_of(Made item) {
  switch (item) {
    case Made::event:
      return Made::events;
    case Made::block:
      return Made::blocks;
    case Made::segment:
      return Made::segments;
    case Made::annotation:
      return Made::annotations;
    default:
      return Made::other;
  }
}

Value SnapshotMaker::list(const Value& before, std::span<const Value> items) {
  if (items.empty()) return before;
  const Value& first = items.front();
  if (is(first, Made::frame)) return make_stack(before, items);
  if (first.kind == Kind::empty_list || is(first, Made::events)) return make_traces(before, items);
  const Made of = first.kind == Kind::made ? list_of(static_cast<Made>(first.what)) : Made::other;
  return of == Made::other ? made(Made::other, 0) : make_list(of, before, items);
}

// The items are consecutive rows, because they were made one after another.
Value SnapshotMaker::make_list(Made of, const Value& before, std::span<const Value> items) {
  const bool is_first = before.kind == Kind::empty_list;
  if (!is_first && !is(before, of)) throw Malformed{0, "a list of different things"};
  const uint64_t place = is_first ? lists_.size() : before.payload;
  if (is_first) lists_.push_back({{items.front().payload, 0}, false});
  IndexRange& range = lists_[place].range;
  for (const Value& item : items) {
    if (item.kind != Kind::made || list_of(static_cast<Made>(item.what)) != of)
      throw Malformed{0, "a list of different things"};
    if (item.payload != range.first + range.count)
      throw Malformed{0, "a list that has an entry twice, or in another order than it was written"};
    ++range.count;
  }
  return made(of, place);
}

Value SnapshotMaker::make_traces(const Value& before, std::span<const Value> items) {
  const bool is_first = before.kind == Kind::empty_list;
  if (!is_first && !is(before, Made::traces)) return made(Made::other, 0);
  const uint64_t place = is_first ? traces_.size() : before.payload;
  if (is_first) traces_.emplace_back();
  for (const Value& item : items) {
    if (item.kind == Kind::empty_list) {
      traces_[place].emplace_back();
    } else {
      traces_[place].push_back(take(&item, Made::events));
    }
  }
  return made(Made::traces, place);
}

// The rows of a list. Each list has one owner. A missing list counts as empty.
IndexRange SnapshotMaker::take(const Value* list, Made what) {
  if (list == nullptr || list->kind == Kind::empty_list || list->kind == Kind::none) return {};
  if (!is(*list, what)) throw Malformed{0, "a list that holds something else than its key says"};
  List& of = lists_[list->payload];
  if (std::exchange(of.is_used, true)) throw Malformed{0, "a list that is in two places"};
  return of.range;
}

Value SnapshotMaker::make_stack(const Value& before, std::span<const Value> items) {
  if (before.kind == Kind::empty_list) {
    intern_open_stack();
    open_stack_.clear();
    open_facts_ = {};
    has_open_stack_ = true;
    stacks_.emplace_back();
  } else if (!is(before, Made::stack)) {
    return made(Made::other, 0);
  } else if (!has_open_stack_ || before.payload != stacks_.size() - 1) {
    throw Malformed{0, "a list of frames that goes on after another began"};
  }
  for (const Value& item : items) {
    if (!is(item, Made::frame)) {
      has_open_stack_ = false;
      return made(Made::other, 0);
    }
    const trace::FrameId frame{static_cast<uint32_t>(item.payload)};
    open_stack_.add(frame, static_cast<FrameKind>(item.payload >> kFrameKindBit));
    const FrameNote& note = frame_notes_[frame.value];
    open_facts_.add(note.sign, note.name, note.accumulates);
  }
  return made(Made::stack, stacks_.size() - 1);
}

void SnapshotMaker::intern_open_stack() {
  if (!std::exchange(has_open_stack_, false)) return;
  stacks_.back() = call_number({shared_.stack(open_stack_.kept()), open_facts_.facts()});
  snapshot_.cut_stacks += open_stack_.is_cut();
}

// ---- dicts ------------------------------------------------------------------------------------------------------

Value SnapshotMaker::dict(const Value& before, std::span<const Value> pairs) {
  if (pairs.empty()) return before;
  if (before.kind != Kind::empty_dict && !is(before, Made::other))
    throw Malformed{0, "a dict that goes on after it was whole"};
  const Fields fields(pairs);
  if (fields.has(Key::action)) return make_event(fields);
  if (fields.has(Key::segments) || fields.has(Key::device_traces)) return make_snapshot(fields);
  if (fields.has(Key::blocks)) return make_segment(fields);
  if (fields.has(Key::state) && fields.has(Key::size)) return make_block(fields);
  if (fields.has(Key::filename) && fields.has(Key::line)) return make_frame(fields);
  if (fields.has(Key::stage) && fields.has(Key::time_us)) return make_annotation(fields);
  if (const auto text = fields.text(Key::settings)) return made(Made::settings, *text);
  return made(Made::other, 0);
}

Value SnapshotMaker::tuple(std::span<const Value> items) {
  const auto fits = [](const Value& value) {
    return value.kind == Kind::integer && !value.is_negative && value.payload <= UINT32_MAX;
  };
  if (items.size() != 2 || !fits(items[0]) || !fits(items[1])) return made(Made::other, 0);
  return made(Made::pool,
              pool_place({static_cast<uint32_t>(items[0].payload), static_cast<uint32_t>(items[1].payload)}));
}

FrameKind SnapshotMaker::kind_of(std::optional<uint64_t> file, std::optional<uint64_t> name) const {
  if (!file) return FrameKind::library;
  if (model::is_python_frame(*texts_[*file])) return FrameKind::python;
  const bool is_library = name && is_native_library_frame(*texts_[*file], *texts_[*name]);
  return is_library ? FrameKind::library : FrameKind::native;
}

void SnapshotMaker::note_frame(trace::FrameId frame, std::optional<uint64_t> file, std::optional<uint64_t> name) {
  if (frame.value >= frame_notes_.size()) frame_notes_.resize(frame.value + 1);
  FrameNote& note = frame_notes_[frame.value];
  if (note.is_known || !file || !name) return;
  const std::string& function = *texts_[*name];
  note = {true, sign_of(*texts_[*file], function), {}, false};
  const std::string said = note.sign == FrameSign::op     ? operator_of(function)
                           : note.sign == FrameSign::node ? node_of(function)
                                                          : std::string();
  if (!said.empty()) note.name = shared_.string(said);
  note.accumulates = said == kAccumulateGrad;
}

Value SnapshotMaker::make_frame(const Fields& fields) {
  const auto file = fields.text(Key::filename), name = fields.text(Key::name);
  const uint32_t known = file && has_line(*texts_[*file]) ? fields.line() : 0;
  const trace::FrameId frame =
      shared_.frame(file ? shared_text(*file) : StringId{}, name ? shared_text(*name) : StringId{}, known);
  note_frame(frame, file, name);
  return made(Made::frame, frame.value | static_cast<uint64_t>(kind_of(file, name)) << kFrameKindBit);
}

uint32_t SnapshotMaker::call_number(const Call& call) {
  const auto [at, is_new] = calls_.try_emplace(call, static_cast<uint32_t>(snapshot_.calls.size()));
  if (is_new) snapshot_.calls.push_back(call);
  return at->second;
}

// A backward has no Python frames. Newer versions of PyTorch add the frames of the forward.
uint32_t SnapshotMaker::call_of(const Fields& fields) {
  for (const Key key : {Key::frames, Key::forward_frames}) {
    const Value* value = fields[key];
    if (value == nullptr || !is(*value, Made::stack)) continue;
    if (value->payload == stacks_.size() - 1) intern_open_stack();
    const uint32_t call = stacks_[value->payload];
    if (key == Key::frames) return call;
    StackFacts facts;
    facts.phase = trace::ImportedPhase::backward;
    return call_number({snapshot_.calls[call].stack, facts});
  }
  return 0;
}

Action SnapshotMaker::action_of(uint64_t text) const {
  const bool is_known = text >= kFirstAction && text < kFirstAction + static_cast<uint64_t>(Action::unknown);
  return is_known ? static_cast<Action>(text - kFirstAction) : Action::unknown;
}

uint32_t SnapshotMaker::stream_of(uint64_t stream) {
  const auto [at, is_new] = streams_.try_emplace(stream, static_cast<uint32_t>(snapshot_.streams.size()));
  if (is_new) snapshot_.streams.push_back(stream);
  return at->second;
}

uint32_t SnapshotMaker::pool_place(const PoolId& pool) {
  const auto [at, is_new] = pools_.try_emplace(pool, static_cast<uint32_t>(snapshot_.pools.size()));
  if (is_new) snapshot_.pools.push_back(pool);
  return at->second;
}

uint32_t SnapshotMaker::note_of(const Fields& fields) {
  const auto said = [&](Key key) {
    const auto text = fields.text(key);
    return text && *text != kNotApplicable ? shared_text(*text) : StringId{};
  };
  const Note note{said(Key::compile_context), said(Key::user_metadata)};
  if (note == Note{}) return 0;
  const auto [at, is_new] = notes_.try_emplace(note, static_cast<uint32_t>(snapshot_.notes.size()));
  if (is_new) snapshot_.notes.push_back(note);
  return at->second;
}

Value SnapshotMaker::make_event(const Fields& fields) {
  const auto action = fields.text(Key::action);
  if (!action) throw Malformed{0, "an entry whose action is not a text"};
  Event event;
  event.action = action_of(*action);
  if (event.action != Action::unknown) {
    event.address =
        fields.address(event.action == Action::oom && !fields.has(Key::addr) ? Key::device_free : Key::addr);
    event.bytes = fields.bytes(Key::size);
    if (event.action < Action::snapshot) Fields::check_region(event.address, event.bytes);
  }
  event.time_us = fields.time();
  event.call = call_of(fields);
  if (fields.has(Key::stream)) event.stream = stream_of(fields.address(Key::stream));
  event.note = note_of(fields);
  const Value* pool = fields[Key::pool_id];
  if (pool != nullptr && is(*pool, Made::pool)) {
    if (pool->payload > Event::kMostPools) throw Malformed{0, "more memory pools than a snapshot can have"};
    event.pool = static_cast<uint32_t>(pool->payload) & Event::kMostPools;
  }
  snapshot_.events.push(event);
  return made(Made::event, snapshot_.events.size() - 1);
}

Value SnapshotMaker::make_block(const Fields& fields) {
  Block block;
  if (fields.has(Key::address)) block.address = fields.address(Key::address);
  block.bytes = fields.bytes(Key::size);
  block.requested = fields.has(Key::requested_size) ? fields.bytes(Key::requested_size) : block.bytes;
  block.call = call_of(fields);
  const auto state = fields.text(Key::state);
  block.is_pending = state && (*state == kActivePendingFree || *state == kActiveAwaitingFree);
  block.is_active = block.is_pending || (state && *state == kActiveAllocated);
  snapshot_.blocks.push_back(block);
  return made(Made::block, snapshot_.blocks.size() - 1);
}

Value SnapshotMaker::make_segment(const Fields& fields) {
  Segment segment;
  segment.address = fields.address(Key::address);
  segment.bytes = fields.bytes(Key::total_size);
  Fields::check_region(segment.address, segment.bytes);
  if (fields.has(Key::stream)) segment.stream = fields.address(Key::stream);
  segment.device = fields.number(Key::device, 0);
  segment.pool = fields.pool(Key::segment_pool_id, snapshot_.pools);
  segment.is_expandable = fields.is_true(Key::is_expandable);
  segment.blocks = take(fields[Key::blocks], Made::blocks);
  // Older versions do not write addresses of blocks; the blocks of a segment are adjacent.
  uint64_t address = segment.address;
  for (uint64_t i = 0; i < segment.blocks.count; ++i) {
    Block& block = snapshot_.blocks[segment.blocks.first + i];
    if (block.address == 0) block.address = address;
    Fields::check_region(block.address, block.bytes);
    address = block.address + block.bytes;
  }
  snapshot_.segments.push_back(segment);
  return made(Made::segment, snapshot_.segments.size() - 1);
}

Value SnapshotMaker::make_annotation(const Fields& fields) {
  Annotation annotation;
  if (const auto name = fields.text(Key::name)) annotation.name = shared_text(*name);
  annotation.device = fields.number(Key::device, 0);
  annotation.time_us = fields.time();
  const auto stage = fields.text(Key::stage);
  if (stage && *stage == kStart) annotation.stage = Annotation::Stage::begin;
  if (stage && *stage == kEnd) annotation.stage = Annotation::Stage::end;
  snapshot_.annotations.push_back(annotation);
  return made(Made::annotation, snapshot_.annotations.size() - 1);
}

Value SnapshotMaker::make_snapshot(const Fields& fields) {
  if (std::exchange(is_made_, true)) throw Malformed{0, "a snapshot within a snapshot"};
  snapshot_.has_segments = fields.has(Key::segments);
  snapshot_.device_segments = take(fields[Key::segments], Made::segments);
  snapshot_.host_segments = take(fields[Key::host_segments], Made::segments);
  if (snapshot_.device_segments.count + snapshot_.host_segments.count != snapshot_.segments.size() ||
      take(fields[Key::external_annotations], Made::annotations).count != snapshot_.annotations.size()) {
    throw Malformed{0, "segments or annotations that are not part of the snapshot"};
  }
  snapshot_.host_trace = take(fields[Key::host_traces], Made::events);
  uint64_t events = snapshot_.host_trace.count;
  if (const Value* traces = fields[Key::device_traces]; traces != nullptr && traces->kind != Kind::empty_list) {
    if (!is(*traces, Made::traces)) throw Malformed{0, "'device_traces' is not a list of lists of entries"};
    snapshot_.traces = traces_[traces->payload];
    for (const IndexRange& trace : snapshot_.traces) events += trace.count;
  }
  if (events != snapshot_.events.size()) throw Malformed{0, "entries that are in no device's history"};
  if (const Value* settings = fields[Key::allocator_settings]; settings != nullptr && is(*settings, Made::settings))
    snapshot_.settings = *texts_[settings->payload];
  return made(Made::snapshot, 0);
}

}  // namespace tapelens::snapshot
