// PyTorch's memory snapshot (torch.cuda.memory._dump_snapshot), for pytorch.org/memory_viz and
// torch/cuda/_memory_viz.py: the memory events of each device, and its segments at the end.
#include <algorithm>
#include <optional>
#include <vector>

#include "analyzer/export/export.h"
#include "analyzer/export/pickle.h"
#include "analyzer/model/attribution.h"
#include "analyzer/peak/device_events.h"
#include "analyzer/peak/device_memory.h"

namespace tapelens::exporting {
namespace {

using peak::DeviceEvent;

constexpr uint32_t kMostIndex = 255;            // largest index of a device that keeps its own number
constexpr uint64_t kFirstAddress = 0x10000000;  // of memory without recorded addresses
constexpr uint64_t kAlignment = 512;
constexpr int64_t kSmallSegment = int64_t{2} << 20;  // segment size of PyTorch's pool of small blocks

// A value that occurs several times in the file; only the first occurrence is written in full.
class Shared {
 public:
  explicit Shared(size_t count) : number_(count) {}
  template <class Write>
  void write(Pickle& out, uint32_t id, Write value) {
    if (number_[id] != 0) return out.get(number_[id] - 1);
    value();
    number_[id] = out.remember() + 1;
  }

 private:
  std::vector<uint32_t> number_;  // plus 1
};

class Snapshot {
 public:
  Snapshot(ExportedProcesses& processes, const ExportedProcess& exported, ByteSink& sink)
      : processes_(processes),
        exported_(exported),
        p_(exported.process),
        out_(sink),
        stacks_(processes.text().stack_begin.size()),
        frames_(size_t{processes.text().frame_line.rows()} + 1),
        strings_(processes.text().string_begin.size()),
        address_(size_t{p_.allocations.rows()} + 1),
        counted_(processes, exported, uint64_t{p_.allocations.rows()} + p_.frees.rows()) {
    number_devices();
    // If the device does not report addresses, each allocation gets an address that was not used before.
    uint64_t next = kFirstAddress;
    for (const AllocationId id : p_.allocations.ids()) {
      address_[id.value] = next;
      next += (static_cast<uint64_t>(p_.allocations.bytes[id].value) + kAlignment) / kAlignment * kAlignment;
    }
  }

  void write() {
    out_.begin_dict();
    out_.key("exporter");
    out_.text("Tapelens " + std::string(processes_.wanted().version));
    out_.key("command");
    out_.text(processes_.command());
    out_.key("devices");
    out_.begin_list();
    for (const auto& device : device_of_) {
      out_.item();
      out_.text(device ? processes_.names()[processes_.text().device_name[*device]] : "");
    }
    out_.end_list();
    out_.key("allocator_settings");
    out_.begin_dict();
    out_.end_dict();
    out_.key("external_annotations");
    annotations();
    out_.key("device_traces");
    out_.begin_list();
    for (const auto& device : device_of_) {
      out_.item();
      out_.begin_list();
      if (device && exported_.analysis.traits(*device).has_blocks) {
        trace_of_blocks(*device);
      } else if (device) {
        trace_of_allocations(*device);
      }
      out_.end_list();
    }
    out_.end_list();
    out_.key("segments");
    out_.begin_list();
    for (uint32_t index = 0; index < device_of_.size(); ++index) {
      if (device_of_[index]) segments(index, *device_of_[index]);
    }
    out_.end_list();
    out_.end_dict();
    out_.finish();
  }

 private:
  // cuda:1 is at index 1 of the list of devices; devices of other types follow the last CUDA device.
  void number_devices() {
    std::vector<DeviceId> others;
    for (const DeviceId device : exported_.devices) {
      const std::string_view name = processes_.text().string(processes_.text().device_name[device]);
      const std::optional<uint32_t> index = model::device_number(name);
      if (!index || *index > kMostIndex || !exported_.analysis.traits(device).type->is_cuda) {
        others.push_back(device);
        continue;
      }
      if (device_of_.size() <= *index) device_of_.resize(size_t{*index} + 1);
      if (device_of_[*index]) {
        others.push_back(device);
      } else {
        device_of_[*index] = device;
      }
    }
    for (const DeviceId device : others) device_of_.emplace_back(device);
  }

  void annotations() {
    out_.begin_list();
    const auto one = [&](const Step& step, const char* stage, Time time) {
      out_.item();
      out_.begin_dict();
      out_.key("name");
      out_.text("step " + std::to_string(step.index));
      out_.key("stage");
      out_.text(stage);
      out_.key("device");
      out_.number(0);
      microseconds(time);
      out_.end_dict();
    };
    for (const Step& step : exported_.analysis.steps()) {
      one(step, "START", step.when.begin);
      one(step, "END", std::min(step.when.end, p_.duration));
    }
    out_.end_list();
  }

