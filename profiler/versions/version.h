// One storage version: what a storage holds between two writes, as long as it has it and after.
//
// Saved-tensor hooks (Hook) hold tensors of it. When they are all that keeps the storage, the version releases it, if
// there is a way back: each hook keeps an encoding of its tensor, or the version is rematerialized by a cheap operator
// from the versions that this read. Nothing is encoded or computed before that moment, so nothing has to be undone.
//
//   held      the storage has the values: the program, the graph or hooks keep it
//   released  only hooks had it, and gave it up: the values come back from an encoding, or are rematerialized
//   ended     it was written, or freed by the program: no hook had it, and what it held is gone unless it was pinned
//
// A version that is rematerialized depends on those that it reads: they are pinned (a copy-on-write clone, or the
// storage itself), or are released with a way back, or have hooks; a hook that goes pins what it leaves. A version that
// is about to be written while others depend on it gets a copy of its own as its pin.
//
// What a version is made of (storages, encodings, operators) are interfaces here: this library is tested without
// LibTorch, under the sanitizers. profiler/rewrite/storage_versions.h has them for LibTorch.
//
// A recipe (Rematerialization) owns the versions that it reads, and lives as long as something can still ask for it: a
// hook, a dependent, or a version that a chain of few operators makes of it. forget_useless_recipe() looks at that
// whenever a version is read and when a backward ended, so a tensor that is written in every step, as a parameter or a
// moving average is, keeps no chain to the first step.
//
// Locks: each version has one. A version is locked before the versions that it reads, which are older than it: so there
// is no circle. With a version's lock held no lock is taken but those and, by the interfaces, such as lock nothing else
// (the table of all versions, budget, trials, tally). No interface is destroyed with the lock of the table held.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "profiler/versions/pool.h"
#include "rewrites/recompute/release.h"

namespace tapelens::versions {

class Version;

// Memory that has the values of a version.
class Values {
 public:
  virtual ~Values() = default;
  virtual uint64_t bytes() const = 0;
  // A copy-on-write clone, or the storage itself: somebody else's writes have to be kept from it.
  virtual bool is_shared() const = 0;
  virtual bool is_storage() const { return false; }  // of the version
};
using ValuesPtr = std::shared_ptr<Values>;

// What a hook keeps instead of its tensor. Any number of threads may decode at once.
class Encoded {
 public:
  virtual ~Encoded() = default;
  virtual uint64_t bytes() const = 0;    // that it keeps
  virtual bool is_exact() const = 0;     // whether it gives the whole version, bit for bit
  virtual ValuesPtr decode() const = 0;  // of exact ones only
};

// One saved tensor of a version. Its members are called with the version's lock held.
class Hook {
 public:
  Hook(bool may_encode, bool may_rematerialize) : may_encode_(may_encode), may_rematerialize_(may_rematerialize) {}
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  // Null: its values have no shorter form.
  virtual std::shared_ptr<const Encoded> encode() = 0;
  virtual bool can_encode() const = 0;  // whether it is worth asking
  // Drops the tensor. `bytes` of the storage go with it (0: another hook counts them), `kept` are kept for it.
  virtual void release(uint64_t bytes, uint64_t kept) = 0;

  // Null: it has its tensor, or what it saved is rematerialized. Never changed after the release.
  const std::shared_ptr<const Encoded>& encoded() const { return encoded_; }

 protected:
  ~Hook() = default;

 private:
  friend class Version;
  std::shared_ptr<const Encoded> encoded_;
  const bool may_encode_, may_rematerialize_;  // asked for by a level, by name, or at this place by a plan
};

// How a version is recomputed: one call of a cheap operator, and the versions that it reads.
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

  // None: the values are those of the one source.
  virtual recompute::Cheap cheap() const = 0;
  virtual bool is_same(const Rematerialization& other) const = 0;
  virtual uint64_t key() const = 0;  // equal for calls that are the same
  // What it reads besides versions is too small to be followed: it is copied once it is to be kept.
  virtual bool has_small_sources() const = 0;  // as they were: copies are
  virtual uint64_t pin_small_sources() = 0;    // copies them; the bytes that it copied now

  struct Input {
    ValuesPtr values;
    bool is_ours = false;  // nobody else has them: they may be overwritten
  };
  // Runs the operator. One for each of `sources`, in their order. The result has memory of its own.
  virtual ValuesPtr run(std::vector<Input> inputs) = 0;

  std::vector<Source, PoolAllocator<Source>> sources;

 private:
  friend class Version;
  friend class Doomed;
  ValuesPtr make();
  // It depends on its sources no longer; those that it did are added to `released`, to be told without the lock.
  void unpin(std::vector<std::shared_ptr<Version>>& released);
  bool is_pinned_ = false;
  bool is_compared_ = false;  // what it reads could have been written unseen since the call
  std::unique_ptr<Rematerialization> next_doomed_;
};

