// Makes a snapshot's rows from the containers of its pickle, each row as soon as its container is complete.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/pickle/machine.h"
#include "analyzer/snapshot/frame_list.h"
#include "analyzer/snapshot/snapshot.h"
#include "trace/seeded_hash.h"

namespace tapelens::snapshot {

// Keys of dicts that become rows. Their texts are in maker.cpp, in this order.
enum class Key : uint8_t {
  action,
  addr,
  address,
  allocator_settings,
  blocks,
  compile_context,
  device,
  device_free,
  device_traces,
  external_annotations,
  filename,
  forward_frames,
  frames,
  host_segments,
  host_traces,
  is_expandable,
  line,
  name,
  pool_id,
  requested_size,
  segment_pool_id,
  segments,
  settings,
  size,
  stage,
  state,
  stream,
  time_us,
  total_size,
  user_metadata,
  count_of_keys,
};
inline constexpr size_t kKeys = static_cast<size_t>(Key::count_of_keys);

class SnapshotMaker : public pickle::Maker {
 public:
  SnapshotMaker(Snapshot& snapshot, trace::SharedTables& shared);

  uint64_t text(std::string_view text) override;
  pickle::Value list(const pickle::Value& before, std::span<const pickle::Value> items) override;
  pickle::Value dict(const pickle::Value& before, std::span<const pickle::Value> pairs) override;
  pickle::Value tuple(std::span<const pickle::Value> items) override;

  // Whether the value is a snapshot. If so, its rows are in the Snapshot.
  static bool is_snapshot(const pickle::Value& value);

 private:
  // Type of a value that this class made. Its `payload` is an index into a list, or an id.
  enum class Made : uint8_t {
    other,  // a value that the maker does not read
    frame,  // FrameId; its FrameKind from bit 32 on
    stack,  // index into stacks_
    event,  // index into Snapshot::events; the next kinds in the same way
    block,
    segment,
    annotation,
    pool,
    settings,
    snapshot,
    events,  // index into lists_; the next kinds in the same way
    blocks,
    segments,
    annotations,
    traces,  // index into traces_
  };
  struct List {
    IndexRange range;
    bool is_used = false;
  };
  class Fields;

  static pickle::Value made(Made what, uint64_t payload) {
    return {.payload = payload, .kind = pickle::Kind::made, .what = static_cast<uint8_t>(what)};
  }
  static bool is(const pickle::Value& value, Made what) {
    return value.kind == pickle::Kind::made && value.what == static_cast<uint8_t>(what);
  }
  static Made list_of(Made item);

  FrameKind kind_of(std::optional<uint64_t> file, std::optional<uint64_t> name) const;
  void note_frame(trace::FrameId frame, std::optional<uint64_t> file, std::optional<uint64_t> name);
  pickle::Value make_frame(const Fields& fields);
  pickle::Value make_stack(const pickle::Value& before, std::span<const pickle::Value> items);
  pickle::Value make_event(const Fields& fields);
  pickle::Value make_block(const Fields& fields);
  pickle::Value make_segment(const Fields& fields);
  pickle::Value make_annotation(const Fields& fields);
  pickle::Value make_snapshot(const Fields& fields);
  pickle::Value make_list(Made of, const pickle::Value& before, std::span<const pickle::Value> items);
  pickle::Value make_traces(const pickle::Value& before, std::span<const pickle::Value> items);

  IndexRange take(const pickle::Value* list, Made what);
  void intern_open_stack();
  uint32_t call_of(const Fields& fields);
  uint32_t call_number(const Call& call);
  uint32_t stream_of(uint64_t stream);
  uint32_t pool_place(const PoolId& pool);
  uint32_t note_of(const Fields& fields);
  StringId shared_text(uint64_t text);
  Action action_of(uint64_t text) const;

  Snapshot& snapshot_;
  trace::SharedTables& shared_;

  std::unordered_map<std::string, uint32_t, trace::SeededHash, std::equal_to<>> text_numbers_;
  std::vector<const std::string*> texts_;
  std::vector<StringId> shared_texts_;  // by text; only texts that rows use
  std::vector<List> lists_;
  std::vector<std::vector<IndexRange>> traces_;
  // A list of frames may grow by one frame at a time. So it is interned only when it is used, or when another begins.
  FrameList open_stack_;    // the last of stacks_, if it is not interned yet
  StackReader open_facts_;  // reads the frames of open_stack_
  bool has_open_stack_ = false;
  std::vector<uint32_t> stacks_;  // in Snapshot::calls
  struct FrameNote {
    bool is_known = false;
    FrameSign sign{};
    StringId name;
    bool accumulates = false;
  };
  std::vector<FrameNote> frame_notes_;  // by FrameId
  std::map<Call, uint32_t> calls_;
  std::map<uint64_t, uint32_t> streams_;
  std::map<PoolId, uint32_t> pools_;
  std::map<Note, uint32_t> notes_;
  bool is_made_ = false;
};

}  // namespace tapelens::snapshot
