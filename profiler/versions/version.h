// One storage version: the content of a storage between two writes, while the storage has it and afterwards.
//
// Saved-tensor hooks (Hook) hold tensors of it. When only hooks keep the storage, the version releases it if its values
// can come back: each hook keeps an encoding of its tensor, or an operator rematerializes the version from the versions
// that it read. Nothing is encoded or computed before that moment, so nothing must be undone.
//
//   held      the storage has the values: the program, the graph or hooks keep it
//   released  only hooks had it, and dropped it: the values come back from an encoding or a rematerialization
//   ended     the program wrote or freed it: no hook had it, and its values are gone unless they were pinned
//
// If neither is possible, the values may move to other memory (Offloaded): from a device to the host. Such a version is
// leaving (departures.h says when it goes): it stays held while its copy is made, and is released afterwards.
//
// A version that is rematerialized depends on the versions that it reads. These are pinned (a copy-on-write clone, or
// the storage itself), or released with a way back, or have hooks; the last hook pins the values when it goes. If a
// version with dependents is about to be written, it gets a copy as its pin.
//
// A version that was offloaded, or that a costly operator rematerializes, is made once in each backward: its values
// stay until each of its hooks has them. So a segment of operators runs once, when the backward first reads a value of
// it.
//
// The parts of a version (storages, encodings, operators) are interfaces here, so that this library can be tested
// without LibTorch, under the sanitizers. profiler/rewrite/storage_versions.h implements them for LibTorch.
//
// A recipe (Rematerialization) owns the versions that it reads. It lives as long as a hook, a dependent, or a version
// that a short chain makes from this one can still need it. forget_useless_recipe() checks that whenever a version is
// read and when a backward ended. So a tensor that is written in every step, such as a parameter or a moving average,
// keeps no chain back to the first step.
//
// Locks: each version has one. A version is locked before the versions that it reads, which are older. This excludes
// cycles. While a version's lock is held, only these locks and, through the interfaces, leaf locks are taken (the
// tables of all versions and of autocast's copies, budget, trials, tally). No interface is destroyed while the lock of
// a table is held.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "policy/recompute/release.h"
#include "profiler/versions/pool.h"

namespace tapelens::versions {

class Version;

// Memory that has the values of a version.
class Values {
 public:
  virtual ~Values() = default;
  virtual uint64_t bytes() const = 0;
  // A copy-on-write clone, or the storage itself: it must be protected from writes of other owners.
  virtual bool is_shared() const = 0;
  virtual bool is_storage() const { return false; }  // the values are the storage of the version
};
using ValuesPtr = std::shared_ptr<Values>;

// The data that a hook keeps instead of its tensor. Threads may decode concurrently.
class Encoded {
 public:
  virtual ~Encoded() = default;
  virtual uint64_t bytes() const = 0;    // size of the encoding
  virtual bool is_exact() const = 0;     // whether it returns the whole version, bit for bit
  virtual ValuesPtr decode() const = 0;  // only if exact
};

// The values of a version in other memory, copied without waiting. Threads may fetch concurrently.
class Offloaded {
 public:
  virtual ~Offloaded() = default;
  // The storage is freed next: its memory may be reused after the copy is done.
  virtual void end_copy() = 0;
  // After end_copy(): in new memory of the device, without another owner.
  virtual ValuesPtr fetch() = 0;
};

// The ways that a level, a name, or a plan at this place enables for a hook.
struct Ways {
  bool encode = false, rematerialize = false, offload = false;
};
enum class ReleaseKind : uint8_t { encoded, rematerialized, offloaded };

// One saved tensor of a version. Its members are called with the version's lock held.
class Hook {
 public:
  // `order`: grows from save to save. The backward reads the saves in about the reverse order.
  explicit Hook(Ways ways, uint64_t order = 0) : ways_(ways), order_(order) {}
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  // Null if its values have no shorter form.
  virtual std::shared_ptr<const Encoded> encode() = 0;
  virtual bool can_encode() const = 0;  // whether encode() is worth calling
  // Drops the tensor, whose values come back in this way. This frees `bytes` of the storage (0: another hook counts
  // them) and keeps `kept` bytes for it.
  virtual void release(ReleaseKind way, uint64_t bytes, uint64_t kept) = 0;

