// Cross entropies without their matrices of log-probabilities and of gradients (rewrite_rows.h). LibTorch's own
// operators make the graph: log_softmax returns a tensor without memory (rewrite_lazy_tensor.h), which nll_loss reads
// by chunks of rows. In the backward nll_loss_backward returns such a tensor too, and the gradient of the logits is
// computed by chunks.
#include <ATen/ATen.h>
#include <ATen/SavedTensorHooks.h>
#include <c10/core/impl/PythonDispatcherTLS.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/generated/Functions.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/csrc/autograd/variable.h>

#include <atomic>

#include "plugins/loss-rows/rewrite_lazy_tensor.h"
#include "plugins/loss-rows/rewrite_trial.h"
#include "plugins/loss-rows/rule.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/raw_data.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/host.h"
#include "profiler/rewrite/operators.h"
#include "profiler/rewrite/settings.h"
#include "profiler/rewrite/tally.h"

namespace tapelens::rewrite {
namespace {

using plugins::loss_rows::kRewrite;

using namespace loss_rows;
using at::Tensor;
using torch::autograd::Node;
using torch::autograd::generated::LogSoftmaxBackward0;
using torch::autograd::generated::NllLossBackward0;
using torch::autograd::generated::ToCopyBackward0;
using torch::autograd::generated::UnsafeViewBackward0;
using torch::autograd::generated::ViewBackward0;
using WeightRef = const std::optional<Tensor>&;

constexpr RewriteSite kSite = {.operator_name = "aten::cross_entropy_loss"};
constexpr Attempted kAttempt = {kRewrite.id, kRewrite.level, kSite};

// ---- the cross entropy that this thread computes

struct Computing {
  Loss loss;
  const c10::TensorImpl* logits;  // the program's
  bool is_by_rows = false;        // the loss was computed
};
thread_local Computing* t_computing = nullptr;

class Armed {
 public:
  explicit Armed(Computing& computing) : was_(std::exchange(t_computing, &computing)) {}
  ~Armed() { t_computing = was_; }
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;

