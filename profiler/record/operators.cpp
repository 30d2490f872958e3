// Records operators with their inputs, labelled ranges, evaluations, backwards and module calls.
#include "policy/recompute/operators.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <iterator>
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

void write_views(ThreadState& thread, const at::RecordFunction& function, size_t count) {
  constexpr size_t kMost = trace::kBlockPayloadBytes / sizeof(trace::InputView) - 8;
  if (count == 0 || count > kMost) return;  // concatenations of thousands of tensors: not copies of one
  // Layouts must precede the records that name them.
  std::vector<trace::InputView> views;
  views.reserve(count);
  each_input(thread, function.inputs(), [&](const at::Tensor& tensor, uint64_t, size_t) {
    const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    const uint32_t layout = intern_layout(thread, impl);
    const auto offset = layout != 0 ? impl.sym_storage_offset_default().maybe_as_int() : std::nullopt;
    views.push_back({layout, 0, offset ? static_cast<uint64_t>(*offset) : 0});
  });
  size_t bytes;
  if (auto* record = reserve<trace::InputViewsRecord>(thread, RecordKind::input_views, 0, 0, 2 * views.size(), bytes)) {
    record->ticks = trace::ticks_now();
    std::ranges::copy(views, reinterpret_cast<trace::InputView*>(record + 1));
    thread.lane.commit(bytes);
  }
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
  constexpr size_t kRoom = 24;
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
  size_t bytes;
  const uint8_t flags =
      function.scope() == at::RecordScope::FUNCTION && name.runs_python ? trace::kOperatorIsPythonFunction : 0;
  if (auto* record =
          reserve<trace::OperatorRecord>(own, RecordKind::operator_begin, flags, facts.name, inputs.count, bytes)) {
    record->ticks = trace::ticks_now();
    record->sequence_nr = static_cast<uint64_t>(function.seqNr());
    record->stack = stack;
    record->written = inputs.written;
    std::copy_n(addresses, inputs.count, reinterpret_cast<uint64_t*>(record + 1));
    own.lane.commit(bytes);
    const bool has_views = facts.has_views || (facts.is_cheap_in_place && writes_a_part(function));
    if (has_views) write_views(own, function, inputs.count);
    return true;
  }
  return false;
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
