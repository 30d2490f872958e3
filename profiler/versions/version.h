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
// Locks: each version has one. A version is locked before the versions that it reads, which are older than it: so there
// is no circle. With a version's lock held no lock is taken but those and, by the interfaces, such as lock nothing else
// (the table of all versions, budget, trials, tally). No interface is destroyed with the lock of the table held.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

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
class Rematerialization {
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
  // What it reads besides versions is too small to be followed: it is copied once it is to be kept.
  virtual bool has_small_sources() const = 0;  // as they were: copies are
  virtual uint64_t pin_small_sources() = 0;    // copies them; the bytes that it copied now

  struct Input {
    ValuesPtr values;
    bool is_ours = false;  // nobody else has them: they may be overwritten
  };
  // Runs the operator. One for each of `sources`, in their order. The result has memory of its own.
  virtual ValuesPtr run(std::vector<Input> inputs) = 0;

  std::vector<Source> sources;

 private:
  friend class Version;
  ValuesPtr make();
  // It depends on its sources no longer; those that it did are added to `released`, to be told without the lock.
  void unpin(std::vector<std::shared_ptr<Version>>& released);
  bool is_pinned_ = false;
};

class Version {
 public:
  explicit Version(uint64_t bytes);
  Version(const Version&) = delete;
  Version& operator=(const Version&) = delete;
  virtual ~Version() = default;

  uint64_t bytes() const { return bytes_; }

  // Before anybody else has it.
  void set_rematerialization(std::unique_ptr<Rematerialization> how);
  // A version that the same call has made before and that can still be had: one of those that read this one.
  std::shared_ptr<Version> made_before(const Rematerialization& call);
  void made(const std::shared_ptr<Version>& by_a_call);

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
  virtual bool is_right(const recompute::Chain& chain) = 0;
  // Why it was not released: a few words.
  virtual void skipped(const char* reason) = 0;
  virtual void failed() noexcept = 0;  // in a catch block: try_release() threw

  bool is_alive() const { return !is_overwritten() && has_values(); }
  const std::vector<Hook*>& all_hooks() const { return hooks_; }
  bool has_rematerialization() const { return rematerialization_ != nullptr; }
  ValuesPtr rematerialize() { return rematerialization_->make(); }

 private:
  friend class Rematerialization;
  struct View;  // for rewrites/recompute

  bool is_pinned() const { return pin_ != nullptr && (!pin_is_storage_ || is_alive()); }
  bool is_held_by_program() const;
  bool is_certain() const;  // pinned, or released and known to come back
  bool is_there() const;    // for a version that reads it, and stays
  bool is_made_by(const Rematerialization& call) const;
  bool try_release_locked();
  bool release_encoded();
  bool release_rematerializable();
  bool pin_sources(uint64_t& copied);
  ValuesPtr values(bool& is_ours);
  ValuesPtr values_as_source(bool& is_ours);
  void dependent_gone() noexcept;
  // What nobody will ask for any more; to be destroyed without the lock.
  std::unique_ptr<Rematerialization> take_useless();

  const uint64_t bytes_;
  const uint32_t first_backward_;
  std::atomic<bool> is_overwritten_{false}, is_kept_by_save_{false}, is_kept_by_program_{false}, is_left_alone_{false};

  mutable std::mutex lock_;  // of all below
  bool is_released_ = false;
  std::vector<Hook*> hooks_;
  std::unique_ptr<Rematerialization> rematerialization_;
  std::vector<std::weak_ptr<Version>> made_;  // by calls that read this one first
  recompute::Dependents dependents_;
  ValuesPtr pin_;  // for dependents
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
