// The threads of a process as Perfetto slices: nested module calls, evaluations of nodes and operators. Also the saves,
// with a flow from each to its release.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/export/exported_processes.h"
#include "analyzer/export/packets.h"
#include "analyzer/model/load.h"

namespace tapelens::exporting {

// The track numbers of a process, which has its own range.
struct ProcessTracks {
  trace::ProcessIndex process;

  TrackId of_process() const { return at(1); }
  TrackId releases() const { return at(2); }
  TrackId steps() const { return at(3); }
  TrackId phases() const { return at(4); }
  TrackId thread(ThreadId thread) const { return at(0x10000 + uint64_t{thread.value}); }
  TrackId range(uint32_t number) const { return at(0x1000000 + uint64_t{number}); }
  TrackId counter(DeviceId device, uint8_t number) const { return at(0x2000 + 64 * device.value + number); }
  uint64_t flow(SaveId save) const { return at(save.value).uuid; }

 private:
  TrackId at(uint64_t number) const { return {((uint64_t{process.value} + 1) << 32) + number}; }
};

class ThreadSlices {
 public:
  ThreadSlices(ExportedProcesses& processes, const ExportedProcess& exported, const ProcessTracks& tracks,
               Packets& out);

  uint64_t rows() const;
  void write(Counted& counted);

 private:
  enum class Kind : uint8_t { module, evaluation, op };
  struct Slice {
    Kind kind{};
    uint32_t row = 0;
    ThreadId thread;
    Time begin, end;
  };
  struct Thread {
    bool is_named = false;
    std::vector<Slice> open;  // the innermost last
  };

  Slice slice_of(Kind kind, uint32_t row) const;
  bool is_around(const Slice& outer, const Slice& inner) const;
  TrackId track_of(ThreadId thread);
  void open(Slice slice);
  void close_to(ThreadId thread, size_t depth);
  void describe(const Slice& slice);
  void note_place(ModuleId module, StackId stack);
  void note_string(DebugAnnotation note, StringId string);
  void save(SaveId id);
  void release(SaveId id);
  uint64_t name_of_save(NameOf kind, std::string_view prefix, NodeId node, StringId field);

  ExportedProcesses& processes_;
  const ExportedProcess& exported_;
  const ProcessTracks& tracks_;
  Packets& out_;
  const Process& p_;
  const Threads threads_of_;
  std::vector<Thread> threads_;
  std::vector<int64_t> allocated_;       // by operator, without inner operators
  std::vector<uint32_t> evaluation_of_;  // by node: the last evaluation
  bool has_releases_ = false;            // the track of releases exists
};

}  // namespace tapelens::exporting
