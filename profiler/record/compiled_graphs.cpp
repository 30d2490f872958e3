// See compiled_graphs.h.
#include "profiler/record/compiled_graphs.h"

#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "profiler/observe/observers.h"
#include "profiler/record/intern.h"

namespace tapelens::record {
namespace {

struct Graphs {
  base::Mutex lock;
  std::unordered_map<long, CompiledGraph> told TAPELENS_GUARDED_BY(lock);
};
Graphs& graphs() {
  static auto* made = new Graphs;
  return *made;
}

uint32_t stack_of(Thread& thread, const observe::FrameText& place) {
  if (place.file.empty()) return 0;
  uint64_t hash = 0xc0391e;
  for (const std::string_view text : {place.file, place.function})
    hash = observe::mix(hash, std::hash<std::string_view>()(text));
  hash = observe::mix(hash, place.line);
  if (const uint32_t known = find_stack(thread, hash)) return known;
  return add_stack(thread, hash, {&place, 1});
}

}  // namespace

const CompiledGraph* compiled_graph(long number) {
  Graphs& g = graphs();
  const base::MutexLock guard(g.lock);
  const auto at = g.told.find(number);
  return at == g.told.end() ? nullptr : &at->second;
}

void graph_told(Thread& thread, long number, std::span<const observe::GraphSave> saves, size_t checked) {
  CompiledGraph graph;
  for (size_t i = 0; i < saves.size(); ++i) {
    (i < checked ? graph.saves : graph.unchecked)
        .push_back({intern_string(*thread.recording, saves[i].field), stack_of(thread, saves[i].place)});
  }
  Graphs& g = graphs();
  const base::MutexLock guard(g.lock);
  g.told.try_emplace(number, std::move(graph));
}

}  // namespace tapelens::record
