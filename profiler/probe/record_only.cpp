// Replaces profiler/rewrite, plugins/*/rewrite.cpp and profiler/fake_kernels in a probe that only records. The start
// functions return false, so the functions of observers.h are never called.
#include <cstdlib>

#include "policy/variables.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/probe/parts.h"
#include "simulated/settings/variables.h"

namespace tapelens::probe {

bool start_rewrites() {
  if (getenv(TAPELENS_REWRITE) != nullptr) {
    observe::explain(TAPELENS_TALLY,
                     "the probe that build-probe made for this PyTorch only records, and rewrites nothing");
  }
  return false;
}
void watch_rewrites() {}
void abandon_rewrites_in_child() {}

bool start_simulated_values() {
  if (getenv(TAPELENS_SIMULATED_GPU) != nullptr) {
    observe::say(
        "the probe that build-probe made for this PyTorch only records: all values of its simulated GPU are zeros");
  }
  return false;
}
void watch_simulated_values() {}

}  // namespace tapelens::probe

namespace tapelens::rewrite {

void thread_begins(observe::Thread&) {}
void thread_ends(observe::Thread&) {}
bool wants_calls() { return false; }
void give_memory(const at::RecordFunction&) {}
uint32_t operator_begins(observe::Thread&, const at::RecordFunction&, observe::OperatorName&) { return 0; }
void operator_ends(observe::Thread&, const at::RecordFunction&, uint32_t) {}
void sweep(ThreadState&) {}
void node_is_whole(observe::Thread&, const torch::autograd::Node&, const observe::NodeType&, const observe::OpenCall&) {
}
void backward_begins(ThreadState&) {}
void backward_ended(ThreadState&) {}
void begin_variable_change(const at::Tensor&) {}
bool sees_addresses() { return true; }
void address_leaves(const at::Tensor&) {}
void begin_resize(c10::StorageImpl&) {}
void end_resize(c10::StorageImpl&) {}

}  // namespace tapelens::rewrite

namespace tapelens::fake_kernels {

void thread_begins(observe::Thread&) {}
void thread_ends(observe::Thread&) {}
uint32_t operator_begins(observe::Thread&, const at::RecordFunction&, observe::OperatorName&) { return 0; }
void operator_ends(observe::Thread&, const at::RecordFunction&, uint32_t) {}

}  // namespace tapelens::fake_kernels
