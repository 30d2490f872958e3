// See checksums.h.
#include "profiler/record/checksums.h"

#include <ATen/SparseTensorImpl.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/TensorWrapper.h>
// After the functorch headers, which would otherwise use its functions.
#include <ATen/LegacyBatchedTensorImpl.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "profiler/observe/named_tensors.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/steps.h"
#include "profiler/record/intern.h"
#include "profiler/record/recorder.h"
#include "trace/checksum.h"

namespace tapelens::record {
namespace {

using observe::ParameterValues;
using torch::autograd::AutogradMeta;
using torch::autograd::Node;
using trace::ChecksumOf;

using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
using StrongTensor = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

WeakTensor weak(c10::TensorImpl* tensor) { return WeakTensor(StrongTensor::reclaim_copy(tensor)); }

// A weak reference keeps the address from being reused for another tensor.
struct Parameter {
  WeakTensor reference;
  uint32_t name = 0;  // string
};
struct Digests {
  base::Mutex lock;
  std::unordered_map<const c10::TensorImpl*, Parameter> parameters TAPELENS_GUARDED_BY(lock);
  std::unordered_map<std::string, uint32_t> names TAPELENS_GUARDED_BY(lock);  // number of parameters with the name
  uint32_t nameless TAPELENS_GUARDED_BY(lock) = 0;
  std::map<std::pair<const Node*, uint32_t>, WeakTensor> outputs
      TAPELENS_GUARDED_BY(lock);                          // with one element, by node and output number
  size_t outputs_swept TAPELENS_GUARDED_BY(lock) = 1024;  // when there are this many, remove the dead ones
  bool told TAPELENS_GUARDED_BY(lock) = false;
};
Digests& digests() {
  static auto* made = new Digests;
  return *made;
}

// Whether the bytes of a tensor can be read directly.
bool is_readable(const c10::TensorImpl& tensor) {
  static constexpr c10::DispatchKeySet kReadable({c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView,
                                                  c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutocastCPU,
                                                  c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  return kReadable.isSupersetOf(tensor.key_set()) && tensor.has_storage() && !tensor.has_symbolic_sizes_strides();
}

class Hash {
 public:
  Hash() { XXH3_64bits_reset(&state_); }
  // The elements in order, for any strides: rows of the last dimension, one after another.
  void add(const c10::TensorImpl& tensor) {
    const auto sizes = tensor.sizes_default(), strides = tensor.strides_default();
    const size_t element = tensor.dtype().itemsize();
    const auto* begin = static_cast<const char*>(tensor.data());
    if (tensor.numel() == 0) return;
    if (tensor.is_contiguous()) return add(begin, static_cast<size_t>(tensor.numel()) * element);
    const size_t outer = sizes.size() - 1;  // a tensor without dimensions is contiguous
    std::vector<int64_t> at(outer, 0);
    for (bool more = true; more;) {
      int64_t offset = 0;
      for (size_t d = 0; d < outer; ++d) offset += at[d] * strides[d];
      add_row(begin + offset * static_cast<int64_t>(element), sizes[outer], strides[outer], element);
      more = false;
      for (size_t d = outer; d-- > 0 && !more;) {
        more = ++at[d] < sizes[d];
        if (!more) at[d] = 0;
      }
    }
  }
  uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  void add(const char* bytes, size_t count) { XXH3_64bits_update(&state_, bytes, count); }
  void add_row(const char* from, int64_t count, int64_t stride, size_t element) {
    if (stride == 1) return add(from, static_cast<size_t>(count) * element);
    std::array<char, 4096> gathered;
    const auto room = static_cast<int64_t>(gathered.size() / element);
    for (int64_t done = 0; done < count;) {
      const int64_t now = std::min(room, count - done);
      for (int64_t i = 0; i < now; ++i) {
        std::memcpy(gathered.data() + i * static_cast<int64_t>(element),
                    from + (done + i) * stride * static_cast<int64_t>(element), element);
      }
      add(gathered.data(), static_cast<size_t>(now) * element);
      done += now;
    }
  }
  XXH3_state_t state_;
};

std::optional<uint64_t> hash_of(const at::Tensor& values) {
  Hash hash;
  const auto add = [&hash](const at::Tensor& tensor) {
    if (!tensor.defined() || !is_readable(*tensor.unsafeGetTensorImpl())) return false;
    hash.add(*tensor.unsafeGetTensorImpl());
    return true;
  };
  if (add(values)) return hash.value();
  if (!values.is_sparse() || !values.device().is_cpu() || values.key_set().has(c10::DispatchKey::Python)) return {};
  const auto& sparse = static_cast<const at::SparseTensorImpl&>(*values.unsafeGetTensorImpl());
  if (!add(sparse.indices()) || !add(sparse.values())) return {};
  return hash.value();
}

std::string unique_name(Digests& t, std::string_view name) TAPELENS_REQUIRES(t.lock) {
  const uint32_t count = ++t.names[std::string(name)];
  std::string unique(name);
  if (count > 1) unique += "#" + std::to_string(count);
  return unique;
}

uint32_t name_of(ThreadState& thread, c10::TensorImpl* tensor) {
  Digests& t = digests();
  const base::MutexLock guard(t.lock);
  const auto at = t.parameters.find(tensor);
  if (at != t.parameters.end()) return at->second.name;
  std::string text("#");
  text += std::to_string(++t.nameless);
  const uint32_t name = intern_string(thread, text);
  t.parameters.emplace(tensor, Parameter{weak(tensor), name});
  return name;
}

// The name of the parameter that this edge accumulates into, if it has one; else the input's place in the call. Other
// tensors, such as the fast weights of an inner loop, may be new in each call.
uint32_t name_of_input(ThreadState& thread, const torch::autograd::Edge& edge, size_t place) {
  const auto* leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(edge.function.get());
  if (leaf != nullptr && leaf->variable.defined()) {
    Digests& t = digests();
    const base::MutexLock guard(t.lock);
    const auto at = t.parameters.find(leaf->variable.unsafeGetTensorImpl());
    if (at != t.parameters.end()) return at->second.name;
  }
  return intern_string(thread, "input " + std::to_string(place));
}

// The tensor inside wrappers of torch.func transformations or of is_grads_batched.
at::Tensor unwrapped(at::Tensor tensor) {
  for (;;) {
    if (const auto* gradient = at::functorch::maybeGetTensorWrapper(tensor)) {
      tensor = gradient->value();
    } else if (const auto* batched = at::functorch::maybeGetBatchedImpl(tensor)) {
      tensor = batched->value();
    } else if (const auto* older = at::maybeGetBatchedImpl(tensor)) {
      tensor = older->value();
    } else {
      return tensor;
    }
  }
}

// Notes that several threads take checksums, because their order is undefined.
void note_thread(ThreadState& thread) {
  static std::atomic<const ThreadState*> first{nullptr};
  static std::atomic<bool> noted{false};
  const ThreadState* none = nullptr;
  if (first.compare_exchange_strong(none, &thread) || none == &thread || noted.exchange(true)) return;
  write_information(thread, trace::kChecksumsOfThreads, "1");
}

void write(ThreadState& thread, ChecksumOf of, uint32_t name, uint64_t value, uint64_t begin_ns) {
  note_thread(thread);
  thread.lane.write(
      trace::ChecksumRecord{header<trace::ChecksumRecord>(trace::RecordKind::checksum, static_cast<uint8_t>(of), name),
                            trace::ticks_now(), observe::steps_ended(), value, trace::monotonic_ns() - begin_ns});
}

void say_once_that_some_are_left_out() {
  {
    Digests& t = digests();
    const base::MutexLock guard(t.lock);
    if (std::exchange(t.told, true)) return;
  }
  observe::say("gradients and parameters that are not ordinary tensors on the CPU are not compared");
}

template <class Hook>
void run_guarded(Hook hook) noexcept {
  try {
    hook();
  } catch (...) {
    say_once_that_some_are_left_out();
  }
}

// The value of a tensor with one element.
std::optional<double> value_of(const c10::TensorImpl& tensor) {
  if (!is_readable(tensor) || tensor.numel() != 1) return {};
  const void* at = tensor.data();
  switch (tensor.dtype().toScalarType()) {
    case at::kDouble:
      return *static_cast<const double*>(at);
    case at::kFloat:
      return *static_cast<const float*>(at);
    case at::kHalf:
      return static_cast<float>(*static_cast<const at::Half*>(at));
    case at::kBFloat16:
      return static_cast<float>(*static_cast<const at::BFloat16*>(at));
    default:
      return {};
  }
}

}  // namespace

bool checksums_wanted() {
  static const bool wanted = options().checksums;
  return wanted;
}

bool wants_step_values() { return checksums_wanted(); }

// For a gradient or a parameter on the CPU, strided or sparse; for other tensors, prints one line the first time.
// `parameter` gives the name: its name in its module, else its number in the order of first use.
void step_values(Thread& thread, ParameterValues of, const c10::TensorImpl* parameter, const at::Tensor& values) {
  if (!checksums_wanted() || parameter == nullptr || !values.defined()) return;
  run_guarded([&] {
    ThreadState& own = *thread.recording;
    const uint64_t begin = trace::monotonic_ns();
    const auto value = hash_of(values);
    const bool is_gradient = of == ParameterValues::gradient;
    if (!value) {
      write(own, is_gradient ? ChecksumOf::gradient_left_out : ChecksumOf::parameter_left_out, 0, 0, begin);
      return say_once_that_some_are_left_out();
    }
    write(own, is_gradient ? ChecksumOf::gradient : ChecksumOf::parameter,
          name_of(own, const_cast<c10::TensorImpl*>(parameter)), *value, begin);
  });
}

void step_values(Thread& thread, ParameterValues of, c10::TensorImpl* parameter) {
  if (!checksums_wanted()) return;
  run_guarded([&] {
    if (of == ParameterValues::gradient) return step_values(thread, of, parameter, parameter->grad());
    step_values(thread, of, parameter, at::Tensor(StrongTensor::reclaim_copy(parameter)));
  });
}

void gradients_returned(Thread& thread, const std::vector<torch::autograd::Edge>& of,
                        const std::vector<at::Tensor>& gradients) {
  if (!checksums_wanted()) return;
  ThreadState& own = *thread.recording;
  for (size_t place = 0; place < gradients.size() && place < of.size(); ++place) {
    run_guarded([&] {
      const uint64_t begin = trace::monotonic_ns();
      const uint32_t name = name_of_input(own, of[place], place);
      if (!gradients[place].defined()) return write(own, ChecksumOf::returned_gradient, name, 0, begin);
      const at::Tensor gradient = unwrapped(gradients[place]);
      if (gradient.is_meta()) return;  // has no values
      if (const auto value = hash_of(gradient)) {
        return write(own, ChecksumOf::returned_gradient, name, *value, begin);
      }
      // A wrapper subclass has no values: combine the hashes of its inner tensors, in order.
      uint64_t all = 0;
      bool is_whole = gradient.key_set().has(c10::DispatchKey::Python);
      const auto parts = is_whole ? observe::inner_tensors(thread, gradient) : std::vector<observe::NamedTensor>{};
      for (const observe::NamedTensor& part : parts) {
        const auto value = hash_of(part.tensor);
        is_whole = is_whole && value.has_value();
        const std::array<uint64_t, 2> both = {all, value.value_or(0)};
        all = trace::checksum_of(both.data(), sizeof both);
      }
      if (is_whole && !parts.empty()) return write(own, ChecksumOf::returned_gradient, name, all, begin);
      write(own, ChecksumOf::gradient_left_out, 0, 0, begin);
      say_once_that_some_are_left_out();
    });
  }
}

void name_for_checksums(ThreadState& thread, c10::TensorImpl* parameter, std::string_view name) {
  if (!checksums_wanted()) return;
  run_guarded([&] {
    Digests& t = digests();
    const base::MutexLock guard(t.lock);
    const auto [at, is_new] = t.parameters.try_emplace(parameter, Parameter{weak(parameter), 0});
    if (is_new) at->second.name = intern_string(thread, unique_name(t, name));
  });
}

void output_made(const at::Tensor& tensor, const Node* node) {
  if (!checksums_wanted() || !tensor.defined()) return;
  run_guarded([&] {
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    if (!is_readable(*impl) || impl->numel() != 1) return;
    const auto* meta = static_cast<const AutogradMeta*>(impl->autograd_meta());
    if (meta == nullptr) return;
    Digests& t = digests();
    const base::MutexLock guard(t.lock);
    if (t.outputs.size() >= t.outputs_swept) {
      std::erase_if(t.outputs, [](const auto& output) { return output.second.expired(); });
      t.outputs_swept = 1024 + 2 * t.outputs.size();
    }
    t.outputs.insert_or_assign({node, meta->output_nr_}, weak(impl));
  });
}

void checksum_roots(ThreadState& thread, const std::vector<torch::autograd::Edge>& roots) {
  if (!checksums_wanted()) return;
  run_guarded([&] {
    for (const torch::autograd::Edge& root : roots) {
      const uint64_t begin = trace::monotonic_ns();
      StrongTensor tensor;
      {
        Digests& t = digests();
        const base::MutexLock guard(t.lock);
        const auto at = t.outputs.find({root.function.get(), root.input_nr});
        if (at != t.outputs.end()) tensor = at->second.lock();
      }
      if (!tensor) continue;
      // The tensor may have become the output of another node, by an in-place operator.
      const auto* meta = static_cast<const AutogradMeta*>(tensor->autograd_meta());
      if (meta == nullptr || meta->grad_fn_.get() != root.function.get()) continue;
      if (const auto value = value_of(*tensor)) {
        write(thread, ChecksumOf::loss, 0, std::bit_cast<uint64_t>(*value), begin);
      }
    }
  });
}

}  // namespace tapelens::record
