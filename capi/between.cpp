#include "capi/between.h"

#include <string>

#include "analyzer/model/attribution.h"
#include "analyzer/report/categories.h"

namespace tapelens::capi {

using Json = nlohmann::json;

Json peaks_between(const tables::Part& part, model::Interval when, peak::By by, size_t groups) {
  Json all = Json::array();
  const model::Text& text = part.text();
  for (const peak::DevicePeak& device : part.analysis().devices()) {
    const peak::Timeline& timeline = part.timeline(device.device);
    const auto most = timeline.largest(when);
    Json held = Json::array();
    if (groups > 0) {
      const peak::PeakSet set = peak::peak_set(part.process(), text, device.device, most.when);
      for (const peak::AllocationGroup& group : peak::groups(part.process(), text, part.analysis().steps(), set, by)) {
        if (held.size() == groups) break;
        const peak::Member& biggest = set.members[group.biggest];
        const model::FrameId frame = own_frame(text, stack_of(part.process(), text, biggest.allocation));
        held.push_back({{"key", group.key},
                        {"label", report::group_text(group.key)},
                        {"bytes", group.bytes.value},
                        {"allocations", group.allocations},
                        {"source", frame ? peak::frame_text(text, frame) : std::string()}});
      }
    }
    all.push_back({{"device", text.string(text.device_name[device.device])},
                   {"begin_live_bytes", timeline.largest({when.begin, when.begin}).bytes.value},
                   {"peak_bytes", most.bytes.value},
                   {"peak_time_ns", most.when.time.ns},
                   {"groups", std::move(held)}});
  }
  return all;
}

}  // namespace tapelens::capi
