// What storages hold, and how it may come back when they are gone.
//
// A Content is the values of one storage between two writes. It is alive as long as the storage has them; it can be
// made again by a Recipe (a cheap operator and its sources) or from an exact Encoding. Saves that may be rewritten hold
// their tensor through a Hold; when holds are all that keeps the storage, the content decides how it will come back and
// lets it go. Nothing is encoded or computed before that moment, so nothing has to be undone.
//
// Lock order: a content before those that its recipe reads (they are older, so there is no circle), a content before
// the ledger of all contents. Nothing that may destroy a content or a recipe is done under the ledger's lock.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/rewrite.h"
#include "profiler/rewrite/tally.h"
#include "rewrites/recompute/chain.h"

namespace tapelens::rewrite {

class Content;
class Hold;
struct CheapOperator;

// Something that a recipe reads.
struct Source {
  size_t argument = 0;
  Geometry geometry;
  std::shared_ptr<Content> content;  // null: small, then `held` is the tensor itself, a copy once it is secured
  at::Tensor held;
  uint32_t version = 0;
  bool is_copied = false;  // `held`
  bool depends = false;    // on a content that others still hold

  void copy();  // `held`, unless it is one
};

struct Recipe {
  const CheapOperator* op = nullptr;   // null: its one source, as it is
  std::vector<c10::IValue> arguments;  // sources among them are left out
  std::vector<Source> sources;
  bool is_secured = false;

  Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
  ~Recipe();
  // Counts on its sources no longer; they are told when `released` is. Small ones stay copies.
  void release(std::vector<std::shared_ptr<Content>>& released);
  // The storage of the operator's first output. Runs it below autograd and autocast.
  c10::Storage run();
};

class Content {
 public:
  explicit Content(const at::Tensor& tensor);
  // Of a storage that is left alone: only a mark.
  explicit Content(c10::StorageImpl& storage);

  // Takes the content of a recipe from now on; before anybody else has it.
  void set_recipe(std::unique_ptr<Recipe> recipe);
  // The rewrite that could bring it back; empty: none could.
  std::string_view remade_by() const { return remade_by_; }
  // The content that this operator made before of the same things, if it can still be had: one that reads this one.
  std::shared_ptr<Content> made_before(const Recipe& recipe);
  void made(const std::shared_ptr<Content>& of_it);
  // Its storage is about to be written: what recipes count on is copied, and shares the storage's memory no longer.
  void about_to_be_written();
  // Its storage was written, or is another's by now.
  void lost() { is_overwritten_.store(true, std::memory_order_relaxed); }
  // It is a parameter's: the program keeps it.
  void stays() { stays_.store(true, std::memory_order_relaxed); }
  // What its storage holds at another time is not known: see leave_alone().
  void leave_alone() { is_left_alone_.store(true, std::memory_order_relaxed); }
  bool is_left_alone() const { return is_left_alone_.load(std::memory_order_relaxed); }
  // A save that is not rewritten keeps it.
  void kept() { is_kept_.store(true, std::memory_order_relaxed); }
  bool is_of(const at::Tensor& tensor) const;
  bool is_storage_gone() const { return storage_.expired(); }
  bool is_storage(const c10::StorageImpl* storage) const { return storage_._unsafe_get_target() == storage; }

  void add(Hold& hold);
  void remove(Hold& hold);
  size_t holds();  // that there are
  // Lets the storage go if it may. False: not yet, ask again. Throws nothing: where something goes wrong it is kept.
  bool settle() noexcept;
  // For the unpacking of a hold whose tensor went.
  c10::Storage again();

  // For a recipe that reads it. `is_ours`: nobody else has that storage, it may be overwritten.
  c10::Storage make_as_source(bool& is_ours);

  std::mutex& lock() { return lock_; }
  // A recipe does not count on it any more.
  void released();

 private:
  friend struct Recipe;
  friend struct Followed;
  bool is_alive() const;
  bool is_kept_anyway() const;
  bool settle_locked();
  bool can_be_made(recompute::Chain& chain) const;
  bool is_too_large_for_dependents() const;
  bool is_same(const Recipe& recipe);
  bool is_certain() const;  // gone, and how it comes back is settled
  bool is_there() const;    // for a recipe that reads it, and stays
  uint64_t secure();        // the bytes of small sources that it copied
  c10::Storage make(bool& is_ours);
  bool let_go_encoded();
  bool let_go_by_recipe(std::string_view& reason);
  bool is_recipe_right(uint64_t chain);
  // What nobody will ask for any more; to be destroyed without the lock.
  std::unique_ptr<Recipe> useless_recipe();

