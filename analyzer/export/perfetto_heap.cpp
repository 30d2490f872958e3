#include "analyzer/export/perfetto_heap.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/export/packets.h"
#include "analyzer/model/attribution.h"
#include "analyzer/peak/grouping.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/keys.h"

namespace tapelens::exporting {
namespace {

// The frames and stacks. Readers know a frame by its name, file and line, and a stack by its frames, so equal ones have
// one number.
class Stacks {
 public:
  Stacks(const ExportedProcesses& processes, PacketSequence& out) : processes_(processes), out_(out) {}

  uint64_t place(FrameId id) {
    const auto [at, is_new] = places_.try_emplace(id.value);
    if (is_new) {
      const Text& text = processes_.text();
      const std::string file(processes_.names()[text.frame_file[id]]);
      at->second = frame(processes_.names().source(id), file, text.frame_line[id]);
    }
    return at->second;
  }
  // A frame that is not a place in a file: a device, an operator or a category.
  uint64_t named(std::string_view name) { return frame(std::string(name), "", 0); }
  // The frames, the outermost first.
  uint64_t stack(const std::vector<uint64_t>& frames) {
    const auto [at, is_new] = stacks_.try_emplace(frames);
    if (!is_new) return at->second;
    auto* entry = data().add_callstacks();
    entry->set_iid(++last_);
    for (const uint64_t frame : frames) entry->add_frame_ids(frame);
    return at->second = last_;
  }

 private:
  perfetto::InternedData& data() { return *out_.packet().mutable_interned_data(); }

  uint64_t frame(const std::string& name, const std::string& file, uint32_t line) {
    const auto [at, is_new] = frames_.try_emplace({name, file, line});
    if (!is_new) return at->second;
    const uint64_t mapping = mapping_of(file);
    auto* text = data().add_function_names();
    text->set_iid(++last_);
    text->set_str(name);
    auto* entry = data().add_frames();
    entry->set_iid(last_);
    entry->set_function_name_id(last_);
    entry->set_mapping_id(mapping);
    entry->set_rel_pc(line);
    return at->second = last_;
  }

  uint64_t mapping_of(const std::string& file) {
    const auto [at, is_new] = mappings_.try_emplace(file);
    if (!is_new) return at->second;
    auto* path = data().add_mapping_paths();
    path->set_iid(++last_);
    path->set_str(file);
    auto* entry = data().add_mappings();
    entry->set_iid(last_);
    entry->add_path_string_ids(last_);
    return at->second = last_;
  }

  const ExportedProcesses& processes_;
  PacketSequence& out_;
  std::unordered_map<uint32_t, uint64_t> places_;
  std::unordered_map<std::string, uint64_t> mappings_;
  std::map<std::tuple<std::string, std::string, uint32_t>, uint64_t> frames_;
  std::map<std::vector<uint64_t>, uint64_t> stacks_;
  uint64_t last_ = 0;  // last assigned number
};

class HeapProfile {
 public:
  HeapProfile(const ExportedProcesses& processes, const ExportedProcess& exported, DeviceId device, uint32_t sequence,
              ByteSink& sink)
      : processes_(processes),
        exported_(exported),
        p_(exported.process),
        timeline_(exported.of->device(device).analysis().timeline()),
        device_(processes.names()[processes.text().device_name[device]]),
        category_(peak::group(p_, processes.text(), {}, {}, peak::By::category).of),
        out_(sink, sequence),
        stacks_(processes, out_) {}

  // A dump at the peak of each step and at the end. It has the stacks that changed since the last one.
  void write() {
    uint32_t event = 0;
    for (const uint32_t end : moments()) {
      for (; event < end; ++event) count(event);
      dump(timeline_.time_of(end - 1));
    }
  }

 private:
  struct Sum {
    uint64_t stack = 0, allocated = 0, freed = 0, allocations = 0, frees = 0;
    bool is_changed = false;
  };
  using Key = std::tuple<uint32_t, uint32_t, uint8_t>;  // stack, operator, category

