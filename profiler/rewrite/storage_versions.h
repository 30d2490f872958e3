// The storage versions of this process (profiler/versions/version.h says what they are): which storage has which, and
// what a version asks of LibTorch.
//
// Locks: the table of all versions has one. A version's lock may be held when it is taken, never the other way round,
// and nothing that may destroy a version or a rematerialization is done with it held.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/COW.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "profiler/rewrite/rewrite.h"
#include "profiler/rewrite/streams.h"
#include "profiler/versions/version.h"

namespace tapelens::rewrite {

struct RecordedCall;
class SavedTensorHook;

// Null where the tensor has none: has_storage() of a wrapper speaks of the tensor that it wraps.
inline c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}
bool is_copy_on_write(const c10::StorageImpl& storage);

class StorageValues final : public versions::Values {
 public:
  // Made just now, by this thread.
  explicit StorageValues(c10::Storage storage)
      : memory_(std::move(storage)), is_captured_(streams::is_capturing(memory_.storage().device())) {}
  // The storage of the version itself, which the program may write, with the stream that it was made on.
  StorageValues(c10::Storage storage, std::optional<c10::Stream> stream)
      : memory_(std::move(storage), stream), is_storage_(true) {}
  const streams::Memory& memory() const { return memory_; }
  uint64_t bytes() const override { return memory_.storage().nbytes(); }
  // What was captured has no values yet, and others each time that the graph is replayed.
  bool is_shared() const override {
    return is_storage_ || is_captured_ || is_copy_on_write(*memory_.storage().unsafeGetStorageImpl());
  }
  bool is_storage() const override { return is_storage_; }

 private:
  streams::Memory memory_;
  bool is_storage_ = false, is_captured_ = false;
};
// For the operators that this thread runs next.
inline const c10::Storage& storage_here(const versions::ValuesPtr& values) {
  return static_cast<const StorageValues&>(*values).memory().here();
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
  // On which the storage was made; none: on the CPU.
  const std::optional<c10::Stream>& stream() const { return stream_; }
  // Whoever has tensors of it keeps them: counted, with the reason.
  void tell_left_alone(const char* reason);
  // Whoever saved a tensor of it, and that tensor alone unless it is null, keeps the program's variable from now on: it
  // is about to be given another storage, to lose its history, or to be written, and the backward will look at it.
  void keep_variables(const c10::TensorImpl* only);
  // A hook gave its tensor of it up at once, and would have to hold it where another stream uses it, or where its
  // address is known: nobody else may.
  void add_without(SavedTensorHook& hook);
  void remove_without(SavedTensorHook& hook);
  void hold_again(c10::StorageImpl& storage);
  const char* touched() const { return touched_.load(std::memory_order_relaxed); }
  void set_touched(const char* reason) { touched_.store(reason, std::memory_order_relaxed); }
  // Of the same storage, before it was written. Before anybody else has this one.
  void follow(const StorageVersion& former);

 private:
  bool has_values() const override;
  bool is_steady() const override;
  bool is_compared() const override;
  uint64_t checksum(const versions::Values& values) const override;
  versions::ValuesPtr storage() override;
  versions::ValuesPtr clone() override;
  versions::ValuesPtr copy(const versions::Values& values) override;
  Holders holders() const override;
  bool is_worth(const recompute::Chain& chain, uint64_t cost) override;
  bool is_right(const recompute::Chain& chain, bool is_compared) override;
  void skipped(const char* reason) override;
  void failed() noexcept override;

  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  c10::VariableVersion counter_;
  uint32_t version_ = 0;
  std::optional<c10::Stream> stream_;
  std::atomic<const char*> touched_{nullptr};                                         // touch()
  std::vector<SavedTensorHook*, versions::PoolAllocator<SavedTensorHook*>> without_;  // with the lock
  std::string_view rematerialized_by_;
};
using StorageVersionPtr = std::shared_ptr<StorageVersion>;

// The version that a tensor holds. Versions of storages that died are forgotten now and then.
StorageVersionPtr find_version(const at::Tensor& tensor);  // null: it is not known
StorageVersionPtr version_of(const at::Tensor& tensor);    // made if it is not known
// `call`: how it was made; null: not known.
StorageVersionPtr new_version(const at::Tensor& tensor, std::unique_ptr<RecordedCall> call);
// A storage is about to be written: its version, if it is known, is added to `written`; when the write is done it is
// overwritten().
void note_write(const c10::StorageImpl& storage, std::vector<StorageVersionPtr>& written);
// Those whose storages are gone, and recipes that nothing can ask for any more.
void forget_dead_versions();

// From now on nothing counts on what this storage holds, as long as it lives: it is resized behind the operators (FSDP
// frees and refills its unsharded parameters), or a collective writes it, which may be under way on another thread.
// What depends on its version is given a copy first; the storage itself no longer shares its memory.
void leave_alone(c10::StorageImpl& storage);
// An operator reads or writes it, or made it, at a moment that is not ordinary. It is left alone if another stream
// touches it than has made it, or while a graph is captured.
void touch(c10::StorageImpl& storage, streams::Moment moment, bool is_output);
// Why touch() left it alone; null: it did not.
const char* touched(c10::StorageImpl& storage);
// ---- who has the address of a storage

// Whether LibTorch can tell that somebody asks for an address to write to: since 2.15. Before, what is read again is
// compared by a checksum, and of numpy and DLPack the probe knows.
template <class Storage>
inline constexpr bool kCallsBefore = requires(Storage& storage) {
  storage.clear_materializer();
};
inline constexpr bool kSeesAddresses = kCallsBefore<c10::StorageImpl>;
// From now on it is noticed when the address of an ordinary storage is asked for; once: then it has to be called again.
void watch_address(c10::StorageImpl& storage);
// Where that cannot be noticed: somebody is about to have the address, and writes when he likes.
void expose(const at::Tensor& tensor);
// An operator is about to make copy-on-write storages of it, which LibTorch does not do while it is watched.
void forget_watch(c10::StorageImpl& storage);
// Storages whose addresses the kernels of this thread asked for: they are watched again when its operators have ended.
void watch_again();
// The program's variable is about to be given another storage or to lose its history.
void variable_changes(const at::Tensor& variable);

// It was given other memory: what would copy the old when the new is first written (LibTorch's lazy clones up to 2.15
// fail with an internal assertion there) goes.
void forget_sharing(c10::StorageImpl& storage);
// Whether what an ordinary tensor's storage holds can be followed: its memory is its own, of LibTorch's allocator, not
// shared with another process or with numpy, and nobody had it left alone.
bool is_steady(c10::StorageImpl& storage);

}  // namespace tapelens::rewrite
