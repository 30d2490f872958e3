// matmul of tensors with different batch dimensions, without copies that repeat one for the other. Batch dimensions of
// only the left side become rows, those of only the right side become columns. One bmm computes the product.
#include <ATen/ATen.h>
#include <ATen/TensorUtils.h>
#include <c10/core/impl/PythonDispatcherTLS.h>

#include "plugins/expanded-save/rule.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/operators.h"
#include "profiler/rewrite/settings.h"
#include "profiler/rewrite/streams.h"
#include "profiler/rewrite/tally.h"

namespace tapelens::rewrite {
namespace {

using plugins::expanded_save::kRewrite;

constexpr RewriteSite kSite = {.operator_name = "aten::matmul"};

using at::DimVector;
using at::Tensor;

// The aligned batch dimensions of both sides and of the product: 1 where a side has none.
struct Batch {
  DimVector left, right, out;
  // Indices into them. Common: both sides have the dimension, or its size is 1.
  DimVector common, of_left, of_right;
};

int64_t product(const DimVector& sizes, const DimVector& places) {
  int64_t all = 1;
  for (const int64_t place : places) all *= sizes[place];
  return all;
}
int64_t product(const DimVector& sizes) { return c10::multiply_integers(sizes); }

DimVector aligned(const Tensor& tensor, int64_t dimensions) {
  DimVector sizes(dimensions, 1);
  std::copy(tensor.sizes().begin(), tensor.sizes().end() - 2, sizes.end() - (tensor.dim() - 2));
  return sizes;
}

// False: the sizes do not fit, for which LibTorch has a better error, or no dimension is repeated.
bool pair_up(const Tensor& a, const Tensor& b, Batch& batch) {
  const int64_t dimensions = std::max(a.dim(), b.dim()) - 2;
  batch.left = aligned(a, dimensions);
  batch.right = aligned(b, dimensions);
  for (int64_t i = 0; i < dimensions; ++i) {
    const int64_t left = batch.left[i], right = batch.right[i];
    if (left != right && left != 1 && right != 1) return false;
    batch.out.push_back(std::max(left, right));
    (left == right ? batch.common : right == 1 ? batch.of_left : batch.of_right).push_back(i);
  }
  return !batch.of_left.empty() || !batch.of_right.empty();
}

uint64_t bytes_of(const Tensor& tensor, int64_t elements) {
  return static_cast<uint64_t>(elements) * tensor.element_size();
}

// The bytes that reshape() copies for these sizes, strides and new sizes.
uint64_t copied(const Tensor& tensor, const DimVector& sizes, const DimVector& strides, const DimVector& reshaped) {
  const bool is_view = at::detail::computeStride(sizes, strides, reshaped).has_value();
  return is_view ? 0 : bytes_of(tensor, product(sizes));
}

// The bytes that LibTorch's own matmul copies: it expands a side to the whole batch, and flattens it to three
// dimensions.
uint64_t copied_by_expansion(const Tensor& tensor, const Batch& batch) {
  const auto dimensions = static_cast<int64_t>(batch.out.size());
  DimVector sizes = batch.out, strides(dimensions, 0);
  for (int64_t i = 0; i < tensor.dim() - 2; ++i) {
    const int64_t at = dimensions - (tensor.dim() - 2) + i;
    if (tensor.size(i) == batch.out[at]) strides[at] = tensor.stride(i);
  }
  for (const int64_t i : {tensor.dim() - 2, tensor.dim() - 1}) {
    sizes.push_back(tensor.size(i));
    strides.push_back(tensor.stride(i));
  }
  return copied(tensor, sizes, strides, {product(batch.out), tensor.size(-2), tensor.size(-1)});
}

DimVector joined(std::initializer_list<const DimVector*> parts) {
  DimVector all;
  for (const DimVector* part : parts) all.append(part->begin(), part->end());
  return all;
}

DimVector chosen(const DimVector& sizes, const DimVector& places) {
  DimVector some;
  for (const int64_t place : places) some.push_back(sizes[place]);
  return some;
}

// A side with all dimensions of the product in the order for bmm, and its shape for bmm.
struct Side {
  Tensor tensor;
  DimVector sizes, strides;  // in the order for bmm
  DimVector reshaped;
  uint64_t copied;
  bool in_order;  // the tensor's own order
};

// Whether the dimensions larger than 1 are already in order.
bool is_sorted(const DimVector& order, const DimVector& sizes) {
  int64_t last = -1;
  for (const int64_t place : order) {
    if (sizes[place] == 1) continue;
    if (place < last) return false;
    last = place;
  }
  return true;
}

Side arranged(const Tensor& tensor, const DimVector& batch, const DimVector& order, DimVector reshaped) {
  DimVector all = batch;
  all.push_back(tensor.size(-2));
  all.push_back(tensor.size(-1));
  const auto missing = static_cast<int64_t>(all.size()) - tensor.dim();
  Side side{tensor, {}, {}, std::move(reshaped), 0, is_sorted(order, all)};
  for (const int64_t place : order) {
    side.sizes.push_back(all[place]);
    side.strides.push_back(place >= missing ? tensor.stride(place - missing) : 0);
  }
  side.copied = copied(tensor, side.sizes, side.strides, side.reshaped);
  return side;
}

struct Fold {
  Side left, right;
  DimVector order;  // the product's dimensions in the order of bmm's result
  DimVector out;    // the result's sizes in the program's order
  bool in_order;    // the program's order already
  uint64_t saves;   // bytes of avoided copies
  uint64_t kept;    // bytes of remaining copies
};

Fold plan(const Tensor& a, const Tensor& b, const Batch& batch) {
  const auto rows = static_cast<int64_t>(batch.out.size()), columns = rows + 1;  // dimensions after the batch
  const int64_t n = a.size(-2), k = a.size(-1), m = b.size(-1);
  const int64_t common = product(batch.out, batch.common);
  const DimVector row{rows}, column{columns};
  Fold fold;
  const DimVector left_order = joined({&batch.common, &batch.of_left, &batch.of_right, &row, &column});
  const DimVector right_order = joined({&batch.common, &batch.of_left, &row, &batch.of_right, &column});
  fold.left = arranged(a, batch.left, left_order, {common, product(batch.out, batch.of_left) * n, k});
  fold.right = arranged(b, batch.right, right_order, {common, k, product(batch.out, batch.of_right) * m});
  fold.order = right_order;
  fold.out = batch.out;
  fold.out.push_back(n);
  fold.out.push_back(m);
  fold.in_order = is_sorted(fold.order, fold.out);
  fold.kept = fold.left.copied + fold.right.copied;
  const uint64_t stock_copies = copied_by_expansion(a, batch) + copied_by_expansion(b, batch);
  fold.saves = stock_copies > fold.kept ? stock_copies - fold.kept : 0;
  return fold;
}

// The gradient through as_strided() has the strides of its input, as in LibTorch's matmul. The gradient through a
// permuted view would have the strides of that view, and the program may call view() on it.
Tensor for_bmm(const Side& side) {
  return (side.in_order ? side.tensor : side.tensor.as_strided(side.sizes, side.strides)).reshape(side.reshaped);
}

// The gradient through as_strided() of overlapping elements is an index_add, which on CUDA adds in another order each
// time.
bool has_sums_in_any_order(const Side& side) {
  return !side.in_order && side.tensor.requires_grad() && streams::has_streams(side.tensor.device()) &&
         !side.tensor.is_non_overlapping_and_dense();
}

Tensor run(const Fold& fold) {
  const Tensor made = at::bmm(for_bmm(fold.left), for_bmm(fold.right));
  // Not a view, and with the strides of LibTorch's result: the program may call view() on it, or change it in place.
  if (fold.in_order) return at::_unsafe_view(made, fold.out);
  DimVector back(fold.order.size());
  for (size_t i = 0; i < fold.order.size(); ++i) back[fold.order[i]] = static_cast<int64_t>(i);
  return made.view(chosen(fold.out, fold.order)).permute(back).contiguous();
}

bool may_fold(const Tensor& a, const Tensor& b) {
  return a.dim() >= 3 && b.dim() >= 3 && is_plain(a) && is_plain(b) && a.device() == b.device() &&
         a.scalar_type() == b.scalar_type() &&
         (at::isFloatingType(a.scalar_type()) || at::isComplexType(a.scalar_type())) && a.size(-1) == b.size(-2) &&
         a.numel() != 0 && b.numel() != 0 && is_plain_moment();
}

// LibTorch's matmul. While torch.compile traces with symbolic sizes, Python resolves the operators and has a separate
// matmul. Our kernel must not hide that one.
Tensor stock_matmul(c10::DispatchKeySet keys, const Tensor& a, const Tensor& b) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::matmul", "");
  if (auto* interpreter = c10::impl::PythonDispatcherTLS::get_state();
      interpreter != nullptr && c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::PythonDispatcher)) {
    torch::jit::Stack stack{a, b};
    (*interpreter)->python_dispatcher(op, stock(keys).remove(c10::DispatchKey::PythonDispatcher), &stack);
    return std::move(stack.back()).toTensor();
  }
  static const auto typed = op.typed<Tensor(const Tensor&, const Tensor&)>();
  return typed.redispatch(stock(keys), a, b);
}

