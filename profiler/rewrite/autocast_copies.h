// Autocast's copies of weights, which need no memory while no operator reads them.
//
// Autocast casts a weight at its first use, and keeps the copy until its context ends, which is mostly the whole
// forward: two bytes for each parameter, at the peak. Nearly every weight has one use. So when the copy's operator has
// ended, and the saves of the copy can be made of the weight again, its storage frees its memory. The copy stays
// in autocast's cache, with its node in the graph: the graph and the sums of gradients do not change.
//
// An operator that reads a copy later finds it with its values: before the operator runs, they are made of the weight
// again, in new memory. Before the weight is written, they are, too: autocast's copy would keep the old ones. The
// copies of a weight that was read again keep their memory from then on. Other code cannot have the copy: no Python
// object of it exists, and only operators get it from the cache. If it did, LibTorch raises an error instead of
// reading.
#pragma once

#include <ATen/record_function.h>

#include <memory>

#include "profiler/rewrite/storage_versions.h"

namespace tapelens::rewrite {

// The reference of autocast's cache to a copy.
class AutocastCopy {
 public:
  AutocastCopy(const at::Tensor& copy, const StorageVersionPtr& weight);
  // References of the cache: 1, or 0 after the end of its context. Others have the copy, too, if it is more.
  uint32_t references() const { return static_cast<uint32_t>(copy_.use_count()); }
  // Whether the cache alone has it, and it has one reader.
  bool is_only_cached() const;
  at::Tensor tensor() const { return at::Tensor(copy_.lock()); }  // undefined: it is gone
  StorageVersionPtr weight() const { return weight_.lock(); }

 private:
  c10::weak_intrusive_ptr<c10::TensorImpl> copy_;
  std::weak_ptr<StorageVersion> weight_;
};

// For the result of a call that ended. Null: autocast does not keep it, or this PyTorch cannot tell.
std::unique_ptr<AutocastCopy> autocast_copy(const RecordedCall& call, const at::Tensor& result);

// The copies without memory. All functions may be called by any thread; the lock is a leaf.
namespace autocast_copies {

// Whether operators that this thread calls now are autocast's.
bool is_autocast_on();
// The bit of OpenCall::rewrite_mark for an operator that began so.
inline constexpr uint32_t kBeganUnderAutocast = 4;
void are_known();  // from now on there may be such copies
// An operator of this thread is about to read these.
void give_memory(const at::RecordFunction& function);
// `weight` is about to be written.
void give_memory_of(const c10::StorageImpl* weight);
void add(const c10::StorageImpl* weight, StorageVersionPtr copy);
void remove(const c10::StorageImpl* weight, const StorageVersion* copy);
// Keeps the copy's memory until a cast of as many elements begins, or the copy is gone.
void free_at_next_cast(int64_t elements, std::weak_ptr<StorageVersion> copy);
// Forgets those whose storages are gone: after a backward, and when many were added since.
void forget_gone();
void forget_gone_sometimes();

}  // namespace autocast_copies

}  // namespace tapelens::rewrite
