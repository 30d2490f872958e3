// What the rewrites ask of the probe: where the program is, and to write down what they did.
#include <torch/csrc/autograd/graph_task.h>

#include <mutex>
#include <string>
#include <unordered_map>

#include "profiler/observe/capture.h"
#include "profiler/record/checksums.h"
#include "profiler/record/intern.h"
#include "profiler/observe/stack.h"

namespace tapelens::capture {

bool g_names_places = false;

namespace {

bool& busy() { return this_thread().busy; }

bool is_in_backward() { return torch::autograd::get_current_graph_task_id() != -1 || in_backward(this_thread()); }

uint64_t site() {
  const Thread& thread = this_thread();
  const uint64_t module = thread.modules.empty() ? 0 : thread.modules.back().id;
  return module << 32 | thread.settling_stack;
}

bool is_at(const rewrite::Site& planned) {
  const Thread& thread = this_thread();
  if (!planned.module.empty()) {
    const std::string path = thread.modules.empty() ? std::string() : module_path(thread.modules.back().id);
    if (!rewrites::is_module(path, planned.module)) return false;
  }
  return planned.file.empty() || is_line_in_stack(planned.file, planned.line);
}

void record(std::string_view rewrite, rewrite::Level level, const rewrite::Place& place, std::string_view reason,
            uint64_t bytes, uint64_t kept) {
  if (mode() != Mode::full) return;
  Thread& thread = this_thread();
  const auto flags = static_cast<uint8_t>(static_cast<uint8_t>(level) | (reason.empty() ? 0 : trace::kRewriteSkipped));
  const auto id = [&](std::string_view text) { return text.empty() ? 0 : intern_string(thread, text); };
  thread.lane.write(trace::RewriteRecord{
      header<trace::RewriteRecord>(trace::RecordKind::rewrite, flags, intern_string(thread, rewrite)),
      trace::ticks_now(), address_of(place.node), id(place.field), place.index, id(reason),
      place.node == nullptr ? thread.settling_stack : 0, bytes, kept});
}

void before_step(c10::TensorImpl* parameter) {
  if (checksums_wanted()) checksum_parameter(this_thread(), trace::ChecksumOf::gradient, parameter);
}

using ResizeFunction = void (*)(c10::StorageImpl*, size_t);
ResizeFunction g_resize_bytes;
void resize_bytes(c10::StorageImpl* storage, size_t bytes) {
  const bool is_followed = mode() != Mode::off && storage != nullptr;
  if (is_followed) rewrite::begin_resize(*storage);
  g_resize_bytes(storage, bytes);
  if (is_followed) rewrite::end_resize(*storage);
}

}  // namespace

void watch_resizes() {
  g_resize_bytes = reinterpret_cast<ResizeFunction>(g_inject->real(TAPELENS_resize_bytes_cpu));
  if (g_resize_bytes != nullptr) g_inject->replace(TAPELENS_resize_bytes_cpu, reinterpret_cast<void*>(&resize_bytes));
}

rewrite::Surroundings rewrite_surroundings() {
  for (const rewrite::Site& planned : rewrite::settings().sites) {
    g_names_places = g_names_places || !planned.module.empty();
  }
  return {busy, is_in_backward, site, is_at, record, say, before_step};
}

}  // namespace tapelens::capture
