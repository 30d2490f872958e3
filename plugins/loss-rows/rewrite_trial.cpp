#include "plugins/loss-rows/rewrite_trial.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "policy/recompute/chain.h"
#include "profiler/observe/observe.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/host.h"
#include "profiler/versions/trials.h"

namespace tapelens::rewrite::loss_rows {
namespace {

// More than one chunk, so that chunks are compared with a call for all of them.
constexpr int64_t kChunksTried = 2;

bool is_same(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && has_same_bits(a.storage(), b.storage());
}

at::Tensor as(const at::Tensor& tensor, at::ScalarType dtype) {
  return tensor.scalar_type() == dtype ? tensor : at::_to_copy(tensor, dtype);
}

// The loss of the first rows and the gradient of their logits.
struct Result {
  at::Tensor loss, total_weight, gradient;
};

Result by_libtorch(const Loss& loss) {
  const at::Tensor& logits = loss.original;
  at::Tensor result;
  {
    const WithNumericState its(loss.state);
    result = at::_log_softmax(logits, 1, false);
  }
  const at::Tensor input = as(result, loss.cast);
  Result made;
  std::tie(made.loss, made.total_weight) =
      at::nll_loss_forward(input, loss.target, {}, loss.reduction, loss.ignore_index);
  const at::Tensor gradient = at::nll_loss_backward(at::ones_like(made.loss), input, loss.target, {}, loss.reduction,
                                                    loss.ignore_index, made.total_weight);
  made.gradient = at::_log_softmax_backward_data(as(gradient, result.scalar_type()), result, 1, logits.scalar_type());
  return made;
}

Result by_rows(const Loss& loss) {
  const RowsPtr input = loss.input_of_nll_loss();
  Result made;
  std::tie(made.loss, made.total_weight) = nll_loss(*input, loss.target, loss.reduction, loss.ignore_index);
  RowsPtr gradient = nll_gradient(
      input->shape(), {at::ones_like(made.loss), loss.target, made.total_weight, loss.reduction, loss.ignore_index});
  const RowsPtr result = loss.log_probabilities();
  if (loss.cast != result->shape().dtype) gradient = cast(std::move(gradient), result->shape().dtype);
  made.gradient = computed(*log_softmax_gradient(std::move(gradient), result, loss.logits->shape().dtype));
  return made;
}

bool are_rows_right(Loss loss) {
  const Rows::Shape& shape = loss.logits->shape();
  const int64_t count = std::min(shape.rows, kChunksTried * rows_at_once(shape));
  loss.original = Geometry(loss.original).over(loss.original.storage()).narrow(0, 0, count);
  loss.logits = first_rows(loss.logits, count);
  loss.target = loss.target.narrow(0, 0, count);
  const Result a = by_libtorch(loss), b = by_rows(loss);
  // Without a reduction the backward does not read the total weight.
  return is_same(a.loss, b.loss) && is_same(a.gradient, b.gradient) &&
         (loss.reduction == at::Reduction::None || is_same(a.total_weight, b.total_weight));
}

// Whether the sum over all rows depends on neither the number of classes nor the targets.
bool is_sum_right(const Loss& loss, const at::Tensor& values) {
  constexpr int64_t kClasses = 3, kIgnored = -100;
  const at::Tensor classes = at::arange(loss.target.size(0), loss.target.options()).remainder(kClasses);
  const at::Tensor wide =
      at::full({loss.target.size(0), kClasses}, std::numeric_limits<double>::quiet_NaN(), values.options())
          .scatter_(1, classes.unsqueeze(1), values);
  const auto [a, weight_a] = at::nll_loss_forward(
      wide, classes.masked_fill(loss.target.eq(loss.ignore_index), kIgnored), {}, loss.reduction, kIgnored);
  const auto [b, weight_b] = nll_loss_of(values, loss.target, loss.reduction, loss.ignore_index);
  return is_same(a, b) && (loss.reduction == at::Reduction::None || is_same(weight_a, weight_b));
}

versions::Trials& trials() {
  static auto* made = new versions::Trials;
  return *made;
}

}  // namespace

bool is_right(const Loss& loss, const at::Tensor& values) {
  const Rows::Shape& shape = loss.logits->shape();
  uint64_t kind = 0;
  for (const int64_t part : {static_cast<int64_t>(shape.device.type()), static_cast<int64_t>(shape.dtype),
                             static_cast<int64_t>(loss.cast), loss.reduction}) {
    kind = recompute::mixed(kind, static_cast<uint64_t>(part));
  }
  uint64_t key = recompute::mixed(kind, loss.state.hash());
  for (const int64_t part : {shape.rows, shape.columns, rows_at_once(shape)})
    key = recompute::mixed(key, static_cast<uint64_t>(part));
  using State = versions::Trials::State;
  if (const State known = trials().state(kind, key); known != State::untried) return known == State::right;
  const Quiet quiet;
  const Alone alone;
  // A simulated GPU runs no kernels, so that nothing can be compared there.
  const bool is_simulated = !shape.device.is_cpu() && observe::g_simulates;
  const bool are_right = (are_rows_right(loss) && is_sum_right(loss, values)) || is_simulated;
  trials().learn(kind, key, are_right);
  return are_right;
}

}  // namespace tapelens::rewrite::loss_rows
