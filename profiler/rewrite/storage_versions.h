// The storage versions of this process (defined in profiler/versions/version.h): the version of each storage, and
// LibTorch's implementation of the versions' interfaces.
//
// Locks: the table of all versions has one lock. A thread may take it while it holds a version's lock, never the other
// way round. While the table's lock is held, no version or rematerialization may be destroyed.
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

class AutocastCopy;
struct RecordedCall;
class SavedTensorHook;

// Null if the tensor has no storage. has_storage() of a wrapper answers for the wrapped tensor.
inline c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}
bool is_copy_on_write(const c10::StorageImpl& storage);

class StorageValues final : public versions::Values {
 public:
  // Values that this thread just made.
  explicit StorageValues(c10::Storage storage)
      : memory_(std::move(storage)), is_captured_(streams::is_capturing(memory_.storage().device())) {}
  // The storage of the version itself, which the program may write, with the stream that made it.
  StorageValues(c10::Storage storage, std::optional<c10::Stream> stream)
      : memory_(std::move(storage), stream), is_storage_(true) {}
  const streams::Memory& memory() const { return memory_; }
  uint64_t bytes() const override { return memory_.storage().nbytes(); }
  // Captured memory has no values yet, and gets other values at each replay of the graph.
  bool is_shared() const override {
    return is_storage_ || is_captured_ || is_copy_on_write(*memory_.storage().unsafeGetStorageImpl());
  }
  bool is_storage() const override { return is_storage_; }

 private:
  streams::Memory memory_;
  bool is_storage_ = false, is_captured_ = false;
};
// The storage, for the operators that this thread runs next.
inline const c10::Storage& storage_here(const versions::ValuesPtr& values) {
  return static_cast<const StorageValues&>(*values).memory().here();
}

class StorageVersion;
using StorageVersionPtr = std::shared_ptr<StorageVersion>;

class StorageVersion final : public versions::Version, public std::enable_shared_from_this<StorageVersion> {
 public:
  explicit StorageVersion(const at::Tensor& tensor);
  // The version of a storage that is left alone: only a mark.
  explicit StorageVersion(c10::StorageImpl& storage);
  ~StorageVersion() override;

  // Call it before other threads have the version.
  void set_rematerialization(std::unique_ptr<RecordedCall> call);
  // The id of the rewrite that could rematerialize it; empty: none.
  std::string_view rematerialized_by() const { return rematerialized_by_; }
  // Whether the tensor holds this version.
  bool is_of(const at::Tensor& tensor) const;
  bool is_storage_gone() const { return storage_.expired(); }
  bool is_storage(const c10::StorageImpl* storage) const { return storage_._unsafe_get_target() == storage; }
  const c10::StorageImpl* storage_address() const { return storage_._unsafe_get_target(); }  // perhaps dead
  // The stream on which the storage was made; none: on the CPU.
  const std::optional<c10::Stream>& stream() const { return stream_; }
  // All hooks keep their tensors of this version; this is counted, with the reason.
  void tell_left_alone(const char* reason);
  // Makes the hooks of this version (only those that saved the tensor `only`, unless it is null) keep the program's
  // variable from now on. The variable is about to get another storage, to lose its history, or to be written, and
  // backward will check it.
  void keep_variables(const c10::TensorImpl* only);
  // A hook dropped its never-read tensor at once. It would have to hold the tensor again if another stream uses it, or
  // if its address is known to other code.
  void add_without(SavedTensorHook& hook);
  void remove_without(SavedTensorHook& hook);
  void hold_again(c10::StorageImpl& storage);
  const char* touched() const { return touched_.load(std::memory_order_relaxed); }
  void set_touched(const char* reason) { touched_.store(reason, std::memory_order_relaxed); }
  // Continues the version of the same storage before it was written. Call it before other threads have this version.
  void follow(const StorageVersion& former);

  // ---- autocast's copies of weights (autocast_copies.h)

  // Call it before other threads have the version.
  void set_autocast_copy(std::unique_ptr<AutocastCopy> copy);
  // The storage lacks its memory, or may lose it now: an operator is about to read it.
  bool is_without_memory() const { return is_without_memory_.load(); }
  // Makes the values again, in new memory of the storage: for a reader, or before its weight is written. No effect if
  // it has its memory. Throws if the allocator has no memory; the program cannot read the storage then.
  enum class For : uint8_t { reader, write };
  void give_memory(For what);
  // Frees the memory of a storage that is without by now (autocast_copies::free_at_next_cast()).
  void free_memory();
  // The storage is gone: nothing must come back for it.
  void without_copy() noexcept;
  StorageVersionPtr weight_of_copy() const;  // null if the weight is gone, or if this is not a copy
  // A weight whose copies have several readers.
  bool has_reused_copies() const { return has_reused_copies_.load(std::memory_order_relaxed); }
  void set_reused_copies() { has_reused_copies_.store(true, std::memory_order_relaxed); }

