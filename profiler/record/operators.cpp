// Records operators with their inputs, labelled ranges, evaluations, backwards and module calls.
#include "policy/recompute/operators.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "profiler/observe/observers.h"
#include "profiler/record/checksums.h"
#include "profiler/record/intern.h"
#include "profiler/record/storage.h"

namespace tapelens::record {
namespace {

using trace::RecordKind;

// trace/record.h, InputViewsRecord: the operators whose output may equal an input, and log-softmax.
constexpr std::string_view kViewed[] = {"aten::clone", "aten::_to_copy", "aten::cat",    "aten::stack",
                                        "aten::copy_", "aten::repeat",   "aten::_stack", "aten::_log_softmax"};

const OperatorTraits& facts_of(Thread& thread, OperatorName& name) {
  if (name.recorded != nullptr) return *name.recorded;
  ThreadState& own = *thread.recording;
  OperatorTraits& facts = own.operators[static_cast<size_t>(&name - thread.names.data())];
  const std::string_view text = name.text;
  facts.name = intern_string(own, text);
  const bool is_product = recompute::product(text) != recompute::Product::none;
  facts.has_views = is_product || std::ranges::find(kViewed, text) != std::end(kViewed);
  facts.is_cheap_in_place = text.ends_with('_') && recompute::cheap(text);
  name.recorded = &facts;
  return facts;
}

// Calls take(tensor, address of its storage, number of the argument) for each input that has a storage.
template <class Take>
void each_input(ThreadState& thread, c10::ArrayRef<const c10::IValue> inputs, Take take) {
  const auto one = [&](const at::Tensor& tensor, size_t argument) {
    if (!tensor.defined()) return;
    const uint64_t address = storage_of(thread, *tensor.unsafeGetTensorImpl()).address;
    if (address != 0) take(tensor, address, argument);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].isTensor()) {
      one(inputs[i].toTensor(), i);
    } else if (inputs[i].isList()) {
      for (const c10::IValue& element : inputs[i].toListRef()) {
        if (!element.isTensor()) break;  // a list of numbers; in lists of optional tensors, None is an undefined tensor
        one(element.toTensor(), i);
      }
    }
  }
}

struct Inputs {
  size_t count = 0;      // number of inputs; only the first `room` are filled in
  uint32_t written = 0;  // as OperatorRecord says
};
Inputs inputs_of(ThreadState& thread, const at::RecordFunction& function, uint32_t written, uint64_t* addresses,
                 size_t room) {
  Inputs found;
  each_input(thread, function.inputs(), [&](const at::Tensor&, uint64_t address, size_t argument) {
    if (found.count < room) addresses[found.count] = address;
    if ((written >> std::min<size_t>(argument, 31) & 1) != 0) found.written |= 1U << std::min<size_t>(found.count, 31);
    ++found.count;
  });
  return found;
}

constexpr size_t kRoom = 24;  // inputs for which no memory is allocated

// With the ticks of their operator.
void write_views(ThreadState& thread, const at::RecordFunction& function, size_t count, uint64_t ticks) {
  constexpr size_t kMost = trace::kBlockPayloadBytes / sizeof(trace::InputView) - 8;
  if (count == 0 || count > kMost) return;  // concatenations of thousands of tensors: not copies of one
  trace::InputView few[kRoom];
  std::vector<trace::InputView> many(count > kRoom ? count : 0);
  trace::InputView* views = many.empty() ? few : many.data();
  // Layouts must precede the records that name them.
  size_t found = 0;
  each_input(thread, function.inputs(), [&](const at::Tensor& tensor, uint64_t, size_t) {
    if (found == count) return;
    const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    const uint32_t layout = intern_layout(thread, impl);
    const auto offset = layout != 0 ? impl.sym_storage_offset_default().maybe_as_int() : std::nullopt;
    views[found++] = {layout, 0, offset ? static_cast<uint64_t>(*offset) : 0};
  });
  thread.lane.write(trace::InputViewsRecord{header<trace::InputViewsRecord>(RecordKind::input_views), ticks},
                    std::span<const trace::InputView>(views, found));
}