  // Numbers of events: after so many of them the most is alive in a step.
  std::vector<uint32_t> moments() const {
    std::vector<uint32_t> all;
    for (const peak::StepMemory& step : peak::step_memory(exported_.analysis, timeline_)) {
      all.push_back(
          timeline_.most_after(timeline_.first_at_or_after(step.begin), timeline_.first_at_or_after(step.end)));
    }
    all.push_back(timeline_.events());
    std::ranges::sort(all);
    const auto repeated = std::ranges::unique(all);
    all.erase(repeated.begin(), repeated.end());
    if (!all.empty() && all.front() == 0) all.erase(all.begin());
    return all;
  }

  void count(uint32_t event) {
    const AllocationId id = timeline_.allocation_of(event);
    const auto bytes = static_cast<uint64_t>(p_.allocations.bytes[id].value);
    Sum& sum = sum_of(id);
    if (timeline_.is_allocation(event)) {
      sum.allocated += bytes;
      ++sum.allocations;
    } else {
      sum.freed += bytes;
      ++sum.frees;
    }
    if (!sum.is_changed) changed_.push_back(&sum);
    sum.is_changed = true;
  }

  Sum& sum_of(AllocationId id) {
    const StackId stack = stack_of(p_, processes_.text(), id);
    const StringId op = called_name_of(p_, processes_.text(), id);
    const uint8_t category = category_[id.value];
    const auto [known, is_new] = sum_of_.try_emplace({stack.value, op.value, category});
    if (is_new) {
      const uint64_t number = stack_number(stack, op, category);
      known->second = &sums_.try_emplace(number, Sum{.stack = number}).first->second;
    }
    return *known->second;
  }

  // The device comes first, because readers do not distinguish equal stacks of two heaps of a process.
  uint64_t stack_number(StackId stack, StringId op, uint8_t category) {
    const Text& text = processes_.text();
    std::vector<uint64_t> frames{stacks_.named(device_)};
    const std::vector<FrameId> places = program_frames(text, stack);
    for (const FrameId place : places) frames.push_back(stacks_.place(place));
    if (places.empty())
      frames.push_back(stacks_.named(text.stack(stack).empty() ? peak::kNoStack : peak::kOtherFrames));
    frames.push_back(stacks_.named(op ? processes_.names()[op] : kNoOperator));
    frames.push_back(stacks_.named(peak::category_name(static_cast<peak::HolderKind>(category))));
    return stacks_.stack(frames);
  }

  void dump(Time time) {
    auto& packet = out_.packet();
    packet.set_timestamp(static_cast<uint64_t>(time.ns));
    packet.mutable_profile_packet()->set_index(index_++);
    auto& heap = *packet.mutable_profile_packet()->add_process_dumps();
    heap.set_pid(p_.summary.pid);
    heap.set_timestamp(static_cast<uint64_t>(time.ns));
    heap.set_heap_name(device_);
    heap.set_sampling_interval_bytes(1);
    for (Sum* sum : changed_) {
      auto* sample = heap.add_samples();
      sample->set_callstack_id(sum->stack);
      sample->set_self_allocated(sum->allocated);
      sample->set_self_freed(sum->freed);
      sample->set_alloc_count(sum->allocations);
      sample->set_free_count(sum->frees);
      sum->is_changed = false;
    }
    changed_.clear();
    out_.put();
  }

  const ExportedProcesses& processes_;
  const ExportedProcess& exported_;
  const Process& p_;
  const peak::Timeline& timeline_;
  const std::string device_;
  const std::vector<uint8_t> category_;  // by allocation
  PacketSequence out_;
  Stacks stacks_;
  std::map<uint64_t, Sum> sums_;  // by the number of the stack
  std::map<Key, Sum*> sum_of_;
  std::vector<Sum*> changed_;  // since the last dump, in the order of their first event
  uint64_t index_ = 0;
};

}  // namespace

void write_heap_profile(const ExportedProcesses& processes, const ExportedProcess& exported, DeviceId device,
                        uint32_t sequence, ByteSink& sink) {
  HeapProfile(processes, exported, device, sequence, sink).write();
}

}  // namespace tapelens::exporting
