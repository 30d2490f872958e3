#include "analyzer/peak/out_of_memory.h"

#include <unordered_map>

#include "analyzer/model/attribution.h"
#include "analyzer/model/words.h"
#include "analyzer/peak/device_memory.h"
#include "analyzer/peak/groups.h"

namespace tapelens::peak {

std::string out_of_memory_text(const OutOfMemory& full) {
  const std::string where = !full.source.empty() ? full.source : full.op;
  return full.device + " had no room for " + model::bytes_text(full.bytes) +
         (where.empty() ? "" : ", " + where + (full.module.empty() ? "" : " (" + full.module + ")"));
}

std::vector<OutOfMemory> out_of_memory(const model::Process& p, const model::Text& text) {
  std::vector<OutOfMemory> out;
  const model::OutOfMemory& o = p.out_of_memory;
  struct Holes {
    std::vector<model::Bytes> all;
    size_t next = 0;
  };
  std::unordered_map<uint32_t, Holes> holes;  // by device
  for (const model::OutOfMemoryId row : o.ids()) {
    OutOfMemory one;
    one.device = text.string(text.device_name[o.device[row]]);
    one.time = o.time[row];
    one.bytes = o.bytes[row];
    one.allocated = o.allocated[row];
    one.reserved = o.reserved[row];
    if (o.free[row] != UINT64_MAX) one.free = model::Bytes{static_cast<int64_t>(o.free[row])};
    const auto [of_device, is_first] = holes.try_emplace(o.device[row].value);
    if (is_first) of_device->second.all = largest_holes_out_of_memory(p, o.device[row]);
    one.largest_hole = of_device->second.all[of_device->second.next++];
    one.op = text.string(p.operators.name[o.op[row]]);
    one.module = text.string(text.module_path[model::module_of(p, row)]);
    const model::StackId stack = model::stack_of(p, text, row);
    if (const model::FrameId frame = source_frame(text, stack)) one.source = frame_text(text, frame);
    one.stack = frames_of(text, stack);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace tapelens::peak