// Destroys a recipe, with no version's lock held. What it owned goes after it, not inside its destructor: a row of
// versions may be longer than the stack is deep.
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

  // Before anybody else has it.
  void set_rematerialization(std::unique_ptr<Rematerialization> how);
  // A version that the same call has made before and that can still be had: one of those that read this one.
  std::shared_ptr<Version> made_before(const Rematerialization& call);
  void made(const std::shared_ptr<Version>& by_a_call, uint64_t key);  // the call's
  // Drops the recipe if no hook and no dependent needs it and too few of the versions that it reads are left to carry
  // it out, now or later. Visits few versions, however many there are.
  void forget_useless_recipe();

  // ---- what the program does

  // Its storage is about to be written by the program. What depends on it gets a copy. May throw: then it does not.
  void about_to_be_written();
  // Its storage was written, or belongs to another version by now.
  void overwritten() { is_overwritten_.store(true, std::memory_order_relaxed); }
  bool is_overwritten() const { return is_overwritten_.load(std::memory_order_relaxed); }
  void kept_by_program() { is_kept_by_program_.store(true, std::memory_order_relaxed); }  // it is a parameter's
  void kept_by_save() { is_kept_by_save_.store(true, std::memory_order_relaxed); }        // of which there is no hook
  // Nothing can be said of what the storage holds at another time.
  void leave_alone() { is_left_alone_.store(true, std::memory_order_relaxed); }
  bool is_left_alone() const { return is_left_alone_.load(std::memory_order_relaxed); }
  // Its address left PyTorch: somebody may write it whom nothing tells of. It is released no more, and only what the
  // program keeps in any case (a parameter) is still a source, if it can be compared with what it was.
  void exposed() { is_exposed_.store(true, std::memory_order_relaxed); }
  bool is_exposed() const { return is_exposed_.load(std::memory_order_relaxed); }

  // ---- what hooks do

  void add(Hook& hook);
  void remove(Hook& hook) noexcept;
  size_t hooks() const;
  // Releases the storage if hooks alone keep it and its values can come back. False: others keep it still, ask again.
  // Where something is thrown the storage stays, and failed() is told.
  bool try_release() noexcept;
  // For a hook whose tensor went.
  ValuesPtr unpack();

  std::mutex& lock() const { return lock_; }

 protected:
  // ---- the storage; with the lock held but for has_values()

  // It is there, and its version counter says that it was not written.
  virtual bool has_values() const = 0;
  // What is there is expected to stay: it may be pinned.
  virtual bool is_steady() const = 0;
  // Whether a write of it could go unseen, so that what dependents read has to be compared with what it was: checksum()
  // is asked for when the first of them is released, and each time that they read it.
  virtual bool is_compared() const = 0;
  virtual uint64_t checksum(const Values& values) const = 0;
  virtual ValuesPtr storage() = 0;                   // itself; null: it is gone
  virtual ValuesPtr clone() = 0;                     // copy-on-write, or itself, where its writes are told of before;
                                                     // null: it is gone, or neither can be had
  virtual ValuesPtr copy(const Values& values) = 0;  // never null
  enum class Holders : uint8_t { hooks, others_too, never_alone };
  virtual Holders holders() const = 0;  // of the storage, of which there are hooks; never_alone: not to be asked again

  // ---- what else decides

  // Whether it may cost so much for each backward to rematerialize it.
  virtual bool is_worth(const recompute::Chain& chain, uint64_t cost) = 0;
  // Whether it gives the same bits. Asked when all that it reads is pinned and the storage is still there.
  // `is_compared`: what it reads could have been written unseen since the call, so other calls of the kind prove
  // nothing.
  virtual bool is_right(const recompute::Chain& chain, bool is_compared) = 0;
  // Why it was not released: a few words.
  virtual void skipped(const char* reason) = 0;
  virtual void failed() noexcept = 0;  // in a catch block: try_release() threw

  bool is_alive() const { return !is_overwritten() && has_values(); }
  using Hooks = std::vector<Hook*, PoolAllocator<Hook*>>;
  const Hooks& all_hooks() const { return hooks_; }
  bool has_rematerialization() const { return rematerialization_ != nullptr; }
  ValuesPtr rematerialize() { return rematerialization_->make(); }

 private:
  friend class Rematerialization;
  struct View;     // for rewrites/recompute
  struct Hopeful;  // the same, of what may yet become of versions

  bool is_pinned() const { return pin_ != nullptr && (!pin_is_storage_ || is_alive()); }
  bool is_held_by_program() const;
  bool is_state() const;    // held by the program longer than a graph is
  bool is_certain() const;  // pinned, or released and known to come back
  bool is_there() const;    // for a version that reads it, and stays
  void note_checksum();     // if it is compared
  ValuesPtr checked(ValuesPtr values) const;
  bool is_made_by(const Rematerialization& call) const;
  bool try_release_locked();
  bool release_encoded();
  bool release_rematerializable();
  bool pin_sources(uint32_t operators, uint64_t& copied);
  ValuesPtr values(bool& is_ours);
  ValuesPtr values_as_source(bool& is_ours);
  void dependent_gone() noexcept;
  // A recipe that no hook and no dependent will ask for.
  void take_useless(Doomed& doomed);

  const uint64_t bytes_;
  const uint32_t first_backward_;
  std::atomic<bool> is_overwritten_{false}, is_kept_by_save_{false}, is_kept_by_program_{false}, is_left_alone_{false},
      is_exposed_{false};

  mutable std::mutex lock_;  // of all below
  bool is_released_ = false;
  Hooks hooks_;
  std::unique_ptr<Rematerialization> rematerialization_;
  // By calls that read this one first, by their keys.
  using Made = std::unordered_multimap<uint64_t, std::weak_ptr<Version>, std::hash<uint64_t>, std::equal_to<>,
                                       PoolAllocator<std::pair<const uint64_t, std::weak_ptr<Version>>>>;
  Made made_;
  size_t next_purge_ = 4;  // of those that are gone
  recompute::Dependents dependents_;
  std::optional<uint64_t> checksum_;  // of what dependents read
  ValuesPtr pin_;                     // for dependents
  bool pin_is_storage_ = false;
  std::weak_ptr<const Encoded> exact_;        // of a hook
  std::shared_ptr<const Encoded> exact_pin_;  // that of a hook that went, for dependents
  ValuesPtr unpacked_;                        // as long as other hooks are expected to want it
  size_t times_unpacked_ = 0;
};

// Of this process: a version that is older than a backward is held by the program, and by no graph.
uint32_t backwards_ended();
void backward_ended();

}  // namespace tapelens::versions