  uint64_t order() const { return order_; }
  // Null: it has its tensor, or gets its values from the version. Never changes after the release.
  const std::shared_ptr<const Encoded>& encoded() const { return encoded_; }

 protected:
  ~Hook() = default;

 private:
  friend class Version;
  std::shared_ptr<const Encoded> encoded_;
  mutable bool is_unpacked_ = false;  // since its version last dropped the values
  const Ways ways_;
  const uint64_t order_;
};

// How a version is recomputed: one call of an operator, and the versions that it reads.
class Rematerialization : public Pooled {
 public:
  struct Source {
    std::shared_ptr<Version> version;
    bool is_counted = false;  // among the dependents of `version`
  };

  Rematerialization() = default;
  Rematerialization(const Rematerialization&) = delete;
  Rematerialization& operator=(const Rematerialization&) = delete;
  virtual ~Rematerialization();

  // None: the values equal those of the only source.
  virtual recompute::Repeatable maker() const = 0;
  virtual uint64_t cost(uint64_t bytes) const = 0;  // for a result of that size
  virtual bool is_same(const Rematerialization& other) const = 0;
  virtual uint64_t key() const = 0;  // equal for equal calls
  // Inputs that are too small to be versions are copied when the recipe must outlive them.
  virtual bool has_small_sources() const = 0;  // unchanged; copies are
  virtual uint64_t pin_small_sources() = 0;    // copies them; returns the bytes copied now

  struct Input {
    ValuesPtr values;
    bool is_ours = false;  // no other owner: they may be overwritten
  };
  // Runs the operator with one input per source, in order. The result has new memory.
  virtual ValuesPtr run(std::vector<Input> inputs) = 0;

  std::vector<Source, PoolAllocator<Source>> sources;

 private:
  friend class Version;
  friend class Doomed;
  struct Result {
    ValuesPtr values;
    bool is_ours = false;    // no other owner: they may be overwritten
    bool is_costly = false;  // a costly operator ran for them
  };
  // `keeps`: costly values stay for the hooks that still need them.
  Result make(bool keeps);
  // Removes its dependency on its sources. Adds the sources to `released`, which must be notified without the lock.
  void unpin(std::vector<std::shared_ptr<Version>>& released);
  bool is_pinned_ = false;
  bool is_compared_ = false;  // its inputs could have been written unseen since the call
  std::unique_ptr<Rematerialization> next_doomed_;
};

// Destroys a recipe without any version's lock. The recipe's versions are destroyed after it, not inside its
// destructor: a long chain of versions could overflow the stack.
class Doomed {
 public:
  Doomed() = default;
  Doomed(const Doomed&) = delete;
  Doomed& operator=(const Doomed&) = delete;
  ~Doomed() { destroy(std::move(recipe_)); }
  void take(std::unique_ptr<Rematerialization>& recipe) { recipe_ = std::move(recipe); }

 private:
  friend class Version;
  static void destroy(std::unique_ptr<Rematerialization> recipe) noexcept;
  std::unique_ptr<Rematerialization> recipe_;
};

class Version {
 public:
  explicit Version(uint64_t bytes);
  Version(const Version&) = delete;
  Version& operator=(const Version&) = delete;
  virtual ~Version();

  uint64_t bytes() const { return bytes_; }

  // Call it before other threads have the version.
  void set_rematerialization(std::unique_ptr<Rematerialization> how) TAPELENS_NOT_ANALYZED;
  // A version that an equal call made earlier and that is still available, among the versions that read this one.
  std::shared_ptr<Version> made_before(const Rematerialization& call) TAPELENS_EXCLUDES(lock_);
  void made(const std::shared_ptr<Version>& by_a_call, uint64_t key) TAPELENS_EXCLUDES(lock_);  // `key`: the call's
  // Drops the recipe if no hook and no dependent needs it and too few of its source versions remain to run it, now or
  // later. Visits a bounded number of versions.
  void forget_useless_recipe() TAPELENS_EXCLUDES(lock_);

  // ---- what the program does