 private:
  void before_write() override;
  void released() noexcept override TAPELENS_REQUIRES(lock());
  bool has_values() const override;
  bool is_steady() const override TAPELENS_REQUIRES(lock());
  bool is_compared() const override TAPELENS_REQUIRES(lock());
  uint64_t checksum(const versions::Values& values) const override TAPELENS_REQUIRES(lock());
  versions::ValuesPtr storage() override TAPELENS_REQUIRES(lock());
  versions::ValuesPtr clone() override TAPELENS_REQUIRES(lock());
  bool is_sole_holder(const versions::Values& pin) const override TAPELENS_REQUIRES(lock());
  versions::ValuesPtr copy(const versions::Values& values) override TAPELENS_REQUIRES(lock());
  Holders holders() const override TAPELENS_REQUIRES(lock());
  bool is_worth(const recompute::Chain& chain, uint64_t cost) override TAPELENS_REQUIRES(lock());
  bool is_right(const recompute::Chain& chain, bool is_compared) override TAPELENS_REQUIRES(lock());
  std::shared_ptr<versions::Offloaded> offload(uint64_t order) override TAPELENS_REQUIRES(lock());
  void skipped(const char* reason) override TAPELENS_REQUIRES(lock());
  void failed() noexcept override TAPELENS_REQUIRES(lock());

  void free_storage(c10::StorageImpl& storage) TAPELENS_REQUIRES(lock());
  void without_memory_ended() noexcept;
  // The rewrite that would release it, for counts.
  RewriteInfo released_by(const SavedTensorHook& hook) const;

  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  c10::VariableVersion counter_;
  uint32_t version_ = 0;
  std::optional<c10::Stream> stream_;
  std::atomic<const char*> touched_{nullptr};  // touch()
  std::vector<SavedTensorHook*, versions::PoolAllocator<SavedTensorHook*>> without_ TAPELENS_GUARDED_BY(lock());
  std::string_view rematerialized_by_;
  std::unique_ptr<AutocastCopy> copy_;
  std::atomic<bool> is_without_memory_{false}, has_reused_copies_{false};
  bool is_memory_free_ TAPELENS_GUARDED_BY(lock()) = false;  // is_without_memory_, and its block is free
};

// The version that a tensor holds. Versions of dead storages are removed from time to time.
StorageVersionPtr find_version(const at::Tensor& tensor);          // null: not known
StorageVersionPtr known_version(const c10::StorageImpl* storage);  // the newest, perhaps of a dead storage
StorageVersionPtr version_of(const at::Tensor& tensor);            // made if not known
// `call`: the call that made it; null: not known.
StorageVersionPtr new_version(const at::Tensor& tensor, std::unique_ptr<RecordedCall> call);
// A storage is about to be written: adds its version, if known, to `written`. After the write the version is
// overwritten().
void note_write(const c10::StorageImpl& storage, std::vector<StorageVersionPtr>& written);
// Removes versions whose storages are gone, and recipes that are no longer needed.
void forget_dead_versions();

// From now on this storage's content is unreliable, for its lifetime: it is resized outside of operators (FSDP frees
// and refills its unsharded parameters), or a collective writes it, perhaps on another thread. Dependents of its
// version get a copy first; the storage itself no longer shares its memory.
void leave_alone(c10::StorageImpl& storage);
// An operator reads, writes or made the storage under a use of streams that is not ordinary. The storage is left alone
// if another stream than its own touches it, or during the capture of a graph.
void touch(c10::StorageImpl& storage, streams::StreamUse use, bool is_output);
// The reason why touch() left it alone; null: it did not.
const char* touched(c10::StorageImpl& storage);
// ---- requests for the address of a storage

// Whether LibTorch reports requests for an address to write to: since 2.15. Before, a checksum compares values that are
// read again, and the probe hooks numpy and DLPack.
template <class Storage>
inline constexpr bool kCallsBefore = requires(Storage& storage) {
  storage.clear_materializer();
};
inline constexpr bool kSeesAddresses = kCallsBefore<c10::StorageImpl>;
// From now on a request for the address of an ordinary storage is noticed. This works once: call it again afterwards.
void watch_address(c10::StorageImpl& storage);
// For LibTorch versions that do not report requests: other code is about to get the address, and may write at any time.
void expose(const at::Tensor& tensor);
// An operator is about to make copy-on-write storages of it, which LibTorch refuses for a watched storage.
void forget_watch(c10::StorageImpl& storage);
// Watches storages again whose addresses the kernels of this thread requested, after its operators have ended.
void watch_again();
// The program's variable is about to get another storage or to lose its history.
void variable_changes(const at::Tensor& variable);

// The storage got other memory: removes the context that would copy the old memory at the first write of the new.
// LibTorch's lazy clones up to 2.15 fail there with an internal assertion.
void forget_sharing(c10::StorageImpl& storage);
// Whether the content of an ordinary tensor's storage can be followed. Its memory must be its own, from LibTorch's
// allocator, and not shared with another process or numpy, and the storage must not be left alone.
bool is_steady(c10::StorageImpl& storage);

}  // namespace tapelens::rewrite
