#include "profiler/versions/version.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace tapelens::versions {

namespace {
std::atomic<uint32_t> g_backwards_ended{0};
}

uint32_t backwards_ended() { return g_backwards_ended.load(std::memory_order_relaxed); }
void backward_ended() { g_backwards_ended.fetch_add(1, std::memory_order_relaxed); }

// ---- rematerialization

Rematerialization::~Rematerialization() {
  for (Source& source : sources)
    if (source.is_counted) source.version->dependent_gone();
}

ValuesPtr Rematerialization::make() {
  std::vector<Input> inputs(sources.size());
  for (size_t i = 0; i < sources.size(); ++i)
    inputs[i].values = sources[i].version->values_as_source(inputs[i].is_ours);
  return cheap() ? run(std::move(inputs)) : std::move(inputs.front().values);
}

void Rematerialization::unpin(std::vector<std::shared_ptr<Version>>& released) {
  if (!std::exchange(is_pinned_, false)) return;
  for (Source& source : sources)
    if (std::exchange(source.is_counted, false)) released.push_back(source.version);
}

namespace {
// The recipes to destroy after the one that this thread is destroying; null: it is destroying none.
thread_local std::unique_ptr<Rematerialization>* t_doomed = nullptr;
}  // namespace

void Doomed::destroy(std::unique_ptr<Rematerialization> recipe) noexcept {
  if (recipe == nullptr) return;
  if (t_doomed != nullptr) {
    recipe->next_doomed_ = std::move(*t_doomed);
    *t_doomed = std::move(recipe);
    return;
  }
  std::unique_ptr<Rematerialization> rest;
  t_doomed = &rest;
  while (recipe != nullptr) {
    recipe.reset();
    recipe = std::move(rest);
    if (recipe != nullptr) rest = std::move(recipe->next_doomed_);
  }
  t_doomed = nullptr;
}

// ---- one version

Version::Version(uint64_t bytes) : bytes_(bytes), first_backward_(backwards_ended()) {}

Version::~Version() { Doomed::destroy(std::move(rematerialization_)); }

void Version::set_rematerialization(std::unique_ptr<Rematerialization> how) { rematerialization_ = std::move(how); }

bool Version::is_made_by(const Rematerialization& call) const {
  const std::lock_guard guard(lock_);
  if (rematerialization_ == nullptr || (hooks_.empty() && !is_alive())) return false;
  const auto is_same_version = [](const auto& a, const auto& b) { return a.version == b.version; };
  return std::ranges::equal(rematerialization_->sources, call.sources, is_same_version) &&
         rematerialization_->is_same(call);
}

std::shared_ptr<Version> Version::made_before(const Rematerialization& call) {
  std::vector<std::shared_ptr<Version>> known;
  {
    const std::lock_guard guard(lock_);
    const auto [first, last] = made_.equal_range(call.key());
    for (auto made = first; made != last; ++made) known.push_back(made->second.lock());
  }
  // They are newer than this version, so it must not be locked meanwhile.
  const auto same =
      std::ranges::find_if(known, [&](const auto& made) { return made != nullptr && made->is_made_by(call); });
  return same != known.end() ? *same : nullptr;
}

void Version::made(const std::shared_ptr<Version>& by_a_call, uint64_t key) {
  const std::lock_guard guard(lock_);
  made_.emplace(key, by_a_call);
  if (made_.size() < next_purge_) return;
  std::erase_if(made_, [](const auto& made) { return made.second.expired(); });
  next_purge_ = std::max<size_t>(4, 2 * made_.size());
}

void Version::about_to_be_written() {
  const std::lock_guard guard(lock_);
  if (dependents_.count == 0 || !is_alive()) return;
  if (pin_ != nullptr && !pin_->is_shared()) return;
  // If the copy throws, the pin is lost: the memory that it shares is about to be written.
  ValuesPtr from = std::exchange(pin_, nullptr);
  pin_is_storage_ = false;
  if (from == nullptr && !is_released_) from = storage();
  if (from != nullptr) pin_ = copy(*from);
}

bool Version::is_held_by_program() const { return is_kept_by_save_.load(std::memory_order_relaxed) || is_state(); }

bool Version::is_state() const {
  return is_kept_by_program_.load(std::memory_order_relaxed) || first_backward_ < backwards_ended();
}

bool Version::is_certain() const {
  if (is_pinned()) return true;
  return is_released_ && (!exact_.expired() || (rematerialization_ != nullptr && rematerialization_->is_pinned_));
}

bool Version::is_there() const {
  if (is_pinned()) return true;
  if (is_left_alone() || !is_alive()) return false;
  if (is_exposed()) return is_state() && is_steady();
  return is_held_by_program() ? is_steady() : !hooks_.empty();
}

// Dependents read the values of the checksum, or raise an error instead of computing a wrong gradient.
void Version::note_checksum() {
  if (checksum_ || !is_compared()) return;
  const ValuesPtr values = is_pinned() ? pin_ : is_alive() ? storage() : nullptr;
  if (values != nullptr) checksum_ = checksum(*values);
}