  // The program is about to write its storage. Dependents get a copy. May throw: the program then does not write.
  void about_to_be_written() TAPELENS_EXCLUDES(lock_);
  // Its storage was written, or now belongs to another version.
  void overwritten() { is_overwritten_.store(true, std::memory_order_relaxed); }
  bool is_overwritten() const { return is_overwritten_.load(std::memory_order_relaxed); }
  void kept_by_program() { is_kept_by_program_.store(true, std::memory_order_relaxed); }  // by a parameter
  bool is_kept_by_program() const { return is_kept_by_program_.load(std::memory_order_relaxed); }
  void kept_by_save() { is_kept_by_save_.store(true, std::memory_order_relaxed); }  // by a save without a hook
  // The content of the storage at another time is unknown.
  void leave_alone() { is_left_alone_.store(true, std::memory_order_relaxed); }
  bool is_left_alone() const { return is_left_alone_.load(std::memory_order_relaxed); }
  // Its address left PyTorch: other code may write it without a notification. It is not released any more. Only
  // storages that the program keeps anyway (a parameter) remain sources, if their values can be compared.
  void exposed() { is_exposed_.store(true, std::memory_order_relaxed); }
  bool is_exposed() const { return is_exposed_.load(std::memory_order_relaxed); }

  // ---- what hooks do

  void add(Hook& hook) TAPELENS_EXCLUDES(lock_);
  void remove(Hook& hook) noexcept TAPELENS_EXCLUDES(lock_);
  size_t hooks() const TAPELENS_EXCLUDES(lock_);
  // Releases the storage if only hooks keep it and its values can come back. False: others still keep it, try again. On
  // an exception the storage stays, and failed() is called.
  bool try_release() noexcept TAPELENS_EXCLUDES(lock_);
  // Whether only an offload can release it. Then call begin_offload() and later end_offload() (departures.h).
  bool is_leaving() const { return is_leaving_.load(std::memory_order_relaxed); }
  // The highest order of its hooks; 0: it has none.
  uint64_t order() const TAPELENS_EXCLUDES(lock_);
  enum class Leaving : uint8_t {
    ok,
    held,   // others hold it again: not leaving any more, try_release() may find it free later
    ended,  // nothing remains to do: it is gone, was written, or cannot be offloaded
  };
  // Begins the copy to other memory.
  Leaving begin_offload() noexcept TAPELENS_EXCLUDES(lock_);
  // Releases the storage, whose memory may be reused after the copy. Begins the copy if it was not.
  Leaving end_offload() noexcept TAPELENS_EXCLUDES(lock_);
  // For a hook of it whose tensor was released.
  ValuesPtr unpack(const Hook& hook) TAPELENS_EXCLUDES(lock_);

  // ---- readers other than versions: a rewrite that computes with the values in the backward

  // Keeps the values for one more reader, as for a dependent. False: they cannot be kept, or are not known to be right.
  bool add_reader() TAPELENS_EXCLUDES(lock_);
  // Throws if they are lost: no memory was left for a copy when the program wrote them.
  ValuesPtr read() TAPELENS_EXCLUDES(lock_);
  // The kept memory, if nothing else has the values: the only reader may write it, and never calls read() again. Else
  // null.
  ValuesPtr take() TAPELENS_EXCLUDES(lock_);
  void remove_reader() noexcept TAPELENS_EXCLUDES(lock_) { dependent_gone(); }
  // Calls look(recipe) if it has one, with the lock held.
  template <class Look>
  void look_at_recipe(Look look) const TAPELENS_EXCLUDES(lock_) {
    const base::MutexLock guard(lock_);
    if (rematerialization_ != nullptr) look(std::as_const(*rematerialization_));
  }

  base::Mutex& lock() const TAPELENS_RETURNS_LOCK(lock_) { return lock_; }

 protected:
  // ---- the storage

