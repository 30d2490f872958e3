#include "profiler/observe/modules.h"

#include <vector>

#include "base/mutex.h"
#include "profiler/observe/observers.h"

namespace tapelens::observe {
namespace {

struct Modules {
  base::Mutex lock;
  std::vector<std::string> paths TAPELENS_GUARDED_BY(lock);
};
Modules& modules() {
  static auto* made = new Modules;
  return *made;
}

}  // namespace

uint32_t add_module(Thread& thread, std::string_view path, std::string_view type) {
  Modules& m = modules();
  const base::MutexLock guard(m.lock);
  m.paths.emplace_back(path);
  const auto id = static_cast<uint32_t>(m.paths.size());
  if (is_recording()) record::module_named(thread, id, path, type);
  return id;
}

std::string module_now(const Thread& thread) {
  const uint32_t id = thread.modules.empty() ? 0 : thread.modules.back().id;
  Modules& m = modules();
  const base::MutexLock guard(m.lock);
  return id == 0 || id > m.paths.size() ? std::string() : m.paths[id - 1];
}

uint64_t place_now() {
  const Thread& thread = this_thread();
  const uint64_t module = thread.modules.empty() ? 0 : thread.modules.back().id;
  return module << 32 | thread.settling_stack;
}

}  // namespace tapelens::observe
