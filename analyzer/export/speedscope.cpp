// The format of speedscope (https://www.speedscope.app): two profiles of each device, in bytes and by allocating stack:
// the allocations alive at the peak, and all allocations.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/export/export.h"
#include "analyzer/model/attribution.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/keys.h"
#include "analyzer/text/escape.h"

namespace tapelens::exporting {
namespace {

// A JSON string; the text is printable already.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The frames, which all profiles refer to by number.
class Frames {
 public:
  explicit Frames(const ExportedProcesses& processes) : processes_(processes) {}

  const std::vector<uint32_t>& stack(StackId id) {
    const auto [at, is_new] = stacks_.try_emplace(id.value);
    if (!is_new) return at->second;
    const Text& text = processes_.text();
    for (const FrameId frame : program_frames(text, id)) at->second.push_back(of(frame));
    if (at->second.empty()) at->second.push_back(named(text.stack(id).empty() ? peak::kNoStack : peak::kOtherFrames));
    return at->second;
  }
  // A frame that is not a place in a file: an operator or a holder.
  uint32_t named(std::string_view name) {
    const auto [at, is_new] = named_.try_emplace(std::string(name), count_);
    if (is_new) add("{\"name\":" + json_text(name) + "}");
    return at->second;
  }
  const std::string& json() const { return json_; }

 private:
  uint32_t of(FrameId frame) {
    const auto [at, is_new] = frames_.try_emplace(frame.value, count_);
    if (is_new) {
      const Text& text = processes_.text();
      const Names& names = processes_.names();
      std::string one = "{\"name\":" + json_text(names[text.frame_function[frame]]) +
                        ",\"file\":" + json_text(names[text.frame_file[frame]]);
      if (const uint32_t line = text.frame_line[frame]) one += ",\"line\":" + std::to_string(line);
      add(one + "}");
    }
    return at->second;
  }
  void add(const std::string& one) {
    json_ += (count_ == 0 ? "" : ",\n") + one;
    ++count_;
  }

  const ExportedProcesses& processes_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> stacks_;
  std::unordered_map<uint32_t, uint32_t> frames_;
  std::map<std::string, uint32_t, std::less<>> named_;
  std::string json_;
  uint32_t count_ = 0;
};

// The bytes of one stack, with the operator and the holder below it.
struct Sample {
  StackId stack;
  uint32_t op = 0, holder = UINT32_MAX;  // frames; UINT32_MAX: none
  Bytes bytes;
};

class Speedscope {
 public:
  Speedscope(ExportedProcesses& processes, ByteSink& sink) : processes_(processes), sink_(sink), frames_(processes) {}

  void write() {
    sink_.write("{\"exporter\":" + json_text("Tapelens " + std::string(processes_.wanted().version)) +
                ",\n\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":" +
                json_text(processes_.command()) + ",\n\"activeProfileIndex\":0,\n\"profiles\":[\n");
    const bool are_many = processes_.recording().processes().size() > 1;
    processes_.each([&](const ExportedProcess& exported) {
      for (const DeviceId device : exported.devices) {
        std::string where(processes_.names()[processes_.text().device_name[device]]);
        if (are_many) where += ", pid " + std::to_string(exported.process.summary.pid);
        profile("alive at the peak, " + where, at_peak(exported, device));
        profile("allocated over the run, " + where, allocated(exported, device));
      }
    });
    sink_.write("],\n\"shared\":{\"frames\":[\n" + frames_.json() + "\n]}}\n");
  }

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;

  uint32_t operator_frame(const Process& p, AllocationId id) {
    const StringId name = called_name_of(p, processes_.text(), id);
    return frames_.named(name ? processes_.names()[name] : kNoOperator);
  }

  std::vector<Sample> at_peak(const ExportedProcess& exported, DeviceId device) {
    const Process& p = exported.process;
    const peak::DeviceAnalysis& analysis = exported.of->device(device).analysis();
    const peak::PeakSet& set = analysis.peak();
    peak::Keys keys(p, processes_.text(), exported.analysis.steps(), peak::By::field);
    std::vector<uint64_t> fields;
    for (const peak::Member& member : set.members) {
      fields.push_back(keys.key(member.allocation, peak::main_holder(set.holders_of(member))));
    }
    const auto names = keys.names(fields);
    std::map<Key, Bytes> sums;
    for (size_t i = 0; i < set.members.size(); ++i) {
      const AllocationId id = set.members[i].allocation;
      const uint32_t holder = frames_.named(text::printable(names.at(fields[i])));
      sums[{stack_of(p, processes_.text(), id).value, operator_frame(p, id), holder}] += set.members[i].bytes;
    }
    std::vector<Sample> samples;
    for (const auto& [key, bytes] : sums) {
      samples.push_back({StackId{std::get<0>(key)}, std::get<1>(key), std::get<2>(key), bytes});
    }
    std::ranges::stable_sort(samples, [](const Sample& a, const Sample& b) { return a.bytes > b.bytes; });
    return samples;
  }

  // In the order of each stack's first allocation.
  std::vector<Sample> allocated(const ExportedProcess& exported, DeviceId device) {
    const Process& p = exported.process;
    Counted counted(processes_, exported, p.allocations.rows() * exported.devices.size());
    std::vector<Sample> samples;
    std::unordered_map<uint64_t, size_t> place;
    for (const AllocationId id : p.allocations.ids()) {
      if (p.allocations.device[id] != device || p.allocations.origin[id] != Origin::allocator) continue;
      counted.one();
      const StackId stack = stack_of(p, processes_.text(), id);
      const StringId op = called_name_of(p, processes_.text(), id);
      const auto [at, is_new] = place.try_emplace(uint64_t{stack.value} << 32 | op.value, samples.size());
      if (is_new) samples.push_back({stack, operator_frame(p, id), UINT32_MAX, {}});
      samples[at->second].bytes += p.allocations.bytes[id];
    }
    return samples;
  }

  void profile(const std::string& name, const std::vector<Sample>& samples) {
    Bytes total;
    for (const Sample& sample : samples) total += sample.bytes;
    sink_.write((is_first_ ? "" : ",\n") + std::string("{\"type\":\"sampled\",\"name\":") + json_text(name) +
                ",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":" + std::to_string(total.value) +
                ",\n\"samples\":[");
    is_first_ = false;
    std::string one;
    for (size_t i = 0; i < samples.size(); ++i) {
      one = i == 0 ? "[" : ",[";
      for (const uint32_t frame : frames_.stack(samples[i].stack)) one += std::to_string(frame) + ",";
      one += std::to_string(samples[i].op);
      if (samples[i].holder != UINT32_MAX) one += "," + std::to_string(samples[i].holder);
      sink_.write(one + "]");
    }
    sink_.write("],\n\"weights\":[");
    for (size_t i = 0; i < samples.size(); ++i) {
      sink_.write((i == 0 ? "" : ",") + std::to_string(samples[i].bytes.value));
    }
    sink_.write("]}");
  }

  ExportedProcesses& processes_;
  ByteSink& sink_;
  Frames frames_;
  bool is_first_ = true;
};

bool is_speedscope(std::string_view head) { return head.starts_with("{\"exporter\":\"Tapelens "); }

void write_speedscope(ExportedProcesses& processes, ByteSink& sink) { Speedscope(processes, sink).write(); }

}  // namespace

constinit extern const Format kSpeedscope{"speedscope", ".speedscope.json", "speedscope.app: flame graphs of bytes",
                                          is_speedscope, write_speedscope};

}  // namespace tapelens::exporting