  // The storage exists, and its version counter shows no write.
  virtual bool has_values() const = 0;
  // The values are expected to stay: they may be pinned.
  virtual bool is_steady() const TAPELENS_REQUIRES(lock_) = 0;
  // Whether a write could go unseen, so that the values that dependents read must be compared: checksum() is called
  // when the first of them is released, and each time that they read it.
  virtual bool is_compared() const TAPELENS_REQUIRES(lock_) = 0;
  virtual uint64_t checksum(const Values& values) const TAPELENS_REQUIRES(lock_) = 0;
  // The storage itself; null: it is gone.
  virtual ValuesPtr storage() TAPELENS_REQUIRES(lock_) = 0;
  // Copy-on-write, or itself if its writes are announced; null: it is gone, or neither is possible.
  virtual ValuesPtr clone() TAPELENS_REQUIRES(lock_) = 0;
  // Whether nothing else has the memory of this pin.
  virtual bool is_sole_holder(const Values& pin) const TAPELENS_REQUIRES(lock_) = 0;
  // Never null.
  virtual ValuesPtr copy(const Values& values) TAPELENS_REQUIRES(lock_) = 0;
  // The program is about to write the storage.
  virtual void before_write() TAPELENS_EXCLUDES(lock_) {}
  // Its hooks dropped the storage, and it can be rematerialized.
  virtual void released() noexcept TAPELENS_REQUIRES(lock_) {}
  // never_alone: the answer stays. `cache`: only hooks and a cache, which can do without the memory (released()).
  enum class Holders : uint8_t { hooks, others_too, never_alone, cache };
  // Holders of the storage, which has hooks.
  virtual Holders holders() const TAPELENS_REQUIRES(lock_) = 0;

  // ---- other decisions

  // Whether rematerializing it in each backward is worth the cost.
  virtual bool is_worth(const recompute::Chain& chain, uint64_t cost) TAPELENS_REQUIRES(lock_) = 0;
  // Whether the chain reproduces the bits. Called when all its inputs are pinned and the storage still exists.
  // `is_compared`: its inputs could have been written unseen since the call, so other calls of the kind prove nothing.
  virtual bool is_right(const recompute::Chain& chain, bool is_compared) TAPELENS_REQUIRES(lock_) = 0;
  // Begins to copy the storage to other memory. Null: that is not possible, and counted.
  virtual std::shared_ptr<Offloaded> offload(uint64_t order) TAPELENS_REQUIRES(lock_) = 0;
  // The reason why it was not released: a few words.
  virtual void skipped(const char* reason) TAPELENS_REQUIRES(lock_) = 0;
  // In a catch block: try_release() threw, or an offload.
  virtual void failed() noexcept TAPELENS_REQUIRES(lock_) = 0;

  bool is_alive() const { return !is_overwritten() && has_values(); }
  using Hooks = std::vector<Hook*, PoolAllocator<Hook*>>;
  const Hooks& all_hooks() const TAPELENS_REQUIRES(lock_) { return hooks_; }
  bool has_rematerialization() const TAPELENS_REQUIRES(lock_) { return rematerialization_ != nullptr; }
  // In released(): keeps the way back until remove_reader().
  void add_reader_of_released() TAPELENS_REQUIRES(lock_) { dependents_.add(bytes_, 0); }
  // Keeps nothing: for a comparison. Others may have these values, too.
  ValuesPtr rematerialize() TAPELENS_REQUIRES(lock_) { return rematerialization_->make(false).values; }
  // The same in memory without another owner.
  ValuesPtr rematerialize_own() TAPELENS_REQUIRES(lock_) {
    Rematerialization::Result made = rematerialization_->make(false);
    return made.is_ours ? std::move(made.values) : copy(*made.values);
  }

 private:
  friend class Rematerialization;
  struct View;     // for policy/recompute
  struct Hopeful;  // the same, for the possible future of versions