  void microseconds(Time time) {
    out_.key("time_us");
    out_.number(time.ns / 1000);
  }

  void frames_of(StackId stack) {
    out_.key("frames");
    const Text& text = processes_.text();
    stacks_.write(out_, stack.value, [&] {
      out_.begin_list();
      for (const FrameId frame : text.stack(stack)) {
        out_.item();
        frames_.write(out_, frame.value, [&] {
          out_.begin_dict();
          out_.key("filename");
          string(text.frame_file[frame]);
          out_.key("line");
          out_.number(text.frame_line[frame]);
          out_.key("name");
          string(text.frame_function[frame]);
          out_.end_dict();
        });
      }
      out_.end_list();
    });
  }
  void string(StringId id) {
    strings_.write(out_, id.value, [&] { out_.text(processes_.names()[id]); });
  }

  struct Event {
    const char* action;
    uint64_t address = 0;
    Bytes size;
    uint64_t stream = 0;
    Time time;
    StackId stack{};
    uint32_t graph_pool = 0, user_pool = 0;
  };
  void event(const Event& event, const char* address = "addr") {
    out_.item();
    out_.begin_dict();
    out_.key("action");
    out_.key(event.action);
    out_.key(address);
    out_.number_of(event.address);
    out_.key("size");
    out_.number(event.size.value);
    out_.key("stream");
    out_.number_of(event.stream);
    microseconds(event.time);
    out_.key("pool_id");
    out_.pair(event.graph_pool, event.user_pool);
    frames_of(event.stack);
    out_.end_dict();
  }

  StackId stack_of(AllocationId id) const { return model::stack_of(p_, processes_.text(), id); }

  // The events as the device's allocator reports them.
  void trace_of_blocks(DeviceId device) {
    peak::DeviceEvents events(p_, device);
    std::vector<bool> is_asked(size_t{p_.allocations.rows()} + 1);
    const DeviceBlocks& blocks = p_.device_blocks;
    while (const auto next = events.next()) {
      switch (next->kind) {
        case DeviceEvent::Kind::segment:
          segment_event(SegmentEventId{next->row});
          break;
        case DeviceEvent::Kind::out_of_memory: {
          const OutOfMemoryId row{next->row};
          const uint64_t free = p_.out_of_memory.free[row];
          event({"oom", free == UINT64_MAX ? 0 : free, p_.out_of_memory.bytes[row], 0, next->time,
                 model::stack_of(p_, processes_.text(), row)},
                "device_free");
          break;
        }
        default: {
          const AllocationId id{next->row};
          const DeviceBlockId block = events.block_of(id);
          Event one{"alloc",    blocks.address[block], blocks.rounded[block],    blocks.stream[block],
                    next->time, stack_of(id),          blocks.graph_pool[block], blocks.user_pool[block]};
          if (next->kind != DeviceEvent::Kind::allocate && !is_asked[id.value]) {
            is_asked[id.value] = true;
            one.action = "free_requested";
            event(one);
          }
          if (next->kind == DeviceEvent::Kind::free) one.action = "free_completed";
          if (next->kind != DeviceEvent::Kind::request_free) event(one);
          counted_.one();
        }
      }
    }
  }

  void segment_event(SegmentEventId row) {
    const SegmentEvents& s = p_.segment_events;
    const char* action = "segment_alloc";
    switch (s.change[row]) {
      case SegmentChange::allocated:
        break;
      case SegmentChange::freed:
        action = "segment_free";
        break;
      case SegmentChange::mapped:
        action = "segment_map";
        break;
      case SegmentChange::unmapped:
        action = "segment_unmap";
        break;
    }
    event({action, s.address[row], s.bytes[row], s.stream[row], s.time[row], {}, s.graph_pool[row], s.user_pool[row]});
  }

  // If a device reports no blocks, each allocation is a block in a separate segment, as with malloc.
  void trace_of_allocations(DeviceId device) {
    const peak::DeviceAnalysis& analysis = exported_.of->device(device).analysis();
    const peak::Timeline& timeline = analysis.timeline();
    int64_t before = 0;
    for (uint32_t at = 0; at < timeline.events(); ++at) {
      const AllocationId id = timeline.allocation_of(at);
      const int64_t after = timeline.live_after(at).value;
      Event one{"segment_alloc", address_[id.value], p_.allocations.bytes[id], 0, timeline.time_of(at), stack_of(id)};
      if (after > before) {
        event(one);
        one.action = "alloc";
        event(one);
      } else if (after < before) {  // allocations without bytes are not written
        one.action = "free_requested";
        event(one);
        one.action = "free_completed";
        event(one);
        one.action = "segment_free";
        event(one);
      }
      before = after;
      counted_.one();
    }
  }

