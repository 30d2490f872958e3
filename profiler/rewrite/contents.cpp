#include "profiler/rewrite/contents.h"

#include <ATen/ATen.h>
#include <c10/core/impl/COW.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

#include "profiler/observe/stack.h"
#include "profiler/observe/torch_minor.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/budget.h"
#include "profiler/rewrite/host.h"

namespace tapelens::rewrite {
namespace {

std::atomic<uint32_t> g_epoch{0};

struct Ledger {
  std::mutex lock;
  std::unordered_map<const c10::StorageImpl*, std::shared_ptr<Content>> contents;
  size_t next_clean = 4096;
};
Ledger& ledger() {
  static auto* made = new Ledger;
  return *made;
}

const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

uint32_t use_count(const c10::StorageImpl* storage) {
  return static_cast<uint32_t>(c10::raw::intrusive_ptr::use_count(const_cast<c10::StorageImpl*>(storage)));
}

bool is_cow(const c10::StorageImpl& storage) {
  return c10::impl::cow::is_cow_data_ptr(const_cast<c10::StorageImpl&>(storage)._mutable_data_ptr_no_checks());
}

// Dead ones go; their recipes may hold others, which die with them outside of the lock.
void clean_locked(Ledger& l, std::vector<std::shared_ptr<Content>>& dead) {
  for (auto at = l.contents.begin(); at != l.contents.end();) {
    if (at->second->is_storage_gone()) {
      dead.push_back(std::move(at->second));
      at = l.contents.erase(at);
    } else {
      ++at;
    }
  }
  l.next_clean = std::max<size_t>(4096, 2 * l.contents.size());
}

std::shared_ptr<Content> known_content(const c10::StorageImpl* storage);

// The program's storage is to keep its memory whatever happens, for numpy, DLPack or another library may know the
// address: where the storage is written after all, by whatever means, it is the clone that gets a copy. LibTorch's own
// way would be the other one. `Storage` is a parameter because LibTorch has this since 2.15; before, this is done for
// operators alone.
template <class Storage>
void materialize(Storage* storage) {
  using namespace c10::impl::cow;  // not qualified below: LibTorch before 2.15 has no such function
  attempt({"recomputable-save", Level::recomputed}, [&] {
    if (const auto content = known_content(storage)) content->about_to_be_written();
  });
  if (is_cow(*storage)) materialize_cow(storage);
}

template <class Storage>
c10::Storage share(Storage& storage) {
  const bool was_shared = is_cow(storage);
  c10::Storage clone(c10::impl::cow::lazy_clone_storage(storage));
  if constexpr (requires { storage.clear_materializer(); }) {
    if (clone && !was_shared) {
      storage.clear_materializer();
      storage.set_materializer(&materialize<Storage>);
    }
  }
  return clone;
}

template <class Storage>
void forget_materializer(Storage& storage) {
  if constexpr (requires { storage.clear_materializer(); }) {
    if (storage.has_materializer() && !is_cow(storage)) storage.clear_materializer();
  }
}

std::shared_ptr<Content> known_content(const c10::StorageImpl* storage) {
  Ledger& l = ledger();
  const std::lock_guard guard(l.lock);
  const auto at = l.contents.find(storage);
  return at != l.contents.end() ? at->second : nullptr;
}

}  // namespace

c10::Storage copy_of(const c10::Storage& storage) {
  c10::Allocator* allocator = c10::GetCPUAllocator();
  c10::DataPtr data = allocator->allocate(storage.nbytes());
  std::memcpy(data.get(), storage.data(), storage.nbytes());
  return {c10::Storage::use_byte_size_t(), storage.nbytes(), std::move(data), allocator, true};
}

uint32_t epoch() { return g_epoch.load(std::memory_order_relaxed); }
void next_epoch() { g_epoch.fetch_add(1, std::memory_order_relaxed); }

// ---- the ledger

std::shared_ptr<Content> find_content(const at::Tensor& tensor) {
  std::shared_ptr<Content> content = known_content(storage_of(tensor));
  return content != nullptr && content->is_of(tensor) ? content : nullptr;
}

std::shared_ptr<Content> content_of(const at::Tensor& tensor) {
  if (auto known = find_content(tensor)) return known;
  return replace_content(tensor, nullptr);
}

std::shared_ptr<Content> replace_content(const at::Tensor& tensor, std::unique_ptr<Recipe> recipe) {
  auto made = std::make_shared<Content>(tensor);
  if (recipe != nullptr) made->set_recipe(std::move(recipe));
  Ledger& l = ledger();
  std::shared_ptr<Content> former = made;
  std::vector<std::shared_ptr<Content>> dead;
  {
    const std::lock_guard guard(l.lock);
    std::swap(l.contents[storage_of(tensor)], former);
    if (former != nullptr && former->is_left_alone() && !former->is_storage_gone()) made->leave_alone();
    if (l.contents.size() > l.next_clean) clean_locked(l, dead);
  }
  if (former != nullptr && !former->is_storage_gone()) former->lost();
  return made;
}

void note_write(const c10::StorageImpl& storage, std::vector<std::shared_ptr<Content>>& written) {
  const std::shared_ptr<Content> content = known_content(&storage);
  if (content == nullptr) return;
  try {
    content->about_to_be_written();
    written.push_back(content);
  } catch (...) {
    content->lost();  // what counts on it raises an error: it must not read what is written now
    throw;
  }
}

void leave_alone(c10::StorageImpl& storage) {
  std::shared_ptr<Content> content = known_content(&storage);
  if (content == nullptr || content->is_storage_gone()) {
    content = std::make_shared<Content>(storage);
    Ledger& l = ledger();
    std::shared_ptr<Content> former = content;
    const std::lock_guard guard(l.lock);
    std::swap(l.contents[&storage], former);
  }
  struct Losing {
    Content& content;
    ~Losing() { content.lost(); }
  } const losing{*content};
  content->leave_alone();
  content->about_to_be_written();
  // Whoever writes it does so on another thread, or gives it other memory.
  if (is_cow(storage)) storage.mutable_data_ptr();
}

void forget_sharing(c10::StorageImpl& storage) { forget_materializer(storage); }

bool is_steady(c10::StorageImpl& storage) {
  if (!storage.resizable() || !(is_cow(storage) || c10::impl::cow::has_simple_data_ptr(storage))) return false;
  Ledger& l = ledger();
  const std::lock_guard guard(l.lock);
  const auto at = l.contents.find(&storage);
  return at == l.contents.end() || at->second->is_storage_gone() || !at->second->is_left_alone();
}

void forget_dead_contents() {
  std::vector<std::shared_ptr<Content>> dead;
  Ledger& l = ledger();
  const std::lock_guard guard(l.lock);
  clean_locked(l, dead);
}

// ---- one content

Content::Content(const at::Tensor& tensor)
    : storage_(tensor.storage().getWeakStorageImpl()),
      counter_(tensor.unsafeGetTensorImpl()->version_counter()),
      version_(counter_.current_version()),
      bytes_(tensor.storage().nbytes()),
      first_epoch_(epoch()) {}

Content::Content(c10::StorageImpl& storage)
    : storage_(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(&storage)), first_epoch_(epoch()) {}

bool Content::is_of(const at::Tensor& tensor) const {
  return !storage_.expired() && !is_overwritten_.load(std::memory_order_relaxed) &&
         tensor.unsafeGetTensorImpl()->version_counter().current_version() == version_ &&
         counter_.current_version() == version_;
}

bool Content::is_alive() const {
  return !storage_.expired() && !is_overwritten_.load(std::memory_order_relaxed) &&
         counter_.current_version() == version_;
}

void Content::set_recipe(std::unique_ptr<Recipe> recipe) {
  recipe_ = std::move(recipe);
  remade_by_ = recipe_->op != nullptr ? "recomputable-save" : "duplicate-save";
}

void Content::about_to_be_written() {
  const std::lock_guard guard(lock_);
  // A recipe counts on what was the program's to change.
  if (dependents_ == 0) return;
  const bool is_held_apart = held_ && !is_storage(held_.unsafeGetStorageImpl());
  if (is_held_apart) {
    if (is_cow(*held_.unsafeGetStorageImpl()) && is_alive()) held_ = copy_of(held_);
  } else if (!is_gone_ && is_alive()) {
    if (const auto storage = storage_.lock()) held_ = copy_of(c10::Storage(storage));
  }
}

bool Content::is_same(const Recipe& other) {
  const std::lock_guard guard(lock_);
  if (recipe_ == nullptr || recipe_->op != other.op || (holds_.empty() && !is_alive())) return false;
  const auto is_same_source = [](const Source& a, const Source& b) {
    if (a.argument != b.argument || a.content != b.content || !(a.geometry == b.geometry)) return false;
    return a.content != nullptr || (a.held.is_alias_of(b.held) && a.version == b.version);
  };
  return std::ranges::equal(recipe_->sources, other.sources, is_same_source) &&
         std::ranges::equal(recipe_->arguments, other.arguments);
}

std::shared_ptr<Content> Content::made_before(const Recipe& recipe) {
  std::vector<std::shared_ptr<Content>> known;
  {
    const std::lock_guard guard(lock_);
    std::erase_if(made_, [&](const std::weak_ptr<Content>& of_it) {
      known.push_back(of_it.lock());
      return known.back() == nullptr;
    });
  }
  const auto same =
      std::ranges::find_if(known, [&](const auto& of_it) { return of_it != nullptr && of_it->is_same(recipe); });
  return same != known.end() ? *same : nullptr;
}

void Content::made(const std::shared_ptr<Content>& of_it) {
  const std::lock_guard guard(lock_);
  made_.push_back(of_it);
}

bool Content::is_kept_anyway() const {
  return is_kept_.load(std::memory_order_relaxed) || stays_.load(std::memory_order_relaxed) || first_epoch_ < epoch();
}

void Content::add(Hold& hold) {
  const std::lock_guard guard(lock_);
  holds_.push_back(&hold);
}

size_t Content::holds() {
  const std::lock_guard guard(lock_);
  return holds_.size();
}

std::unique_ptr<Recipe> Content::useless_recipe() {
  const bool is_of_use = !holds_.empty() || dependents_ > 0 || is_alive();
  return is_of_use ? nullptr : std::move(recipe_);
}

void Content::remove(Hold& hold) {
  std::unique_ptr<Recipe> useless;
  c10::Storage last;
  const std::lock_guard guard(lock_);
  std::erase(holds_, &hold);
  if (dependents_ > 0 && hold.encoding_ != nullptr && hold.encoding_ == exact_.lock()) exact_kept_ = hold.encoding_;
  if (!holds_.empty()) return;
  if (!is_gone_ && dependents_ > 0 && !held_ && hold.tensor_.defined() && is_alive()) held_ = hold.tensor_.storage();
  std::swap(last, again_);
  unpacked_ = 0;
  useless = useless_recipe();
}

void Content::released() {
  std::unique_ptr<Recipe> useless;
  c10::Storage held;
  std::shared_ptr<const Encoding> exact;
  std::vector<std::shared_ptr<Content>> sources;
  {
    const std::lock_guard guard(lock_);
    if (--dependents_ > 0) return;
    std::swap(held, held_);
    std::swap(exact, exact_kept_);
    useless = useless_recipe();
    // What is there itself needs nothing to be made of: as long as its recipe had counted on them, they would stay.
    if (recipe_ != nullptr && !is_gone_) recipe_->release(sources);
  }
  for (const auto& source : sources) source->released();
}

bool Content::settle() noexcept {
  const std::lock_guard guard(lock_);
  bool is_settled = true;
  const Rewrite* encodes = holds_.empty() ? nullptr : holds_.front()->rewrite_;
  const RewriteInfo info = encodes != nullptr ? info_of(*encodes) : RewriteInfo{remade_by_, Level::recomputed, {}};
  const Attempted what{info.id, info.level, holds_.empty() ? Place{} : holds_.front()->place(), bytes_};
  if (!attempt(what, [&] { is_settled = settle_locked(); })) {
    kept();
    if (!is_gone_) recipe_.reset();  // it may be half secured
  }
  return is_settled;
}

bool Content::settle_locked() {
  if (holds_.empty() || is_gone_ || is_kept_.load(std::memory_order_relaxed) || is_left_alone() || !is_alive())
    return true;
  const c10::StorageImpl* storage = storage_of(holds_.front()->tensor_);
  if (storage->nbytes() != bytes_) return true;  // resized
  if (use_count(storage) != holds_.size()) return false;
  for (const Hold* hold : holds_)
    if (hold->tensor_.use_count() != 1) return false;
  if (is_cow(*storage)) return true;  // others have the same memory
  std::string_view reason;
  if (let_go_encoded() || let_go_by_recipe(reason)) return true;
  if (!reason.empty()) {
    const Hold& hold = *holds_.front();
    skipped(remade_by_, Level::recomputed, hold.place(), reason, bytes_);
  }
  return true;
}

bool Content::let_go_encoded() {
  if (std::ranges::any_of(holds_, [](const Hold* hold) { return hold->rewrite_ == nullptr; })) return false;
  if (std::ranges::none_of(holds_, &Hold::may_encode_)) return false;
  std::vector<std::shared_ptr<const Encoding>> encodings;
  uint64_t kept = 0;
  for (const Hold* hold : holds_) {
    encodings.push_back(hold->rewrite_->encode(hold->save(hold->tensor_)));
    if (encodings.back() == nullptr) {
      skipped(hold->rewrite_->info().id, hold->rewrite_->info().level, hold->place(), "its values have no shorter form",
              bytes_);
      return false;
    }
    kept += encodings.back()->bytes();
  }
  if (kept >= bytes_) return false;
  // What recipes count on must come back whole: from an encoding, or by its own recipe.
  const auto gives_all = [&](size_t i) { return holds_[i]->geometry_.offset == 0 && encodings[i]->is_exact(); };
  size_t exact = 0;
  while (exact < holds_.size() && !gives_all(exact)) ++exact;
  if (dependents_ > 0 && exact == holds_.size()) {
    recompute::Chain chain{bytes_};
    if (is_too_large_for_dependents() || !can_be_made(chain)) return false;
    secure();
    if (!is_recipe_right(chain.key)) return false;
  }
  is_gone_ = true;
  for (size_t i = 0; i < holds_.size(); ++i) {
    Hold& hold = *holds_[i];
    const RewriteInfo info = hold.rewrite_->info();
    const uint64_t encoded = encodings[i]->bytes();
    hold.encoding_ = std::move(encodings[i]);
    if (i == exact) exact_ = hold.encoding_;
    hold.let_go(info.level, info.id, i == 0 ? bytes_ : 0, encoded);
  }
  return true;
}

bool Content::let_go_by_recipe(std::string_view& reason) {
  if (recipe_ == nullptr || std::ranges::none_of(holds_, &Hold::may_recompute_)) return false;
  recompute::Chain chain{bytes_};
  if (is_too_large_for_dependents() || !can_be_made(chain)) {
    reason = "what it is made of is not kept";
    return false;
  }
  // What counts on it makes it again each time.
  const uint64_t site = recompute::site_of(chain, holds_.front()->operator_name_);
  if (!Budget::of_process().allows(site, bytes_, chain.cost * (1 + dependents_))) {
    reason = "over the recompute budget";
    return false;
  }
  const uint64_t copied = secure();
  if (!is_recipe_right(chain.key)) {
    recipe_.reset();  // nothing may be held for it
    reason = "made again it has other bits";
    return false;
  }
  is_gone_ = true;
  bool is_first = true;
  for (Hold* hold : holds_) {
    hold->let_go(Level::recomputed, remade_by_, is_first ? bytes_ : 0, is_first ? copied : 0);
    is_first = false;
  }
  return true;
}

bool Content::is_too_large_for_dependents() const {
  return dependents_ > 0 && recompute::is_too_large(bytes_, least_made_);
}

// The contents of this process, as recompute::can_be_made() looks at them: each under its own lock, which the caller
// has of the first.
struct Followed {
  static uint64_t bytes(const Content& content) { return content.bytes_; }
  static bool is_encoded(const Content& content) { return !content.exact_.expired(); }
  static bool has_recipe(const Content& content) { return content.recipe_ != nullptr; }
  static recompute::Cheap cheap(const Content& content) {
    return content.recipe_->op != nullptr ? content.recipe_->op->cheap : recompute::Cheap{};
  }
  static bool is_there(const Content& content) { return content.is_there(); }
  template <class Follow>
  static bool all_sources(const Content& content, Follow follow) {
    return std::ranges::all_of(content.recipe_->sources, [&](const Source& source) {
      if (source.content != nullptr) {
        const std::lock_guard guard(source.content->lock_);
        return follow(*source.content);
      }
      return content.recipe_->is_secured || source.is_copied ||
             (source.held.unsafeGetTensorImpl()->version_counter().current_version() == source.version &&
              source.held.storage().nbytes() == source.geometry.storage_bytes &&
              is_steady(*source.held.storage().unsafeGetStorageImpl()));
    });
  }
};

bool Content::can_be_made(recompute::Chain& chain) const { return recompute::can_be_made(Followed{}, *this, chain); }

bool Content::is_certain() const {
  return is_gone_ && (!exact_.expired() || (recipe_ != nullptr && recipe_->is_secured));
}

bool Content::is_there() const {
  if (held_) return true;
  if (is_left_alone()) return false;
  // An operator that overwrites what it reads finds it made again, never there.
  if (!is_alive()) return false;
  if (!is_kept_anyway()) return !holds_.empty();
  const auto storage = storage_.lock();
  return storage != nullptr && storage->nbytes() == bytes_ && is_steady(*storage);
}

uint64_t Content::secure() {
  if (recipe_ == nullptr || recipe_->is_secured) return 0;
  uint64_t copied = 0;
  for (Source& source : recipe_->sources) {
    if (source.content == nullptr) {
      if (!source.is_copied) copied += source.geometry.storage_bytes;
      source.copy();
      continue;
    }
    Content& of = *source.content;
    const std::lock_guard guard(of.lock_);
    if (!source.depends) {
      ++of.dependents_;
      of.least_made_ = std::min(of.least_made_, bytes_);
      source.depends = true;
    }
    if (of.held_ || of.is_certain()) continue;
    if (of.is_alive() && of.is_kept_anyway() && !of.is_left_alone()) {
      if (const auto storage = of.storage_.lock()) of.held_ = share(*storage);
      if (of.held_) continue;
    }
    if (!of.is_alive() || of.holds_.empty()) copied += of.secure();
  }
  recipe_->is_secured = true;  // whatever threw before: it is not
  return copied;
}

c10::Storage Content::make(bool& is_ours) {
  is_ours = false;
  if (held_) return held_;
  if (again_) return again_;
  if (is_alive()) {
    if (auto storage = storage_.lock()) return c10::Storage(std::move(storage));
  }
  if (const auto exact = exact_.lock()) {
    is_ours = true;
    return exact->decode().storage();
  }
  TORCH_CHECK(recipe_ != nullptr, "nothing is left to make it of");
  is_ours = recipe_->op != nullptr;
  return recipe_->run();
}

c10::Storage Content::make_as_source(bool& is_ours) {
  const std::lock_guard guard(lock_);
  return make(is_ours);
}

c10::Storage Content::again() {
  const std::lock_guard guard(lock_);
  bool is_ours;
  c10::Storage made = make(is_ours);
  TORCH_CHECK(made.nbytes() >= bytes_, "made again it has ", made.nbytes(), " bytes instead of ", bytes_);
  if (++unpacked_ < holds_.size()) {
    again_ = made;
  } else {
    again_ = c10::Storage();
    unpacked_ = 0;
  }
  return made;
}

// The first of each kind are made again at once and compared: a kernel that gives other bits the second time, a tensor
// that was written behind PyTorch's back, are found before anything depends on it.
bool Content::is_recipe_right(uint64_t chain) {
  uint64_t key = chain;
  for (const int64_t size : holds_.front()->geometry_.sizes)
    key = (key ^ static_cast<uint64_t>(size)) * 0x9e3779b97f4a7c15ULL;
  Trials& trials = Trials::of_process();
  const Trials::State known = trials.state(chain, key);
  if (known != Trials::State::untried) return known == Trials::State::right;
  const Quiet quiet;
  const c10::Storage made = recipe_->run();
  const c10::Storage& original = holds_.front()->tensor_.storage();
  const bool is_right =
      made.nbytes() == original.nbytes() && std::memcmp(made.data(), original.data(), made.nbytes()) == 0;
  trials.learn(chain, key, is_right);
  return is_right;
}

void Source::copy() {
  if (is_copied) return;
  TORCH_CHECK(held.storage().nbytes() == geometry.storage_bytes, "a source of ", geometry.storage_bytes, " bytes has ",
              held.storage().nbytes(), " by now");
  at::Tensor made = geometry.over(copy_of(held.storage()));
  if (held.unsafeGetTensorImpl()->is_wrapped_number()) made.unsafeGetTensorImpl()->set_wrapped_number(true);
  held = std::move(made);
  is_copied = true;
}

Recipe::~Recipe() {
  for (Source& source : sources)
    if (source.depends) source.content->released();
}

void Recipe::release(std::vector<std::shared_ptr<Content>>& released) {
  if (!std::exchange(is_secured, false)) return;
  for (Source& source : sources) {
    if (source.content == nullptr) {
      source.version = source.held.unsafeGetTensorImpl()->version_counter().current_version();
    } else if (std::exchange(source.depends, false)) {
      released.push_back(source.content);
    }
  }
}

// ---- one save

Hold::Hold(const Save& save, const Rewrite* rewrite, std::shared_ptr<Content> content, uint64_t site, bool may_encode,
           bool may_recompute)
    : content_(std::move(content)),
      rewrite_(rewrite),
      geometry_(save.tensor),
      counter_(save.tensor.unsafeGetTensorImpl()->version_counter()),
      version_(counter_.current_version()),
      may_encode_(may_encode),
      may_recompute_(may_recompute),
      node_(&save.node),
      type_(save.type),
      field_(save.field),
      operator_name_(save.operator_name),
      outer_operator_(save.outer_operator),
      index_(save.index),
      wanted_(save.wanted),
      site_(site),
      variable_(save.tensor.getIntrusivePtr()),
      is_output_(torch::autograd::impl::get_autograd_meta(save.tensor) == nullptr) {}

Hold::~Hold() {
  if (content_ != nullptr) content_->remove(*this);
}

void Hold::call_pack_hook(const at::Tensor& tensor) {
  // What is thrown here would leave a save that cannot be unpacked.
  tensor_ = tensor;
  const RewriteInfo info =
      rewrite_ != nullptr ? info_of(*rewrite_) : RewriteInfo{"recomputable-save", Level::recomputed, {}};
  attempt({info.id, info.level, place(), geometry_.storage_bytes}, [&] {
    if (content_ != nullptr) {
      content_->add(*this);
    } else if ((encoding_ = rewrite_->encode(save(tensor))) != nullptr) {
      let_go(info.level, info.id, geometry_.storage_bytes, encoding_->bytes());
    }
  });
}

std::string Hold::made_by() const {
  // As LibTorch: of an output the node itself; else whoever made the variable last.
  std::string name;
  uint32_t output = 0;
  if (is_output_) {
    name = node_->name();
  } else if (const auto variable = variable_.lock()) {
    const at::Tensor tensor(variable);
    output = tensor.output_nr();
    if (const auto* node = torch::autograd::impl::grad_fn_unsafe(tensor)) name = node->name();
  }
  if (name.empty()) return name;
  if constexpr (observe::kVersionErrorNamesOperators) name.resize(name.find_last_not_of("0123456789") + 1);
  if (observe::kVersionErrorNamesOperators && name.ends_with("Backward"))
    name.resize(name.size() - std::string_view("Backward").size());
  return ", which is output " + std::to_string(output) + " of " + name + ",";
}

void Hold::check_version() const {
  const uint32_t now = counter_.current_version();
  if (now == version_) return;
  // LibTorch's own words: whoever reads them knows them.
  std::ostringstream text;
  text << "one of the variables needed for gradient computation has been modified by an inplace operation: ["
       << geometry_.over(c10::Storage(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, c10::kCPU))).toString()
       << " " << at::IntArrayRef(geometry_.sizes) << "]";
  text << made_by();
  text << " is at version " << now << "; expected version " << version_ << " instead.";
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

at::Tensor Hold::call_unpack_hook() {
  const Quiet quiet;
  check_version();
  if (content_ != nullptr) {
    const std::lock_guard guard(content_->lock());
    if (tensor_.defined()) return tensor_;
  } else if (tensor_.defined()) {
    return tensor_;
  }
  if (encoding_ != nullptr) {
    TORCH_CHECK(encoding_->is_exact() || observe::is_in_backward(), "Tapelens: the values of ", std::string(type_), ".",
                std::string(field_), " were not kept (", std::string(rewrite_->info().id),
                "): they cannot be read from outside of the backward. Run without that rewrite to look at them.");
  }
  // Enough was kept for it to be made. Where it cannot be all the same, an error is better than a wrong gradient.
  try {
    return encoding_ != nullptr ? encoding_->decode() : geometry_.over(content_->again());
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (...) {
    TORCH_CHECK(false, "Tapelens: the tensor that ", std::string(type_), ".", std::string(field_),
                " saved cannot be made again: ", thrown_text(),
                ". Run the program without --apply, and please report this.");
  }
}

Save Hold::save(const at::Tensor& tensor) const {
  return {*node_, type_, field_, index_, operator_name_, outer_operator_, {}, wanted_, tensor};
}

Place Hold::place() const { return {node_, type_, field_, index_, operator_name_, site_}; }

void Hold::let_go(Level level, std::string_view rewrite, uint64_t bytes, uint64_t kept) {
  applied(rewrite, level, place(), bytes, kept);
  tensor_.reset();
  is_gone_ = true;
}

}  // namespace tapelens::rewrite
