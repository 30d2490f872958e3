// The storage versions of this process (profiler/versions/version.h says what they are): which storage has which, and
// what a version asks of LibTorch.
//
// Locks: the table of all versions has one. A version's lock may be held when it is taken, never the other way round,
// and nothing that may destroy a version or a rematerialization is done with it held.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/COW.h>

#include <memory>
#include <string_view>
#include <vector>

#include "profiler/rewrite/rewrite.h"
#include "profiler/versions/version.h"

namespace tapelens::rewrite {

struct RecordedCall;

bool is_copy_on_write(const c10::StorageImpl& storage);

class StorageValues final : public versions::Values {
 public:
  // `is_storage`: of the version itself, which the program may write.
  explicit StorageValues(c10::Storage storage, bool is_storage = false)
      : storage_(std::move(storage)), is_storage_(is_storage) {}
  const c10::Storage& storage() const { return storage_; }
  uint64_t bytes() const override { return storage_.nbytes(); }
  bool is_shared() const override { return is_storage_ || is_copy_on_write(*storage_.unsafeGetStorageImpl()); }

 private:
  c10::Storage storage_;
  bool is_storage_;
};
inline const c10::Storage& storage_of(const versions::ValuesPtr& values) {
  return static_cast<const StorageValues&>(*values).storage();
}

class StorageVersion final : public versions::Version {
 public:
  explicit StorageVersion(const at::Tensor& tensor);
  // Of a storage that is left alone: only a mark.
  explicit StorageVersion(c10::StorageImpl& storage);

  // Before anybody else has it.
  void set_rematerialization(std::unique_ptr<RecordedCall> call);
  // The id of the rewrite that could rematerialize it; empty: none could.
  std::string_view rematerialized_by() const { return rematerialized_by_; }
  // The tensor holds this version.
  bool is_of(const at::Tensor& tensor) const;
  bool is_storage_gone() const { return storage_.expired(); }
  bool is_storage(const c10::StorageImpl* storage) const { return storage_._unsafe_get_target() == storage; }

 private:
  bool has_values() const override;
  bool is_steady() const override;
  versions::ValuesPtr storage() override;
  versions::ValuesPtr clone() override;
  versions::ValuesPtr copy(const versions::Values& values) override;
  Holders holders() const override;
  bool is_worth(const recompute::Chain& chain, uint64_t cost) override;
  bool is_right(const recompute::Chain& chain) override;
  void skipped(const char* reason) override;
  void failed() noexcept override;

  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  c10::VariableVersion counter_;
  uint32_t version_ = 0;
  std::string_view rematerialized_by_;
};
using StorageVersionPtr = std::shared_ptr<StorageVersion>;

c10::Storage copy_of(const c10::Storage& storage);

// The version that a tensor holds. Versions of storages that died are forgotten now and then.
StorageVersionPtr find_version(const at::Tensor& tensor);  // null: it is not known
StorageVersionPtr version_of(const at::Tensor& tensor);    // made if it is not known
// `call`: how it was made; null: not known.
StorageVersionPtr new_version(const at::Tensor& tensor, std::unique_ptr<RecordedCall> call);
// A storage is about to be written: its version, if it is known, is added to `written`; when the write is done it is
// overwritten().
void note_write(const c10::StorageImpl& storage, std::vector<StorageVersionPtr>& written);
void forget_dead_versions();

// From now on nothing counts on what this storage holds, as long as it lives: it is resized behind the operators (FSDP
// frees and refills its unsharded parameters), or a collective writes it, which may be under way on another thread.
// What depends on its version is given a copy first; the storage itself no longer shares its memory.
void leave_alone(c10::StorageImpl& storage);
// It was given other memory: what would copy the old when the new is first written (LibTorch's lazy clones up to 2.15
// fail with an internal assertion there) goes.
void forget_sharing(c10::StorageImpl& storage);
// Whether what an ordinary tensor's storage holds can be followed: its memory is its own, of LibTorch's allocator, not
// shared with another process or with numpy, and nobody had it left alone.
bool is_steady(c10::StorageImpl& storage);

}  // namespace tapelens::rewrite