 private:
  Computing* was_;
};

// ---- which cross entropies

struct Arguments {
  const Tensor& self;
  const Tensor& target;
  WeightRef weight;
  int64_t reduction;
  const c10::SymInt& ignore_index;
  double label_smoothing;
};

bool is_type(at::ScalarType type) {
  return type == at::kFloat || type == at::kBFloat16 || type == at::kHalf || type == at::kDouble;
}

// A cross entropy with a graph at an ordinary moment.
bool may_rewrite(const Arguments& of) {
  return at::GradMode::is_enabled() && is_plain(of.self) && is_plain(of.target) && of.self.requires_grad() &&
         is_plain_moment() && of.self.storage().nbytes() >= settings().min_bytes && of.self.numel() > 0 &&
         !of.ignore_index.is_symbolic();
}

// Null: it is one of a kind that is rewritten.
const char* reason_against(const Arguments& of) {
  if (of.target.is_floating_point()) return "its targets are probabilities";
  if (of.weight && of.weight->defined()) return "its classes have weights";
  if (of.label_smoothing != 0) return "it smooths labels";
  if (of.self.dim() != 2 || of.target.dim() != 1 || of.self.size(0) != of.target.size(0))
    return "its classes are not the last of two dimensions";
  if (of.target.scalar_type() != at::kLong || !is_type(of.self.scalar_type())) return "its types are unusual";
  if (!of.self.is_contiguous() || of.target.device() != of.self.device()) return "its logits are not contiguous";
  if (at::SavedTensorDefaultHooks::is_enabled() && at::SavedTensorDefaultHooks::get_hooks())
    return "hooks hold its saved tensors";
  if (streams::has_streams(of.self.device())) {
    if (streams::stream_use() != streams::StreamUse::ordinary) return "the program uses several streams";
    if (const char* reason = touched(*of.self.storage().unsafeGetStorageImpl())) return reason;
  }
  return nullptr;
}

std::optional<Computing> begin(const Arguments& of) {
  if (!may_rewrite(of) || !applies_here(kRewrite, kSite.operator_name)) return std::nullopt;
  const char* reason = reason_against(of);
  if (reason == nullptr) {
    if (!is_worth_it({of.self.size(0), of.self.size(1), of.self.scalar_type(), of.self.device()})) return std::nullopt;
    if (RowsPtr logits = kept_logits(of.self)) {
      return Computing{{.original = of.self,
                        .logits = std::move(logits),
                        .state = numeric_state(),
                        .target = of.target,
                        .reduction = of.reduction,
                        .ignore_index = of.ignore_index.expect_int()},
                       of.self.unsafeGetTensorImpl()};
    }
    reason = "its logits may be written";
  }
  skipped(kRewrite.id, kRewrite.level, kSite, reason, of.self.storage().nbytes());
  return std::nullopt;
}

// ---- the saved tensors of the graph

bool has_hooks_before(Node& node) {
  if (!node.pre_hooks().empty() || !node.tensor_pre_hooks().empty() || !node.retains_grad_hooks().empty()) return true;
  const auto* plan = torch::autograd::get_current_graph_task_exec_info();
  if (plan == nullptr) return false;
  const auto at = plan->find(&node);
  return at != plan->end() && at->second.captures_ != nullptr;
}

// Whether no code of the program sees the gradients that the backward computes.
bool is_ordinary_backward() {
  return !at::GradMode::is_enabled() && is_plain_moment() && !torch::autograd::AnomalyMode::is_enabled();
}

// The node that gets the only gradient of this one, if no hook sees the gradient between them; else null.
Node* unseen_next(Node& node) {
  if (!node.post_hooks().empty() || node.num_outputs() != 1) return nullptr;
  Node* const next = node.next_edge(0).function.get();
  return next != nullptr && !has_hooks_before(*next) ? next : nullptr;
}

template <class... Types>
bool is_one_of(const Node& node) {
  return (... || (dynamic_cast<const Types*>(&node) != nullptr));
}

// Whether only the nodes of the cross entropy see the gradient that nll_loss returns.
bool reaches_log_softmax(Node& of_loss) {
  Node* next = unseen_next(of_loss);
  if (next != nullptr && is_one_of<ToCopyBackward0>(*next)) next = unseen_next(*next);
  return next != nullptr && is_one_of<LogSoftmaxBackward0>(*next);
}

// Whether the gradient of the logits is cast next, maybe as a view.
bool reaches_cast(Node& of_log_softmax) {
  Node* next = unseen_next(of_log_softmax);
  while (next != nullptr && is_one_of<ViewBackward0, UnsafeViewBackward0>(*next)) next = unseen_next(*next);
  return next != nullptr && is_one_of<ToCopyBackward0>(*next);
}

// Holds the log-probabilities for a node of the loss, which gets a tensor without memory. All others get their values.
class RowsHook final : public torch::autograd::SavedVariableHooks {
 public:
  RowsHook(const Node& node, bool is_for_loss) : node_(node), is_for_loss_(is_for_loss) {}
  ~RowsHook() override {
    if (logits_ != nullptr) logits_->remove_save();
  }

  void call_pack_hook(const Tensor& tensor) override {
    tensor_ = tensor;
    rows_ = rows_of(tensor);
    if (rows_ == nullptr) return;
    tensor_.reset();
    logits_ = rows_->logits();
    if (logits_ != nullptr) logits_->add_save();
  }
  Tensor call_unpack_hook() override {
    if (rows_ == nullptr) return tensor_;
    const auto now = torch::autograd::get_current_node();
    if (now != nullptr && now.get() == &node_ && is_ordinary_backward() &&
        (!is_for_loss_ || reaches_log_softmax(*now))) {
      return lazy(rows_);
    }
    return computed(*rows_);
  }
  // As of other saved tensors: compiled autograd uses the values.
  std::optional<std::pair<c10::SafePyObject, c10::SafePyObject>> retrieve_unpack_hook_data() const override {
    return std::nullopt;
  }

