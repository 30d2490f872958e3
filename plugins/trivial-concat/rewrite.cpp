// cat and stack of a single tensor share its memory by copy-on-write instead of copying it. So do hstack, vstack,
// dstack and column_stack, which call them.
#include <ATen/ATen.h>
#include <c10/core/impl/COW.h>

#include "plugins/trivial-concat/rule.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/operators.h"
#include "profiler/rewrite/settings.h"
#include "profiler/rewrite/streams.h"
#include "profiler/rewrite/tally.h"

namespace tapelens::rewrite {
namespace {

using plugins::trivial_concat::kRewrite;

using at::Tensor;

// Copy-on-write sees only writes by PyTorch. Writes that bypass PyTorch must be excluded. numpy() marks the storage as
// one of a fixed size for as long as the storage lives. An export by DLPack keeps the tensor or a view of it. Inside a
// graph, the export would need a detached alias, made before the copy and written after it. This rewrite assumes that
// the program has no such alias.
bool is_written_by_nobody_else(const Tensor& tensor) {
  if (!tensor.storage().resizable()) return false;
  if (!tensor.is_leaf()) return true;
  // The caller's list and the owner hold the tensor: no view, no alias, no export. Equally safe is the only view of a
  // base without another holder, such as a batched gradient.
  if (tensor.use_count() > 2) return false;
  return tensor.storage().use_count() == (tensor.is_view() && tensor._base().use_count() == 1 ? 2U : 1U);
}

// Whether the tensor fills its storage, and the storage can be shared. LibTorch's copy-on-write has no gradient for
// complex numbers.
bool can_share(const Tensor& tensor) {
  if (!is_plain(tensor) || tensor.is_complex() || tensor.numel() == 0 || tensor.storage_offset() != 0) return false;
  const c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  if (storage.nbytes() != tensor.nbytes() || storage.nbytes() < settings().min_bytes) return false;
  return c10::impl::cow::is_cow_data_ptr(storage.data_ptr()) || c10::impl::cow::has_simple_data_ptr(storage);
}

// Strides equal those of a new tensor of this format. In a dimension of size 1 other strides are equivalent, but
// visible.
bool has_strides_of(const Tensor& tensor, at::MemoryFormat format) {
  const at::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  switch (format) {
    case at::MemoryFormat::ChannelsLast:
      return strides == c10::IntArrayRef(c10::get_channels_last_strides_2d(sizes));
    case at::MemoryFormat::ChannelsLast3d:
      return strides == c10::IntArrayRef(c10::get_channels_last_strides_3d(sizes));
    default:
      return strides == c10::IntArrayRef(c10::contiguous_strides(sizes));
  }
}

// torch.empty(0), which every concatenation ignores.
bool is_left_out(const Tensor& tensor, const Tensor& of) {
  return is_plain(tensor) && tensor.device() == of.device() && tensor.dim() == 1 && tensor.numel() == 0 &&
         tensor.scalar_type() == of.scalar_type() && !tensor.requires_grad();
}

// The only tensor that the concatenation does not ignore, or null.
const Tensor* single(const at::ITensorListRef& tensors) {
  const Tensor* found = nullptr;
  for (const Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.dim() == 1 && tensor.numel() == 0) continue;
    if (found != nullptr) return nullptr;
    found = &tensor;
  }
  if (found == nullptr || !found->defined()) return nullptr;
  for (const Tensor& tensor : tensors) {
    if (&tensor != found && !is_left_out(tensor, *found)) return nullptr;
  }
  return found;
}

// The last question about a tensor that could be shared: whether its memory can be copy-on-write. On CUDA LibTorch's
// allocator does not know such memory: record_stream() would have no effect, and the first write would move a tensor
// whose address a captured graph has.
bool is_wanted_here(const Tensor& tensor, std::string_view operator_name) {
  if (!applies_here(kRewrite, operator_name)) return false;
  if (!streams::has_streams(tensor.device())) return true;
  skipped(kRewrite.id, kRewrite.level, {.operator_name = operator_name},
          "PyTorch's CUDA allocator has no copy-on-write", tensor.nbytes());
  return false;
}

Tensor shared(const Tensor& tensor, std::string_view operator_name) {
  applied(kRewrite.id, kRewrite.level, {.operator_name = operator_name}, tensor.nbytes(), 0);
  return at::_lazy_clone(tensor);
}

// True only if `question` returns true and does not throw.
template <class Question>
bool is_sure(std::string_view operator_name, Question question) {
  bool answer = false;
  return attempt({kRewrite.id, kRewrite.level, {.operator_name = operator_name}}, [&] { answer = question(); }) &&
         answer;
}

Tensor cat(c10::DispatchKeySet keys, const at::ITensorListRef& tensors, int64_t dim) {
  const Tensor* tensor = nullptr;
  const bool shares = is_plain_moment() && is_sure("aten::cat", [&] {
                        tensor = single(tensors);
                        // An ignored tensor still makes the result contiguous.
                        return tensor != nullptr && dim >= -tensor->dim() && dim < tensor->dim() &&
                               can_share(*tensor) &&
                               has_strides_of(*tensor, tensors.size() == 1 ? tensor->suggest_memory_format()
                                                                           : at::MemoryFormat::Contiguous) &&
                               is_written_by_nobody_else(*tensor) && is_wanted_here(*tensor, "aten::cat");
                      });
  if (shares) return shared(*tensor, "aten::cat");
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("aten::cat", "")
                             .typed<Tensor(const at::ITensorListRef&, int64_t)>();
  return op.redispatch(stock(keys), tensors, dim);
}

Tensor stack(c10::DispatchKeySet keys, at::TensorList tensors, int64_t dim) {
  if (tensors.size() == 1 && is_plain_moment()) {
    const Tensor& tensor = tensors[0];
    const bool shares = is_sure("aten::stack", [&] {
      return tensor.defined() && dim >= -tensor.dim() - 1 && dim <= tensor.dim() && can_share(tensor) &&
             has_strides_of(tensor, at::MemoryFormat::Contiguous) && is_written_by_nobody_else(tensor) &&
             is_wanted_here(tensor, "aten::stack");
    });
    if (shares) {
      at::DimVector sizes(tensor.sizes());
      sizes.insert(sizes.begin() + (dim < 0 ? dim + tensor.dim() + 1 : dim), 1);
      // Not a view for autograd, because the result of stack is not a view.
      return at::_unsafe_view(shared(tensor, "aten::stack"), sizes);
    }
  }
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::stack", "").typed<Tensor(at::TensorList, int64_t)>();
  return op.redispatch(stock(keys), tensors, dim);
}

class TrivialConcat final : public Rewrite {
 public:
  RewriteInfo info() const override { return kRewrite; }
  void install(const OperatorHost& host) const override {
    for (const auto device : kDeviceTypes) {
      torch::Library& kernels = host.kernels(device);
      kernels.impl("cat", TORCH_FN(cat));
      kernels.impl("stack", TORCH_FN(stack));
    }
  }
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::TrivialConcat)