ValuesPtr Version::checked(ValuesPtr values) const {
  if (checksum_ && checksum(*values) != *checksum_)
    throw std::runtime_error("a tensor that it is made of was written by something that PyTorch does not know of");
  return values;
}

void Version::take_useless(Doomed& doomed) {
  const bool is_of_use = !hooks_.empty() || dependents_.count > 0 || is_alive();
  if (!is_of_use) doomed.take(rematerialization_);
}

// ---- hooks

void Version::add(Hook& hook) {
  const std::lock_guard guard(lock_);
  hooks_.push_back(&hook);
}

size_t Version::hooks() const {
  const std::lock_guard guard(lock_);
  return hooks_.size();
}

void Version::remove(Hook& hook) noexcept {
  // Destroyed after the lock is released.
  Doomed useless;
  ValuesPtr last;
  const std::lock_guard guard(lock_);
  std::erase(hooks_, &hook);
  if (dependents_.count > 0 && hook.encoded_ != nullptr && hook.encoded_ == exact_.lock()) exact_pin_ = hook.encoded_;
  if (!hooks_.empty()) return;
  if (!is_released_ && dependents_.count > 0 && pin_ == nullptr && is_alive()) {
    pin_ = storage();
    pin_is_storage_ = true;
  }
  std::swap(last, unpacked_);
  times_unpacked_ = 0;
  take_useless(useless);
}

void Version::dependent_gone() noexcept {
  Doomed useless;
  ValuesPtr pin;
  std::shared_ptr<const Encoded> exact;
  std::vector<std::shared_ptr<Version>> sources;
  {
    const std::lock_guard guard(lock_);
    if (--dependents_.count > 0) return;
    std::swap(pin, pin_);
    pin_is_storage_ = false;
    std::swap(exact, exact_pin_);
    take_useless(useless);
    // It is not rematerialized while its storage exists: its sources need not be pinned for it.
    if (rematerialization_ != nullptr && !is_released_) rematerialization_->unpin(sources);
  }
  for (const auto& source : sources) source->dependent_gone();
}

// ---- release

// The view of versions for rewrites/recompute. Each function locks its version; the caller holds the lock of the first.
struct Version::View {
  static uint64_t bytes(const Version& version) { return version.bytes_; }
  static bool is_encoded(const Version& version) { return !version.exact_.expired(); }
  static bool has_recipe(const Version& version) { return version.rematerialization_ != nullptr; }
  static recompute::Cheap cheap(const Version& version) { return version.rematerialization_->cheap(); }
  static bool is_there(const Version& version) { return version.is_there(); }
  template <class Follow>
  static bool all_sources(const Version& version, Follow follow) {
    const Rematerialization& how = *version.rematerialization_;
    return how.has_small_sources() && std::ranges::all_of(how.sources, [&](const auto& source) {
             const std::lock_guard guard(source.version->lock_);
             return follow(*source.version);
           });
  }

  // For locked sources.
  using Source = Rematerialization::Source;
  static void depend(Source& source, uint64_t bytes, uint32_t operators) {
    if (!std::exchange(source.is_counted, true)) source.version->dependents_.add(bytes, operators);
  }
  static bool is_certain(const Source& source) { return source.version->is_certain(); }
  static bool is_alive(const Source& source) { return source.version->is_alive(); }
  static bool is_held_by_program(const Source& source) {
    return source.version->is_held_by_program() && !source.version->is_left_alone();
  }
  static bool has_hooks(const Source& source) { return !source.version->hooks_.empty(); }
  static bool pin(Source& source) {
    source.version->pin_ = source.version->clone();
    const bool has_pin = source.version->pin_ != nullptr;
    source.version->pin_is_storage_ = has_pin && source.version->pin_->is_storage();
    return has_pin;
  }
  static bool pin_sources(Source& source, uint32_t operators, uint64_t& copied) {
    return source.version->pin_sources(operators, copied);
  }
};

struct Version::Hopeful : View {
  static bool is_there(const Version& version) {
    if (version.is_pinned() || !version.hooks_.empty()) return true;
    return !version.is_left_alone() && version.is_alive();
  }
};

void Version::forget_useless_recipe() {
  Doomed useless;
  const std::lock_guard guard(lock_);
  if (rematerialization_ == nullptr || !hooks_.empty() || dependents_.count > 0) return;
  recompute::Chain chain{.bytes = bytes_};
  if (!recompute::can_be_made(Hopeful{}, *this, chain)) useless.take(rematerialization_);
}