 private:
  const Node& node_;  // owns this hook
  const bool is_for_loss_;
  RowsPtr rows_;
  const Logits* logits_ = nullptr;  // the source of `rows_`
  Tensor tensor_;
};

RowsPtr saved_rows(const torch::autograd::SavedVariable& saved) {
  const auto data = observe::raw_data(saved);
  return data ? rows_of(*data) : nullptr;
}

void hold(torch::autograd::SavedVariable& saved, const Node& node, bool is_for_loss) {
  const at::NoGradGuard no_grad;
  const Quiet quiet;
  saved.register_hooks(std::make_unique<RowsHook>(node, is_for_loss));
}

void hold_by_rows(const Tensor& loss) {
  auto* of_loss = dynamic_cast<NllLossBackward0*>(torch::autograd::impl::grad_fn_unsafe(loss));
  if (of_loss == nullptr) return;
  Node* at = of_loss->next_edge(0).function.get();
  if (dynamic_cast<ToCopyBackward0*>(at) != nullptr) at = at->next_edge(0).function.get();
  auto* of_result = dynamic_cast<LogSoftmaxBackward0*>(at);
  if (of_result == nullptr) return;
  const RowsPtr input = saved_rows(of_loss->self_), result = saved_rows(of_result->result_);
  if (input == nullptr || result == nullptr) return;
  uint64_t bytes = result->shape().bytes();
  if (input->shape().dtype != result->shape().dtype) bytes += input->shape().bytes();
  hold(of_loss->self_, *of_loss, true);
  hold(of_result->result_, *of_result, false);
  applied(kRewrite.id, kRewrite.level, kSite, bytes, 0);
}

// ---- kernels above autograd

// LibTorch's own. While torch.compile traces with symbolic sizes, Python resolves the operators.
Tensor stock_loss(c10::DispatchKeySet keys, const Arguments& of) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::cross_entropy_loss", "");
  if (auto* interpreter = c10::impl::PythonDispatcherTLS::get_state();
      interpreter != nullptr && c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::PythonDispatcher)) {
    torch::jit::Stack stack{of.self, of.target, of.weight, of.reduction, of.ignore_index, of.label_smoothing};
    (*interpreter)->python_dispatcher(op, stock(keys).remove(c10::DispatchKey::PythonDispatcher), &stack);
    return std::move(stack.back()).toTensor();
  }
  return at::_ops::cross_entropy_loss::redispatch(stock(keys), of.self, of.target, of.weight, of.reduction,
                                                  of.ignore_index, of.label_smoothing);
}

Tensor cross_entropy_loss(c10::DispatchKeySet keys, const Tensor& self, const Tensor& target, WeightRef weight,
                          int64_t reduction, c10::SymInt ignore_index, double label_smoothing) {
  const Arguments of{self, target, weight, reduction, ignore_index, label_smoothing};
  std::optional<Computing> computing;
  attempt(kAttempt, [&] { computing = begin(of); });
  if (!computing) return stock_loss(keys, of);
  {
    const Armed armed(*computing);
    Tensor loss = stock_loss(keys, of);
    if (computing->is_by_rows) {
      attempt(kAttempt, [&] { hold_by_rows(loss); });
      return loss;
    }
  }
  return stock_loss(keys, of);  // the whole graph, with the values of LibTorch's own kernels
}

// ---- kernels below autograd, for cross entropies and tensors without memory

constexpr c10::DispatchKeySet kBelow = c10::after_ADInplaceOrView_keyset;