  std::mutex lock_;
  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  c10::VariableVersion counter_;
  uint32_t version_ = 0;
  uint64_t bytes_ = 0;
  uint32_t first_epoch_ = 0;
  std::atomic<bool> is_overwritten_{false}, is_kept_{false}, stays_{false}, is_left_alone_{false};
  bool is_gone_ = false;
  std::vector<Hold*> holds_;
  std::unique_ptr<Recipe> recipe_;
  std::string_view remade_by_;
  std::vector<std::weak_ptr<Content>> made_;  // whose recipes read this one first
  // An encoding that gives the content itself: as long as its hold lives, and longer if a recipe counts on it.
  std::weak_ptr<const Encoding> exact_;
  std::shared_ptr<const Encoding> exact_kept_;
  c10::Storage held_;                 // of a source: its copy-on-write clone, or what the last hold left
  uint32_t dependents_ = 0;           // recipes that count on it
  uint64_t least_made_ = UINT64_MAX;  // bytes of the smallest content that they make
  c10::Storage again_;                // made again, while further holds want it
  size_t unpacked_ = 0;
};

// The hooks of one save.
class Hold final : public torch::autograd::SavedVariableHooks {
 public:
  // `rewrite`: null for one that only a recipe can bring back. `content`: null for what is never read.
  Hold(const Save& save, const Rewrite* rewrite, std::shared_ptr<Content> content, uint64_t site, bool may_encode,
       bool may_recompute);
  ~Hold() override;

  void call_pack_hook(const at::Tensor& tensor) override;
  at::Tensor call_unpack_hook() override;
  // Compiled autograd asks; it takes what unpacking gives.
  std::optional<std::pair<c10::SafePyObject, c10::SafePyObject>> retrieve_unpack_hook_data() const override {
    return std::nullopt;
  }

 private:
  friend class Content;
  Save save(const at::Tensor& tensor) const;
  Place place() const;
  void check_version() const;
  void let_go(Level level, std::string_view rewrite, uint64_t bytes, uint64_t kept);

  std::shared_ptr<Content> content_;
  const Rewrite* rewrite_;
  at::Tensor tensor_;  // until it is let go
  std::shared_ptr<const Encoding> encoding_;
  Geometry geometry_;
  c10::VariableVersion counter_;
  uint32_t version_ = 0;
  bool is_gone_ = false;
  bool may_encode_, may_recompute_;  // asked for by a level, by name, or at this place by the plan
  const torch::autograd::Node* node_;
  std::string_view type_, field_, operator_name_, outer_operator_;
  uint32_t index_;
  uint64_t wanted_, site_;
  std::string made_by() const;                         // ", which is output 0 of Relu,", for the version error
  c10::weak_intrusive_ptr<c10::TensorImpl> variable_;  // that was saved, if it was the program's own
  bool is_output_;
};

c10::Storage copy_of(const c10::Storage& storage);

// All contents of the process by storage. Storages that died are forgotten now and then.
std::shared_ptr<Content> find_content(const at::Tensor& tensor);
std::shared_ptr<Content> content_of(const at::Tensor& tensor);  // made if there is none
std::shared_ptr<Content> replace_content(const at::Tensor& tensor, std::unique_ptr<Recipe> recipe);
// A storage is about to be written: its content, if it has one, is added to `written`, to be lost when that is done.
void note_write(const c10::StorageImpl& storage, std::vector<std::shared_ptr<Content>>& written);
void forget_dead_contents();

// From now on nothing counts on what this storage holds, as long as it lives: it is resized behind the operators (FSDP
// frees and refills its unsharded parameters), or a collective writes it, which may be under way on another thread.
// What recipes count on already is copied first; the storage itself no longer shares its memory.
void leave_alone(c10::StorageImpl& storage);
// It was given other memory: what would copy the old when the new is first written (LibTorch's lazy clones up to 2.15
// fail with an internal assertion there) goes.
void forget_sharing(c10::StorageImpl& storage);
// Whether what an ordinary tensor's storage holds can be followed: its memory is its own, of LibTorch's allocator, not
// shared with another process or with numpy, and nobody had it left alone.
bool is_steady(c10::StorageImpl& storage);

// Backwards that have ended: what lived through one is held by the program, not by a graph.
uint32_t epoch();
void next_epoch();

}  // namespace tapelens::rewrite