// Whether a cheap in-place operator writes only a part of a storage.
bool writes_a_part(const at::RecordFunction& function) {
  const auto inputs = function.inputs();
  if (inputs.empty() || !inputs[0].isTensor() || !inputs[0].toTensor().defined()) return false;
  const c10::TensorImpl& impl = *inputs[0].toTensor().unsafeGetTensorImpl();
  if (!impl.has_storage() || impl.has_symbolic_sizes_strides() || impl.is_python_dispatch()) return false;
  const auto nbytes = impl.unsafe_storage().sym_nbytes().maybe_as_int();
  return nbytes && *nbytes != impl.numel() * static_cast<int64_t>(impl.itemsize());
}

}  // namespace

bool operator_begins(Thread& thread, const at::RecordFunction& function, OperatorName& name, uint32_t stack) {
  ThreadState& own = *thread.recording;
  const OperatorTraits& facts = facts_of(thread, name);
  uint64_t few[kRoom];
  std::vector<uint64_t> many;
  const uint64_t* addresses = few;
  Inputs inputs = inputs_of(own, function, name.written, few, kRoom);
  if (inputs.count > kRoom) {
    many.resize(inputs.count);
    inputs = inputs_of(own, function, name.written, many.data(), inputs.count);
    constexpr size_t kMost = trace::kBlockPayloadBytes / 8 - 64;
    if (inputs.count > kMost) {
      g_spool.count(trace::Loss::truncated_text, inputs.count - kMost);
      inputs.count = kMost;
    }
    addresses = many.data();
  }
  const uint8_t flags =
      function.scope() == at::RecordScope::FUNCTION && name.runs_python ? trace::kOperatorIsPythonFunction : 0;
  const trace::OperatorRecord record{header<trace::OperatorRecord>(RecordKind::operator_begin, flags, facts.name),
                                     trace::ticks_now(), static_cast<uint64_t>(function.seqNr()), stack,
                                     inputs.written};
  if (!own.lane.write(record, std::span<const uint64_t>(addresses, inputs.count))) return false;
  const bool has_views = facts.has_views || (facts.is_cheap_in_place && writes_a_part(function));
  if (has_views) write_views(own, function, inputs.count, record.ticks);
  return true;
}

void operator_ends(Thread& thread) { write_event(*thread.recording, RecordKind::operator_end); }

void range_begins(Thread& thread, std::string_view name) {
  write_event(*thread.recording, RecordKind::range_begin, intern_string(*thread.recording, name));
}

void range_ends(Thread& thread) { write_event(*thread.recording, RecordKind::range_end); }

namespace {
bool begin_evaluation(Thread& thread, uint8_t flags, uint64_t node) {
  return thread.recording->lane.write(trace::EvaluationRecord{
      header<trace::EvaluationRecord>(RecordKind::evaluation_begin, flags), trace::ticks_now(), node});
}
}  // namespace

bool evaluation_begins(Thread& thread, const torch::autograd::Node& node, bool releases) {
  return begin_evaluation(thread, releases ? trace::kEvaluationReleases : 0, address_of(&node));
}

bool unpacking_begins(Thread& thread) { return begin_evaluation(thread, trace::kEvaluationUnpacks, 0); }

void evaluation_ends(Thread& thread) { write_event(*thread.recording, RecordKind::evaluation_end); }

void backward_begins(Thread& thread, const std::vector<torch::autograd::Edge>& roots, bool keeps_graph,
                     bool creates_graph) {
  checksum_roots(*thread.recording, roots);
  const auto flags = static_cast<uint8_t>((keeps_graph ? trace::kBackwardKeepsGraph : 0) |
                                          (creates_graph ? trace::kBackwardCreatesGraph : 0));
  write_event(*thread.recording, RecordKind::backward_begin, 0, flags);
}

void backward_ends(Thread& thread) { write_event(*thread.recording, RecordKind::backward_end); }

void module_begins(Thread& thread, uint32_t id, bool without_gradients) {
  const uint8_t flags = without_gradients ? trace::kModuleCallWithoutGradients : 0;
  write_event(*thread.recording, RecordKind::module_begin, id, flags);
}

void module_ends(Thread& thread) { write_event(*thread.recording, RecordKind::module_end); }

}  // namespace tapelens::record