Tensor log_softmax_kernel(c10::DispatchKeySet keys, const Tensor& self, int64_t dim, bool half_to_float) {
  if (t_computing != nullptr && self.unsafeGetTensorImpl() == t_computing->logits && !half_to_float &&
      (dim == 1 || dim == -1)) {
    return lazy(t_computing->loss.log_probabilities());
  }
  return at::_ops::_log_softmax::redispatch(keys & kBelow, self, dim, half_to_float);
}

// A backward that does not keep its graph releases what this node saved next, so that nothing reads the logits again.
Tensor gradient_of_logits(const Rows& rows, at::IntArrayRef sizes) {
  const auto now = torch::autograd::get_current_node();
  if (now == nullptr || !is_ordinary_backward() || !now->post_hooks().empty() ||
      torch::autograd::get_current_graph_task_keep_graph())
    return computed(rows, sizes);
  return computed_in_place(rows, sizes, is_one_of<LogSoftmaxBackward0>(*now) ? 1 : 0);
}

Tensor to_copy_kernel(c10::DispatchKeySet keys, const Tensor& self, std::optional<at::ScalarType> dtype,
                      std::optional<at::Layout> layout, std::optional<at::Device> device,
                      std::optional<bool> pin_memory, bool non_blocking,
                      std::optional<at::MemoryFormat> memory_format) {
  if (RowsPtr rows = rows_of(self)) {
    const bool is_cast = dtype && is_type(*dtype) && layout.value_or(at::kStrided) == at::kStrided &&
                         device.value_or(self.device()) == self.device() && !pin_memory.value_or(false) &&
                         memory_format.value_or(at::MemoryFormat::Preserve) == at::MemoryFormat::Preserve;
    if (is_cast && !rows->is_gradient_of_logits()) return lazy(cast(std::move(rows), *dtype));
    if (is_cast) return gradient_of_logits(*cast(std::move(rows), *dtype), self.sizes());
    make_ordinary(self);
  }
  return at::_ops::_to_copy::redispatch(keys & kBelow, self, dtype, layout, device, pin_memory, non_blocking,
                                        memory_format);
}

void tell_other_bits() {
  static std::atomic<bool> said{false};
  skipped(kRewrite.id, kRewrite.level, kSite, "by rows it has other bits", 0);
  if (!said.exchange(true)) {
    observe::say(
        std::string(kRewrite.id) +
        ": a cross entropy by chunks of rows has other bits than LibTorch's own; such losses are not rewritten");
  }
}

using LossAndWeight = std::tuple<Tensor, Tensor>;

// Empty: not by rows.
std::optional<LossAndWeight> loss_by_rows(Loss& loss, const Rows& input) {
  loss.cast = input.shape().dtype;
  Tensor values;
  try {
    values = values_of_targets(input, loss.target, loss.ignore_index);
  } catch (const c10::IndexError&) {  // a target is out of range: LibTorch raises its error
    return std::nullopt;
  }
  if (is_right(loss, values)) return nll_loss_of(values, loss.target, loss.reduction, loss.ignore_index);
  tell_other_bits();
  return std::nullopt;
}

LossAndWeight nll_loss_forward_kernel(c10::DispatchKeySet keys, const Tensor& self, const Tensor& target,
                                      WeightRef weight, int64_t reduction, c10::SymInt ignore_index) {
  if (const RowsPtr rows = rows_of(self)) {
    if (Computing* computing = t_computing) {
      std::optional<LossAndWeight> made;
      attempt(kAttempt, [&] { made = loss_by_rows(computing->loss, *rows); });
      computing->is_by_rows = made.has_value();
      if (made) return *made;
      const at::Tensor none = at::empty({}, self.options());  // cross_entropy_loss() drops it
      return {none, none};
    }
    make_ordinary(self);
  }
  return at::_ops::nll_loss_forward::redispatch(keys & kBelow, self, target, weight, reduction, ignore_index);
}