  bool is_pinned() const TAPELENS_REQUIRES(lock_) { return pin_ != nullptr && (!pin_is_storage_ || is_alive()); }
  bool is_held_by_program() const;
  bool is_state() const;  // the program holds it longer than a graph lives
  // Its values in the storage are those of the version, as far as is known.
  bool is_trusted() const TAPELENS_REQUIRES(lock_) { return !is_exposed() || (is_state() && is_steady()); }
  // Pinned, or released and known to come back.
  bool is_certain() const TAPELENS_REQUIRES(lock_);
  // Available to a version that reads it, and stays.
  bool is_there() const TAPELENS_REQUIRES(lock_);
  // If it is compared.
  void note_checksum() TAPELENS_REQUIRES(lock_);
  ValuesPtr checked(ValuesPtr values) const TAPELENS_REQUIRES(lock_);
  bool is_made_by(const Rematerialization& call) const TAPELENS_EXCLUDES(lock_);
  bool may_be_released() const TAPELENS_REQUIRES(lock_);
  bool try_release_locked() TAPELENS_REQUIRES(lock_);
  bool release_encoded() TAPELENS_REQUIRES(lock_);
  bool release_rematerializable() TAPELENS_REQUIRES(lock_);
  // Whether it can be offloaded now; gives up otherwise.
  Leaving leaving() TAPELENS_REQUIRES(lock_);
  template <class Do>
  Leaving leave(Do step) noexcept TAPELENS_EXCLUDES(lock_);
  uint64_t order_locked() const TAPELENS_REQUIRES(lock_);
  bool is_encoded() const TAPELENS_REQUIRES(lock_) { return !exact_.expired() || is_offloaded(); }
  bool is_offloaded() const TAPELENS_REQUIRES(lock_) { return is_released_ && offloaded_ != nullptr; }
  bool pin_sources(uint32_t operators, uint64_t& copied) TAPELENS_REQUIRES(lock_);
  using Result = Rematerialization::Result;
  Result values(bool keeps) TAPELENS_REQUIRES(lock_);
  Result values_as_source(bool keeps) TAPELENS_EXCLUDES(lock_);
  bool is_kept_once_made() const TAPELENS_REQUIRES(lock_);
  bool has_each_hook_its_values() const TAPELENS_REQUIRES(lock_);
  // Keeps the values while hooks need them; drops them afterwards.
  void keep(const ValuesPtr& values) TAPELENS_REQUIRES(lock_);
  void dependent_gone() noexcept TAPELENS_EXCLUDES(lock_);
  // Takes a recipe that no hook and no dependent will need.
  void take_useless(Doomed& doomed) TAPELENS_REQUIRES(lock_);

  const uint64_t bytes_;
  const uint32_t first_backward_;
  std::atomic<bool> is_overwritten_{false}, is_kept_by_save_{false}, is_kept_by_program_{false}, is_left_alone_{false},
      is_exposed_{false}, is_leaving_{false};

  mutable base::Mutex lock_;
  bool is_released_ TAPELENS_GUARDED_BY(lock_) = false;
  bool is_refused_ TAPELENS_GUARDED_BY(lock_) = false;  // it is not rematerialized, which was counted
  Hooks hooks_ TAPELENS_GUARDED_BY(lock_);
  std::unique_ptr<Rematerialization> rematerialization_ TAPELENS_GUARDED_BY(lock_);
  // Versions made by calls that read this one first, by the calls' keys.
  using Made = std::unordered_multimap<uint64_t, std::weak_ptr<Version>, std::hash<uint64_t>, std::equal_to<>,
                                       PoolAllocator<std::pair<const uint64_t, std::weak_ptr<Version>>>>;
  Made made_ TAPELENS_GUARDED_BY(lock_);
  size_t next_purge_ TAPELENS_GUARDED_BY(lock_) = 4;  // of dead entries
  recompute::Dependents dependents_ TAPELENS_GUARDED_BY(lock_);
  std::optional<uint64_t> checksum_ TAPELENS_GUARDED_BY(lock_);  // checksum of the values that dependents read
  ValuesPtr pin_ TAPELENS_GUARDED_BY(lock_);                     // for dependents
  bool pin_is_storage_ TAPELENS_GUARDED_BY(lock_) = false;
  std::weak_ptr<const Encoded> exact_ TAPELENS_GUARDED_BY(lock_);  // exact encoding of a hook
  std::shared_ptr<const Encoded> exact_pin_
      TAPELENS_GUARDED_BY(lock_);                                    // exact encoding of a removed hook, for dependents
  std::shared_ptr<Offloaded> offloaded_ TAPELENS_GUARDED_BY(lock_);  // from the begin of the copy on
  ValuesPtr unpacked_ TAPELENS_GUARDED_BY(lock_);                    // while other hooks are expected to need it
};

// Per process: a version that is older than the last backward is held by the program, not by a graph.
uint32_t backwards_ended();
void backward_ended();

}  // namespace tapelens::versions
