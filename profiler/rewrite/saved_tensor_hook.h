// The hooks of one SavedVariable of the program, by which a rewrite holds its tensor.
#pragma once

#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/mutex.h"
#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/private_members.h"
#include "profiler/rewrite/rewrite.h"
#include "profiler/rewrite/storage_versions.h"
#include "profiler/rewrite/tally.h"

namespace tapelens::rewrite {

// How LibTorch saved a tensor, for its error messages.
struct SavedAs {
  bool is_original = false;  // the program's own variable, not another tensor over its storage
  bool is_leaf = false;
  bool is_of_base = false;     // a view of another variable, with gradients
  bool is_view = false;        // written in place: `view_by` is its node
  uint32_t output_number = 0;  // 0 for an original, as in LibTorch
  // A weak pointer of the type that this PyTorch version has.
  std::remove_cvref_t<decltype(std::declval<torch::autograd::SavedVariable>().*member(members::SavedOfViewBy{}))>
      view_by;

  explicit SavedAs(const torch::autograd::SavedVariable& saved);
};

class SavedTensorHook final : public torch::autograd::SavedVariableHooks,
                              public versions::Hook,
                              public versions::Pooled {
 public:
  // `rewrite`: null if rematerialization is the only choice. `version`: version of the tensor; for a never-read save,
  // the version that the tensor had.
  SavedTensorHook(const Save& save, SavedAs saved_as, const Rewrite* rewrite, StorageVersionPtr version, uint64_t site,
                  versions::Ways ways);
  ~SavedTensorHook() override;

  void call_pack_hook(const at::Tensor& tensor) override;
  at::Tensor call_unpack_hook() override;
  // Called by compiled autograd, which then uses the unpacked value.
  std::optional<std::pair<c10::SafePyObject, c10::SafePyObject>> retrieve_unpack_hook_data() const override {
    return std::nullopt;
  }

  // Requires the version's lock.
  const at::Tensor& tensor() const { return tensor_; }  // undefined: it was released
  const Geometry& geometry() const { return geometry_; }
  std::string_view operator_name() const { return operator_name_; }
  const Rewrite* rewrite() const { return rewrite_; }
  RewriteSite site() const;
  // Keeps the variable of an original, because LibTorch's unpacking reads the variable's current state. No effect if
  // `only` is another variable.
  void keep_variable(const c10::TensorImpl* only);
  // For never-read saves: keeps the storage for the lifetime of this hook, as without the rewrite.
  void hold(c10::Storage storage) {
    lock().assert_held();
    held_ = std::move(storage);
  }

 private:
  std::shared_ptr<const versions::Encoded> encode() override;
  bool can_encode() const override { return rewrite_ != nullptr; }
  void release(versions::ReleaseKind way, uint64_t bytes, uint64_t kept) override;

  Save save(const at::Tensor& tensor) const;
  base::Mutex& lock() const { return (version_ != nullptr ? version_ : was_version_)->lock(); }
  at::Tensor unpacked();
  at::Tensor variable() const;  // the program's; undefined: not an original, or it is gone
  // The checks of LibTorch: throws its errors.
  void check(const at::Tensor& variable) const;
  at::Tensor made_again(const Encoding* encoding) const;  // null: rematerialized
  bool has_other_memory(const at::Tensor& variable) const;

  StorageVersionPtr version_;      // null: never read
  StorageVersionPtr was_version_;  // for never-read saves
  const SavedAs saved_as_;
  c10::Storage held_ TAPELENS_GUARDED_BY(lock());
  const Rewrite* rewrite_;
  at::Tensor tensor_;                         // until it is released
  std::shared_ptr<const Encoding> unneeded_;  // for never-read saves: the stand-in
  Geometry geometry_;
  c10::VariableVersion counter_;
  uint32_t counter_was_ = 0;
  const torch::autograd::Node* node_;
  std::string_view type_, field_, operator_name_, outer_operator_;
  uint32_t index_;
  uint64_t wanted_, site_;
  c10::weak_intrusive_ptr<c10::TensorImpl> variable_;  // the saved variable, if it was the program's own
  at::Tensor kept_variable_ TAPELENS_GUARDED_BY(lock());
};

}  // namespace tapelens::rewrite