// Copies of the small arguments: the program may write them before the gradient of the logits is computed.
LossGradient copied(const Tensor& gradient, const Tensor& target, const Tensor& total_weight, int64_t reduction,
                    int64_t ignore_index) {
  const Quiet quiet;
  const Alone alone;
  return {gradient.clone(), target.clone(), total_weight.clone(), reduction, ignore_index};
}

Tensor nll_loss_backward_kernel(c10::DispatchKeySet keys, const Tensor& gradient, const Tensor& self,
                                const Tensor& target, WeightRef weight, int64_t reduction, c10::SymInt ignore_index,
                                const Tensor& total_weight) {
  if (const RowsPtr rows = rows_of(self)) {
    Tensor made;
    if (is_plain(gradient) && is_plain(target) && is_plain(total_weight) && !(weight && weight->defined()) &&
        gradient.dim() == (reduction == at::Reduction::None ? 1 : 0) && gradient.device() == self.device()) {
      attempt(kAttempt, [&] {
        made = lazy(
            nll_gradient(rows->shape(), copied(gradient, target, total_weight, reduction, ignore_index.expect_int())));
      });
    }
    if (made.defined()) return made;
    make_ordinary(self);
  }
  return at::_ops::nll_loss_backward::redispatch(keys & kBelow, gradient, self, target, weight, reduction, ignore_index,
                                                 total_weight);
}

Tensor log_softmax_backward_kernel(c10::DispatchKeySet keys, const Tensor& gradient, const Tensor& output, int64_t dim,
                                   at::ScalarType dtype) {
  RowsPtr of_gradient = rows_of(gradient), result = rows_of(output);
  if (of_gradient != nullptr || result != nullptr) {
    const bool is_whole = (of_gradient != nullptr || is_plain(gradient)) && (result != nullptr || is_plain(output)) &&
                          gradient.dim() == 2 && gradient.sizes() == output.sizes() && (dim == 1 || dim == -1) &&
                          gradient.scalar_type() == output.scalar_type();
    if (is_whole) {
      const bool are_by_rows = of_gradient != nullptr && result != nullptr;  // the program cannot write them
      if (of_gradient == nullptr) of_gradient = existing(gradient);
      if (result == nullptr) result = existing(output);
      RowsPtr made = log_softmax_gradient(std::move(of_gradient), std::move(result), dtype);
      const auto now = torch::autograd::get_current_node();
      const bool is_cast_next = are_by_rows && now != nullptr && is_ordinary_backward() &&
                                is_one_of<LogSoftmaxBackward0>(*now) && reaches_cast(*now);
      return is_cast_next ? lazy(std::move(made)) : gradient_of_logits(*made, gradient.sizes());
    }
    make_ordinary(gradient);
    make_ordinary(output);
  }
  return at::_ops::_log_softmax_backward_data::redispatch(keys & kBelow, gradient, output, dim, dtype);
}

// ---- registration

torch::Library& library(c10::DispatchKey key) {
  // Never destroyed: its kernels may be called until the process ends.
  return *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
}

class LossRows final : public Rewrite {
 public:
  RewriteInfo info() const override { return kRewrite; }
  void install(const OperatorHost&) const override {
    if (!install_lazy_tensors()) {
      skipped(kRewrite.id, kRewrite.level, kSite, "another library uses its dispatch key", 0);
      return;
    }
    torch::Library& below = library(c10::DispatchKey::ADInplaceOrView);
    below.impl("_log_softmax", TORCH_FN(log_softmax_kernel));
    below.impl("_to_copy", TORCH_FN(to_copy_kernel));
    below.impl("nll_loss_forward", TORCH_FN(nll_loss_forward_kernel));
    below.impl("nll_loss_backward", TORCH_FN(nll_loss_backward_kernel));
    below.impl("_log_softmax_backward_data", TORCH_FN(log_softmax_backward_kernel));
    for (const auto key : {c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA})
      library(key).impl("cross_entropy_loss", TORCH_FN(cross_entropy_loss));
  }
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::LossRows)