  // ---- the state at the end

  void segments(uint32_t index, DeviceId device) {
    const peak::Moment end = peak::moment_at(p_, p_.duration);
    if (exported_.analysis.traits(device).has_segments) {
      for (const peak::SegmentAt& one : peak::segments_at(p_, device, end)) segment(index, one);
      return;
    }
    for (const AllocationId id : p_.allocations.ids()) {
      const Bytes bytes = p_.allocations.bytes[id];
      if (p_.allocations.device[id] != device || p_.allocations.origin[id] != Origin::allocator ||
          p_.allocations.free[id] || bytes.value == 0) {
        continue;
      }
      const DeviceBlockId block = p_.device_blocks.of(id);
      const uint64_t address = block ? p_.device_blocks.address[block] : address_[id.value];
      const Bytes size = block ? p_.device_blocks.rounded[block] : bytes;
      segment(
          index,
          {address, size, block ? p_.device_blocks.stream[block] : 0, 0, 0, false, {{id, address, size}}, size, {}});
    }
  }

  void segment(uint32_t index, const peak::SegmentAt& segment) {
    Bytes allocated, active, requested;
    for (const peak::BlockAt& block : segment.blocks) {
      active += block.rounded;
      if (!block.waits) allocated += block.rounded;
      requested += p_.allocations.bytes[block.allocation];
    }
    out_.item();
    out_.begin_dict();
    out_.key("device");
    out_.number(index);
    out_.key("address");
    out_.number_of(segment.address);
    out_.key("total_size");
    out_.number(segment.bytes.value);
    out_.key("allocated_size");
    out_.number(allocated.value);
    out_.key("active_size");
    out_.number(active.value);
    out_.key("requested_size");
    out_.number(requested.value);
    out_.key("stream");
    out_.number_of(segment.stream);
    out_.key("segment_type");
    out_.key(!segment.is_expandable && segment.bytes.value <= kSmallSegment ? "small" : "large");
    out_.key("segment_pool_id");
    out_.pair(segment.graph_pool, segment.user_pool);
    out_.key("is_expandable");
    out_.boolean(segment.is_expandable);
    frames_of({});
    out_.key("blocks");
    out_.begin_list();
    uint64_t at = segment.address;
    const uint64_t past = segment.address + static_cast<uint64_t>(segment.bytes.value);
    for (const peak::BlockAt& one : segment.blocks) {
      if (one.address > at) block(at, one.address - at, nullptr);
      block(one.address, static_cast<uint64_t>(one.rounded.value), &one);
      at = one.address + static_cast<uint64_t>(one.rounded.value);
    }
    if (past > at) block(at, past - at, nullptr);
    out_.end_list();
    out_.end_dict();
  }

  void block(uint64_t address, uint64_t size, const peak::BlockAt* used) {
    out_.item();
    out_.begin_dict();
    out_.key("address");
    out_.number_of(address);
    out_.key("size");
    out_.number_of(size);
    out_.key("requested_size");
    out_.number(used != nullptr ? p_.allocations.bytes[used->allocation].value : 0);
    out_.key("state");
    out_.key(used == nullptr ? "inactive" : used->waits ? "active_pending_free" : "active_allocated");
    frames_of(used != nullptr ? stack_of(used->allocation) : StackId{});
    out_.end_dict();
  }

  ExportedProcesses& processes_;
  const ExportedProcess& exported_;
  const Process& p_;
  Pickle out_;
  Shared stacks_, frames_, strings_;
  std::vector<uint64_t> address_;                   // by allocation, if its real one is unknown
  std::vector<std::optional<DeviceId>> device_of_;  // by its number in the snapshot
  Counted counted_;
};

// Recognizes the first key of the dictionary and its value.
bool is_snapshot(std::string_view head) {
  const size_t key = head.find("exporter"), value = head.find("Tapelens ");
  return head.starts_with("\x80\x04") && key < 16 && value != std::string_view::npos && value < 48 && key < value;
}

void write_snapshot(ExportedProcesses& processes, ByteSink& sink) {
  Snapshot(processes, *processes.largest(), sink).write();
}

}  // namespace

constinit extern const Format kSnapshot{"snapshot", ".pickle", "PyTorch's memory_viz: the largest process", is_snapshot,
                                        write_snapshot};

}  // namespace tapelens::exporting
