#include "profiler/rewrite/saved_tensor_hook.h"

#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/variable.h>

#include <sstream>
#include <utility>

#include "base/mutex.h"
#include "profiler/observe/raw_data.h"
#include "profiler/observe/stack.h"
#include "profiler/observe/torch_minor.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/host.h"
#include "profiler/rewrite/offload.h"

namespace tapelens::rewrite {
namespace {

class EncodedTensor final : public versions::Encoded {
 public:
  EncodedTensor(std::unique_ptr<Encoding> encoding, bool is_whole)
      : encoding_(std::move(encoding)), is_exact_(is_whole && encoding_->is_exact()) {}
  const Encoding& encoding() const { return *encoding_; }
  uint64_t bytes() const override { return encoding_->bytes(); }
  bool is_exact() const override { return is_exact_; }
  versions::ValuesPtr decode() const override { return std::make_shared<StorageValues>(encoding_->decode().storage()); }

 private:
  std::unique_ptr<Encoding> encoding_;
  bool is_exact_;
};

bool is_never_read(const Rewrite* rewrite) {
  return rewrite != nullptr && info_of(*rewrite).level == Level::never_read;
}

}  // namespace

namespace {
bool is_view_of_base(const torch::autograd::SavedVariable& saved) {
  const auto data = observe::raw_data(saved);
  const auto* meta = data && data->defined() ? torch::autograd::impl::get_view_autograd_meta(*data) : nullptr;
  return meta != nullptr && meta->has_bw_view();
}
}  // namespace

SavedAs::SavedAs(const torch::autograd::SavedVariable& saved)
    : is_original(saved.*member(members::SavedOriginal{})),
      is_leaf(saved.*member(members::SavedLeaf{})),
      is_of_base(is_view_of_base(saved)),
      is_view(saved.*member(members::SavedOfView{})),
      output_number(saved.*member(members::SavedOutputNumber{})),
      view_by(saved.*member(members::SavedOfViewBy{})) {}

SavedTensorHook::SavedTensorHook(const Save& save, SavedAs saved_as, const Rewrite* rewrite, StorageVersionPtr version,
                                 uint64_t site, versions::Ways ways)
    : Hook(ways, offloading() != nullptr ? next_order() : 0),
      version_(is_never_read(rewrite) ? nullptr : version),
      was_version_(is_never_read(rewrite) ? std::move(version) : nullptr),
      saved_as_(std::move(saved_as)),
      rewrite_(rewrite),
      geometry_(save.tensor),
      counter_(save.tensor.unsafeGetTensorImpl()->version_counter()),
      counter_was_(counter_.current_version()),
      node_(&save.node),
      type_(save.type),
      field_(save.field),
      operator_name_(save.operator_name),
      outer_operator_(save.outer_operator),
      index_(save.index),
      wanted_(save.wanted),
      site_(site),
      variable_(save.tensor.getIntrusivePtr()) {}

SavedTensorHook::~SavedTensorHook() {
  if (version_ != nullptr) version_->remove(*this);
  if (was_version_ != nullptr) was_version_->remove_without(*this);
}

void SavedTensorHook::call_pack_hook(const at::Tensor& tensor) {
  // No exception may leave this function, because the save could not be unpacked then.
  tensor_ = tensor;
  const RewriteInfo info = rewrite_ != nullptr ? info_of(*rewrite_) : recomputation(true);
  attempt({info.id, info.level, site(), geometry_.storage_bytes}, [&] {
    if (version_ != nullptr) {
      version_->add(*this);
    } else if ((unneeded_ = rewrite_->encode(save(tensor))) != nullptr) {
      applied(info.id, info.level, site(), geometry_.storage_bytes, unneeded_->bytes());
      if (was_version_ != nullptr) was_version_->add_without(*this);
      tensor_.reset();
    }
  });
}

std::shared_ptr<const versions::Encoded> SavedTensorHook::encode() {
  std::unique_ptr<Encoding> encoding = rewrite_->encode(save(tensor_));
  if (encoding == nullptr) {
    skipped(rewrite_->info().id, rewrite_->info().level, site(), "its values have no shorter form", version_->bytes());
    return nullptr;
  }
  return std::make_shared<EncodedTensor>(std::move(encoding), geometry_.offset == 0);
}

void SavedTensorHook::release(versions::ReleaseKind way, uint64_t bytes, uint64_t kept) {
  const RewriteInfo info = way == versions::ReleaseKind::encoded ? rewrite_->info()
                           : way == versions::ReleaseKind::offloaded
                               ? *offloading()
                               : RewriteInfo{version_->rematerialized_by(), Level::recomputed, {}};
  applied(info.id, info.level, site(), bytes, kept);
  tensor_.reset();
}

void SavedTensorHook::keep_variable(const c10::TensorImpl* only) {
  lock().assert_held();
  if (!saved_as_.is_original || kept_variable_.defined()) return;
  at::Tensor variable(variable_.lock());
  if (variable.defined() && (only == nullptr || only == variable.unsafeGetTensorImpl()))
    kept_variable_ = std::move(variable);
}

at::Tensor SavedTensorHook::variable() const {
  if (!saved_as_.is_original) return {};
  const base::MutexLock guard(lock());
  return kept_variable_.defined() ? kept_variable_ : at::Tensor(variable_.lock());
}

namespace {
// "Relu" or "ReluBackward0", depending on how this PyTorch version names nodes in errors.
std::string name_in_errors(const torch::autograd::Node& node) {
  std::string name = node.name();
  if constexpr (observe::kVersionErrorNamesOperators) name.resize(name.find_last_not_of("0123456789") + 1);
  if (observe::kVersionErrorNamesOperators && name.ends_with("Backward"))
    name.resize(name.size() - std::string_view("Backward").size());
  return name;
}
}  // namespace

void SavedTensorHook::check(const at::Tensor& variable) const {
  const bool is_changed = counter_.current_version() != counter_was_;
  std::string made_by;  // demangled: too slow for each unpack
  if (variable.defined()) {
    // For a view whose base was written, LibTorch makes the node again here, or raises its error for such views.
    const auto node = variable.grad_fn();
    TORCH_CHECK(saved_as_.is_leaf || node != nullptr,
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
                "This is not supported, please use out-of-place `.detach()` instead");
    if (node != nullptr && is_changed) made_by = name_in_errors(*node);
  } else if (saved_as_.is_of_base && !saved_as_.is_leaf) {
    // The view is gone, so only a write to its base can have changed it. LibTorch would make its node again.
    made_by = observe::kVersionErrorNamesOperators ? "AsStrided" : "AsStridedBackward0";
  } else if (!saved_as_.is_original && is_changed) {
    const auto node = saved_as_.is_view ? saved_as_.view_by.lock() : nullptr;
    made_by = name_in_errors(node != nullptr ? *node : *node_);
  }
  const uint32_t now = counter_.current_version();
  if (now == counter_was_) return;
  // LibTorch's own message, which users recognize.
  std::ostringstream text;
  text << "one of the variables needed for gradient computation has been modified by an inplace operation: [";
  if (variable.defined()) {
    text << variable.toString() << " " << variable.sizes() << "]";
  } else {
    text << geometry_.over(c10::Storage(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, geometry_.device)))
                .toString()
         << " " << at::IntArrayRef(geometry_.sizes) << "]";
  }
  if (!made_by.empty()) text << ", which is output " << saved_as_.output_number << " of " << made_by << ",";
  text << " is at version " << now << "; expected version " << counter_was_ << " instead.";
  if (!torch::autograd::AnomalyMode::is_enabled()) {
    text << " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False).";
  } else {
    text << " Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable "
            "in "
            "question was changed in there or anywhere later. Good luck!";
  }
  TORCH_CHECK(false, text.str());
}