bool Version::pin_sources(uint32_t operators, uint64_t& copied) {
  if (rematerialization_ == nullptr) return false;
  Rematerialization& how = *rematerialization_;
  if (how.is_pinned_) return true;
  copied += how.pin_small_sources();
  for (auto& source : how.sources) {
    const std::lock_guard guard(source.version->lock_);
    if (!recompute::pin_source(View{}, source, bytes_, operators, copied)) return false;
    Version& version = *source.version;
    version.note_checksum();
    how.is_compared_ |= version.checksum_.has_value() ||
                        (version.rematerialization_ != nullptr && version.rematerialization_->is_compared_);
  }
  how.is_pinned_ = true;
  return true;
}

bool Version::try_release() noexcept {
  const std::lock_guard guard(lock_);
  try {
    return try_release_locked();
  } catch (...) {
    kept_by_save();
    if (!is_released_) rematerialization_.reset();  // its inputs may be only partly pinned
    failed();
    return true;
  }
}

bool Version::try_release_locked() {
  if (hooks_.empty() || is_released_ || is_kept_by_save_.load(std::memory_order_relaxed) || is_left_alone() ||
      is_exposed() || !is_alive())
    return true;
  const Holders holders = this->holders();
  if (holders == Holders::hooks && !release_encoded()) release_rematerializable();
  return holders != Holders::others_too;
}

bool Version::release_encoded() {
  if (!std::ranges::all_of(hooks_, &Hook::can_encode) || std::ranges::none_of(hooks_, &Hook::may_encode_)) return false;
  std::vector<std::shared_ptr<const Encoded>> encoded;
  uint64_t kept = 0;
  for (Hook* hook : hooks_) {
    encoded.push_back(hook->encode());
    if (encoded.back() == nullptr) return false;
    kept += encoded.back()->bytes();
  }
  if (kept >= bytes_) return false;
  const auto exact = std::ranges::find_if(encoded, [](const auto& of_it) { return of_it->is_exact(); });
  if (exact != encoded.end()) {
    exact_ = *exact;
  } else if (dependents_.count > 0) {
    // Its dependents need all of it.
    const auto chain = recompute::chain_of(View{}, *this, dependents_);
    uint64_t copied = 0;
    if (!chain || !pin_sources(recompute::operators_from(*chain, dependents_), copied) ||
        !is_right(*chain, rematerialization_->is_compared_))
      return false;
  }
  is_released_ = true;
  for (size_t i = 0; i < hooks_.size(); ++i) {
    hooks_[i]->encoded_ = encoded[i];
    hooks_[i]->release(i == 0 ? bytes_ : 0, encoded[i]->bytes());
  }
  return true;
}

bool Version::release_rematerializable() {
  if (rematerialization_ == nullptr || std::ranges::none_of(hooks_, &Hook::may_rematerialize_)) return false;
  const auto chain = recompute::chain_of(View{}, *this, dependents_);
  if (!chain) {
    skipped("what it is made of is not kept");
    return false;
  }
  if (!is_worth(*chain, recompute::cost_of(*chain, dependents_))) {
    skipped("over the recompute budget");
    return false;
  }
  uint64_t copied = 0;
  // Another thread may have written or freed its inputs since chain_of().
  const uint32_t operators = recompute::operators_from(*chain, dependents_);
  const char* reason = !pin_sources(operators, copied)                       ? "what it is made of is not kept"
                       : !is_right(*chain, rematerialization_->is_compared_) ? "recomputed it has other bits"
                                                                             : nullptr;
  if (reason != nullptr) {
    rematerialization_.reset();  // no pins may remain for it
    skipped(reason);
    return false;
  }
  is_released_ = true;
  for (size_t i = 0; i < hooks_.size(); ++i) hooks_[i]->release(i == 0 ? bytes_ : 0, i == 0 ? copied : 0);
  return true;
}

// ---- and back

ValuesPtr Version::values(bool& is_ours) {
  is_ours = false;
  if (is_pinned()) return checked(pin_);
  if (unpacked_ != nullptr) return unpacked_;
  if (is_alive()) {
    if (ValuesPtr storage = this->storage()) return checked(std::move(storage));
  }
  if (const auto exact = exact_.lock()) {
    is_ours = true;
    return exact->decode();
  }
  if (rematerialization_ == nullptr) throw std::runtime_error("nothing is left to make it of");
  is_ours = bool{rematerialization_->cheap()};
  return rematerialization_->make();
}

ValuesPtr Version::values_as_source(bool& is_ours) {
  const std::lock_guard guard(lock_);
  return values(is_ours);
}

ValuesPtr Version::unpack() {
  const std::lock_guard guard(lock_);
  bool is_ours = false;
  ValuesPtr made = values(is_ours);
  if (made->bytes() != bytes_) {
    throw std::runtime_error("recomputed it has " + std::to_string(made->bytes()) + " bytes instead of " +
                             std::to_string(bytes_));
  }
  if (made->is_shared()) return made;  // the program may write it before the next hook needs it
  if (++times_unpacked_ < hooks_.size()) {
    unpacked_ = made;
  } else {
    unpacked_.reset();
    times_unpacked_ = 0;
  }
  return made;
}

}  // namespace tapelens::versions