// Empty if LibTorch's own matmul is better or the only choice.
std::optional<Fold> fold_of(const Tensor& a, const Tensor& b) {
  Batch batch;
  if (!may_fold(a, b) || !pair_up(a, b, batch)) return std::nullopt;
  Fold fold = plan(a, b, batch);
  const uint64_t least = settings().min_bytes;
  // Reordering the result takes a second result for a moment. That must not exceed the bytes of the copies.
  const uint64_t extra = fold.in_order ? 0 : bytes_of(a, product(fold.out));
  if (fold.saves < least || fold.saves < extra || !applies_here(kRewrite, kSite.operator_name)) return std::nullopt;
  if (has_sums_in_any_order(fold.left) || has_sums_in_any_order(fold.right)) {
    skipped(kRewrite.id, kRewrite.level, kSite, "its gradient would be added in any order", fold.saves + fold.kept);
    return std::nullopt;
  }
  applied(kRewrite.id, kRewrite.level, kSite, fold.saves + fold.kept, fold.kept);
  return fold;
}

Tensor matmul(c10::DispatchKeySet keys, const Tensor& a, const Tensor& b) {
  std::optional<Fold> fold;
  const bool is_known = attempt({kRewrite.id, kRewrite.level, kSite}, [&] { fold = fold_of(a, b); });
  return is_known && fold ? run(*fold) : stock_matmul(keys, a, b);
}

class ExpandedSave final : public Rewrite {
 public:
  RewriteInfo info() const override { return kRewrite; }
  void install(const OperatorHost& host) const override {
    for (const auto device : kDeviceTypes) host.kernels(device).impl("matmul", TORCH_FN(matmul));
  }
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::ExpandedSave)