// By .data or set_(): LibTorch uses the memory that the variable has during backward.
bool SavedTensorHook::has_other_memory(const at::Tensor& variable) const {
  if (!variable.defined() || storage_of(variable) == nullptr) return false;
  return !version_->is_storage(storage_of(variable)) || Geometry(variable) != geometry_;
}

at::Tensor SavedTensorHook::call_unpack_hook() {
  const Quiet quiet;
  at::Tensor tensor = unpacked();
  if (order() != 0 && streams::has_streams(geometry_.device) && observe::is_in_backward())
    attempt({offloading()->id, offloading()->level}, [&] { read_ahead(geometry_.device, order()); });
  return tensor;
}

at::Tensor SavedTensorHook::unpacked() {
  {
    const at::Tensor variable = this->variable();
    check(variable);
    if (version_ != nullptr && has_other_memory(variable)) return variable.tensor_data();
  }
  {
    const base::MutexLock guard(lock());
    if (tensor_.defined()) return tensor_;
  }
  const Encoding* encoding = unneeded_.get();
  if (encoded() != nullptr) encoding = &static_cast<const EncodedTensor&>(*encoded()).encoding();
  if (encoding != nullptr) {
    TORCH_CHECK(encoding->is_exact() || observe::is_in_backward(), "Tapelens: the values of ", std::string(type_), ".",
                std::string(field_), " were not kept (", std::string(rewrite_->info().id),
                "): they cannot be read from outside of the backward. Run without that rewrite to look at them.");
  }
  // Enough was kept to decode it. If that fails nevertheless, raise an error instead of computing a wrong gradient.
  try {
    if (version_ == nullptr || !version_->stream()) return made_again(encoding);
    // All its inputs belong to the stream of the version.
    at::Tensor made;
    {
      const streams::On its(version_->stream());
      made = made_again(encoding);
    }
    streams::Memory(made.storage(), version_->stream()).here();
    return made;
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (...) {
    TORCH_CHECK(false, "Tapelens: the tensor that ", std::string(type_), ".", std::string(field_),
                " saved cannot be recomputed: ", thrown_text(),
                ". Run the program without --apply, and please report this.");
  }
}

at::Tensor SavedTensorHook::made_again(const Encoding* encoding) const {
  return encoding != nullptr ? encoding->decode() : geometry_.over(storage_here(version_->unpack(*this)));
}

Save SavedTensorHook::save(const at::Tensor& tensor) const {
  return {*node_, type_, field_, index_, operator_name_, outer_operator_, {}, wanted_, tensor};
}

RewriteSite SavedTensorHook::site() const { return {node_, type_, field_, index_, operator_name_, site_}; }

}  // namespace tapelens::rewrite
