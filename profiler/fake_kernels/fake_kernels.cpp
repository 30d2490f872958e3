// The observer (observe/observers.h): executes operators on small tensors on the CPU at their end, and records where
// the program reads unknown values.
#include "profiler/fake_kernels/fake_kernels.h"

#include <cstdlib>
#include <exception>
#include <string>

#include "profiler/fake_kernels/aliases.h"
#include "profiler/fake_kernels/call.h"
#include "profiler/fake_kernels/operators.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/stack.h"
#include "simulated/settings/settings.h"

namespace tapelens::fake_kernels {

using observe::Thread;

namespace {

const OperatorTraits& facts_of(Thread& thread, const at::RecordFunction& function, observe::OperatorName& name) {
  if (name.values != nullptr) return *name.values;
  OperatorTraits& facts = thread.simulating->operators[static_cast<size_t>(&name - thread.names.data())];
  const auto op = operator_of(function);
  facts = op ? fake_kernels::facts_of(*op, name.written) : OperatorTraits{};
  name.values = &facts;
  return facts;
}

// Called when the simulated GPU's library copies unknown bytes to the host. Returns whether the program reads them.
bool value_read(size_t) {
  Thread& thread = observe::this_thread();
  if (thread.busy || thread.executes_on_cpu || thread.simulating->reads_known) return false;
  if (!observe::is_recording()) return true;
  try {
    record::value_read(thread);
  } catch (...) {
    record::hook_failed();
  }
  return true;
}

// Called when the simulated GPU's library makes an NCCL communicator, whose GPU memory PyTorch does not know.
void communicator_made(int device, int ranks) {
  if (!observe::is_recording()) return;
  try {
    record::information(observe::this_thread(), "nccl_communicator",
                        "cuda:" + std::to_string(device) + " " + std::to_string(ranks));
  } catch (...) {
    record::hook_failed();
  }
}

}  // namespace

bool start() {
  const char* text = getenv(simulated::kSettingsVariable);
  if (text == nullptr || *text == '\0') return false;
  g_device = find_device();
  if (g_device == nullptr) {
    observe::say(
        "the library of the simulated GPU is of another installation: the values of small tensors are not "
        "computed");
  }
  return g_device != nullptr;
}

void watch() {
  replace_data_dependent();
  g_device->watch_reads(value_read);
  g_device->watch_communicators(communicator_made);
}

void thread_begins(Thread& thread) {
  if (thread.simulating == nullptr) thread.simulating = new ThreadState;
}

void thread_ends(Thread& thread) { thread.simulating->calls.clear(); }

uint32_t operator_begins(Thread& thread, const at::RecordFunction& function, observe::OperatorName& name) {
  try {
    const OperatorTraits& facts = facts_of(thread, function, name);
    if (facts.what == OperatorTraits::What::nothing) return 0;
    auto& calls = thread.simulating->calls;
    Call call(facts, function.inputs());
    if (!call.is_on_device()) return 0;
    calls.push_back({std::move(call), std::uncaught_exceptions()});
    return static_cast<uint32_t>(calls.size());
  } catch (...) {  // out of memory
    return 0;
  }
}

void operator_ends(Thread& thread, const at::RecordFunction& function, uint32_t mark) {
  auto& calls = thread.simulating->calls;
  ThreadState::Open open = std::move(calls[mark - 1]);
  calls.erase(calls.begin() + mark - 1, calls.end());
  if (std::uncaught_exceptions() > open.exceptions) return;
  const observe::ExecutingOnCpu here(thread);
  open.call.end(function.outputs());
}

}  // namespace tapelens::fake_kernels
