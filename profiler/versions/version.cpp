#include "profiler/versions/version.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/mutex.h"

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

Rematerialization::Result Rematerialization::make(bool keeps) {
  const recompute::Repeatable op = maker();
  bool is_costly = op.is_costly;
  std::vector<Input> inputs(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    Result made = sources[i].version->values_as_source(keeps);
    is_costly = is_costly || made.is_costly;
    if (!op) return made;
    inputs[i] = {std::move(made.values), made.is_ours};
  }
  return {run(std::move(inputs)), true, is_costly};
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

void Version::set_rematerialization(std::unique_ptr<Rematerialization> how) {
  TAPELENS_ASSERT(rematerialization_ == nullptr);
  rematerialization_ = std::move(how);
}

bool Version::is_made_by(const Rematerialization& call) const {
  const base::MutexLock guard(lock_);
  if (rematerialization_ == nullptr || (hooks_.empty() && !is_alive())) return false;
  const auto is_same_version = [](const auto& a, const auto& b) { return a.version == b.version; };
  return std::ranges::equal(rematerialization_->sources, call.sources, is_same_version) &&
         rematerialization_->is_same(call);
}

std::shared_ptr<Version> Version::made_before(const Rematerialization& call) {
  std::vector<std::shared_ptr<Version>> known;
  {
    const base::MutexLock guard(lock_);
    const auto [first, last] = made_.equal_range(call.key());
    for (auto made = first; made != last; ++made) known.push_back(made->second.lock());
  }
  // They are newer than this version, so it must not be locked meanwhile.
  const auto same =
      std::ranges::find_if(known, [&](const auto& made) { return made != nullptr && made->is_made_by(call); });
  return same != known.end() ? *same : nullptr;
}

void Version::made(const std::shared_ptr<Version>& by_a_call, uint64_t key) {
  const base::MutexLock guard(lock_);
  made_.emplace(key, by_a_call);
  if (made_.size() < next_purge_) return;
  std::erase_if(made_, [](const auto& made) { return made.second.expired(); });
  next_purge_ = std::max<size_t>(4, 2 * made_.size());
}

void Version::about_to_be_written() {
  before_write();
  const base::MutexLock guard(lock_);
  if (dependents_.count == 0 || !is_alive()) return;
  if (pin_ != nullptr && !pin_->is_shared()) return;
  // If the copy throws, the pin is lost: the memory that it shares is about to be written.
  ValuesPtr from = std::exchange(pin_, nullptr);
  pin_is_storage_ = false;
  if (from == nullptr && !is_released_) from = storage();
  if (from != nullptr) pin_ = copy(*from);
}

bool Version::is_held_by_program() const { return is_kept_by_save_.load(std::memory_order_relaxed) || is_state(); }

bool Version::is_state() const { return is_kept_by_program() || first_backward_ < backwards_ended(); }

bool Version::is_certain() const {
  if (is_pinned()) return true;
  return is_released_ && (is_encoded() || (rematerialization_ != nullptr && rematerialization_->is_pinned_));
}

bool Version::is_there() const {
  if (is_pinned()) return true;
  if (is_left_alone() || !is_alive()) return false;
  if (is_exposed()) return is_trusted();
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
  const base::MutexLock guard(lock_);
  hooks_.push_back(&hook);
}

size_t Version::hooks() const {
  const base::MutexLock guard(lock_);
  return hooks_.size();
}

void Version::remove(Hook& hook) noexcept {
  // Destroyed after the lock is released.
  Doomed useless;
  ValuesPtr last;
  std::shared_ptr<Offloaded> offloaded;
  const base::MutexLock guard(lock_);
  std::erase(hooks_, &hook);
  if (dependents_.count > 0 && hook.encoded_ != nullptr && hook.encoded_ == exact_.lock()) exact_pin_ = hook.encoded_;
  if (!hooks_.empty()) {
    if (has_each_hook_its_values()) std::swap(last, unpacked_);
    return;
  }
  if (!is_released_ && dependents_.count > 0 && pin_ == nullptr && is_alive()) {
    pin_ = storage();
    pin_is_storage_ = true;
  }
  std::swap(last, unpacked_);
  if (!is_released_ || dependents_.count == 0) std::swap(offloaded, offloaded_);
  take_useless(useless);
}

void Version::dependent_gone() noexcept {
  Doomed useless;
  ValuesPtr pin;
  std::shared_ptr<const Encoded> exact;
  std::shared_ptr<Offloaded> offloaded;
  std::vector<std::shared_ptr<Version>> sources;
  {
    const base::MutexLock guard(lock_);
    TAPELENS_ASSERT(dependents_.count > 0);
    if (--dependents_.count > 0) return;
    std::swap(pin, pin_);
    pin_is_storage_ = false;
    std::swap(exact, exact_pin_);
    if (hooks_.empty()) std::swap(offloaded, offloaded_);
    take_useless(useless);
    // It is not rematerialized while its storage exists: its sources need not be pinned for it.
    if (rematerialization_ != nullptr && !is_released_) rematerialization_->unpin(sources);
  }
  for (const auto& source : sources) source->dependent_gone();
}

// ---- release

// The view of versions for policy/recompute: its templates cannot say which version is locked. all_sources() locks
// each source; the caller holds the lock of the first version.
struct Version::View {
  static uint64_t bytes(const Version& version) { return version.bytes_; }
  static bool is_encoded(const Version& version) {
    version.lock_.assert_held();
    return version.is_encoded();
  }
  static bool has_recipe(const Version& version) {
    version.lock_.assert_held();
    return version.rematerialization_ != nullptr;
  }
  static recompute::Repeatable maker(const Version& version) {
    version.lock_.assert_held();
    return version.rematerialization_->maker();
  }
  static uint64_t cost(const Version& version) {
    version.lock_.assert_held();
    return version.rematerialization_->cost(version.bytes_);
  }
  static bool is_kept_once_made(const Version& version) {
    version.lock_.assert_held();
    return version.is_kept_once_made();
  }
  static bool is_there(const Version& version) {
    version.lock_.assert_held();
    return version.is_there();
  }
  template <class Follow>
  static bool all_sources(const Version& version, Follow follow) {
    version.lock_.assert_held();
    const Rematerialization& how = *version.rematerialization_;
    return how.has_small_sources() && std::ranges::all_of(how.sources, [&](const auto& source) {
             const base::MutexLock guard(source.version->lock_);
             return follow(*source.version);
           });
  }

  // For locked sources.
  using Source = Rematerialization::Source;
  static void depend(Source& source, uint64_t bytes, uint32_t operators) {
    source.version->lock_.assert_held();
    if (!std::exchange(source.is_counted, true)) source.version->dependents_.add(bytes, operators);
  }
  static bool is_certain(const Source& source) {
    source.version->lock_.assert_held();
    return source.version->is_certain();
  }
  static bool is_alive(const Source& source) { return source.version->is_alive(); }
  static bool is_held_by_program(const Source& source) {
    const Version& version = *source.version;
    version.lock_.assert_held();
    return version.is_held_by_program() && !version.is_left_alone() && version.is_trusted();
  }
  static bool has_hooks(const Source& source) {
    source.version->lock_.assert_held();
    return !source.version->hooks_.empty() && source.version->is_trusted();
  }
  static bool pin(Source& source) {
    source.version->lock_.assert_held();
    source.version->pin_ = source.version->clone();
    const bool has_pin = source.version->pin_ != nullptr;
    source.version->pin_is_storage_ = has_pin && source.version->pin_->is_storage();
    return has_pin;
  }
  static bool pin_sources(Source& source, uint32_t operators, uint64_t& copied) {
    source.version->lock_.assert_held();
    return source.version->pin_sources(operators, copied);
  }
};

struct Version::Hopeful : View {
  static bool is_there(const Version& version) {
    version.lock_.assert_held();
    if (version.is_pinned() || !version.hooks_.empty()) return true;
    return !version.is_left_alone() && version.is_alive();
  }
};

void Version::forget_useless_recipe() {
  Doomed useless;
  const base::MutexLock guard(lock_);
  if (rematerialization_ == nullptr || !hooks_.empty() || dependents_.count > 0) return;
  recompute::Chain chain{.bytes = UINT64_MAX};  // a version of any size may read it
  if (!recompute::can_be_made(Hopeful{}, *this, chain)) useless.take(rematerialization_);
}

bool Version::pin_sources(uint32_t operators, uint64_t& copied) {
  if (rematerialization_ == nullptr) return false;
  Rematerialization& how = *rematerialization_;
  if (how.is_pinned_) return true;
  copied += how.pin_small_sources();
  for (auto& source : how.sources) {
    Version& version = *source.version;
    const base::MutexLock guard(version.lock_);
    if (!recompute::pin_source(View{}, source, bytes_, operators, copied)) return false;
    version.note_checksum();
    how.is_compared_ |= version.checksum_.has_value() ||
                        (version.rematerialization_ != nullptr && version.rematerialization_->is_compared_);
  }
  how.is_pinned_ = true;
  return true;
}

bool Version::try_release() noexcept {
  const base::MutexLock guard(lock_);
  try {
    return try_release_locked();
  } catch (...) {
    kept_by_save();
    if (!is_released_) rematerialization_.reset();  // its inputs may be only partly pinned
    failed();
    return true;
  }
}

bool Version::may_be_released() const {
  return !hooks_.empty() && !is_released_ && !is_kept_by_save_.load(std::memory_order_relaxed) && !is_left_alone() &&
         !is_exposed() && is_alive();
}

bool Version::try_release_locked() {
  if (!may_be_released() || is_leaving()) return true;
  const Holders holders = this->holders();
  if (holders == Holders::cache) return release_rematerializable();
  if (holders == Holders::hooks && !release_encoded() && !release_rematerializable() &&
      std::ranges::any_of(hooks_, [](const Hook* hook) { return hook->ways_.offload; }))
    is_leaving_.store(true, std::memory_order_relaxed);
  return holders != Holders::others_too;
}

bool Version::release_encoded() {
  if (!std::ranges::all_of(hooks_, &Hook::can_encode) ||
      std::ranges::none_of(hooks_, [](const Hook* hook) { return hook->ways_.encode; }))
    return false;
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
  TAPELENS_ASSERT(!is_released_ && encoded.size() == hooks_.size());
  is_released_ = true;
  for (size_t i = 0; i < hooks_.size(); ++i) {
    hooks_[i]->encoded_ = encoded[i];
    hooks_[i]->release(ReleaseKind::encoded, i == 0 ? bytes_ : 0, encoded[i]->bytes());
  }
  return true;
}

bool Version::release_rematerializable() {
  if (rematerialization_ == nullptr || is_refused_ ||
      std::ranges::none_of(hooks_, [](const Hook* hook) { return hook->ways_.rematerialize; }))
    return false;
  const auto chain = recompute::chain_of(View{}, *this, dependents_);
  const char* reason = !chain                                                       ? "its inputs are not kept"
                       : !is_worth(*chain, recompute::cost_of(*chain, dependents_)) ? "over the recompute budget"
                                                                                    : nullptr;
  if (reason != nullptr) {
    is_refused_ = true;
    skipped(reason);
    return false;
  }
  uint64_t copied = 0;
  // Another thread may have written or freed its inputs since chain_of().
  const uint32_t operators = recompute::operators_from(*chain, dependents_);
  reason = !pin_sources(operators, copied)                       ? "its inputs are not kept"
           : !is_right(*chain, rematerialization_->is_compared_) ? "recomputed it has other bits"
                                                                 : nullptr;
  if (reason != nullptr) {
    rematerialization_.reset();  // no pins may remain for it
    skipped(reason);
    return false;
  }
  is_released_ = true;
  for (size_t i = 0; i < hooks_.size(); ++i)
    hooks_[i]->release(ReleaseKind::rematerialized, i == 0 ? bytes_ : 0, i == 0 ? copied : 0);
  released();
  return true;
}

// ---- readers

bool Version::add_reader() {
  const base::MutexLock guard(lock_);
  if (is_left_alone() || is_exposed() || !is_alive() || !is_steady()) return false;
  if (!is_pinned()) {
    pin_ = clone();
    pin_is_storage_ = pin_ != nullptr && pin_->is_storage();
    if (pin_ == nullptr) return false;
  }
  note_checksum();
  dependents_.add(bytes_, 0);
  return true;
}

ValuesPtr Version::read() {
  const base::MutexLock guard(lock_);
  return values(false).values;
}

ValuesPtr Version::take() {
  const base::MutexLock guard(lock_);
  if (dependents_.count != 1 || !hooks_.empty() || !is_pinned() || !is_sole_holder(*pin_)) return nullptr;
  overwritten();
  pin_is_storage_ = false;
  return checked(std::exchange(pin_, nullptr));
}

// ---- offload

uint64_t Version::order_locked() const {
  uint64_t last = 0;
  for (const Hook* hook : hooks_) last = std::max(last, hook->order_);
  return last;
}

uint64_t Version::order() const {
  const base::MutexLock guard(lock_);
  return order_locked();
}

Version::Leaving Version::leaving() {
  if (!may_be_released()) return Leaving::ended;
  switch (holders()) {
    case Holders::hooks:
      return Leaving::ok;
    case Holders::others_too:
    case Holders::cache:
      return Leaving::held;
    case Holders::never_alone:
      break;
  }
  return Leaving::ended;
}

template <class Do>
Version::Leaving Version::leave(Do step) noexcept {
  std::shared_ptr<Offloaded> given_up;  // destroyed after the lock is released
  const base::MutexLock guard(lock_);
  lock_.assert_held();
  Leaving result = Leaving::ended;
  try {
    result = leaving();
    if (result == Leaving::ok && offloaded_ == nullptr) offloaded_ = offload(order_locked());
    if (offloaded_ == nullptr && result == Leaving::ok) result = Leaving::ended;
    if (result == Leaving::ok) step();
  } catch (...) {
    result = Leaving::ended;
    failed();
  }
  if (result != Leaving::ok) {
    if (!is_released_) std::swap(given_up, offloaded_);
    is_leaving_.store(false, std::memory_order_relaxed);
  }
  return result;
}

Version::Leaving Version::begin_offload() noexcept {
  return leave([] {});
}

Version::Leaving Version::end_offload() noexcept {
  return leave([this] {
    lock_.assert_held();
    offloaded_->end_copy();
    is_released_ = true;
    for (size_t i = 0; i < hooks_.size(); ++i) hooks_[i]->release(ReleaseKind::offloaded, i == 0 ? bytes_ : 0, 0);
  });
}

// ---- and back

Version::Result Version::values(bool keeps) {
  if (is_pinned()) return {checked(pin_)};
  if (unpacked_ != nullptr) return {unpacked_};
  if (is_offloaded()) return {offloaded_->fetch(), true};
  if (is_alive() && (is_trusted() || rematerialization_ == nullptr)) {
    if (ValuesPtr storage = this->storage()) return {checked(std::move(storage))};
  }
  if (const auto exact = exact_.lock()) return {exact->decode(), true};
  if (rematerialization_ == nullptr) throw std::runtime_error("nothing is left to make it of");
  return rematerialization_->make(keeps);
}

Version::Result Version::values_as_source(bool keeps) {
  const base::MutexLock guard(lock_);
  Result made = values(keeps);
  if (keeps && (made.is_costly || is_offloaded()) && is_kept_once_made() && !made.values->is_shared()) {
    keep(made.values);
    made.is_ours = made.is_ours && unpacked_ == nullptr;
  }
  return made;
}

bool Version::is_kept_once_made() const {
  return is_released_ && !hooks_.empty() && hooks_.front()->encoded_ == nullptr;
}

bool Version::has_each_hook_its_values() const { return std::ranges::all_of(hooks_, &Hook::is_unpacked_); }

void Version::keep(const ValuesPtr& values) {
  if (!has_each_hook_its_values()) {
    unpacked_ = values;
    return;
  }
  unpacked_.reset();
  for (const Hook* hook : hooks_) hook->is_unpacked_ = false;
}

ValuesPtr Version::unpack(const Hook& hook) {
  const base::MutexLock guard(lock_);
  ValuesPtr made = values(true).values;
  if (made->bytes() != bytes_) {
    throw std::runtime_error("recomputed it has " + std::to_string(made->bytes()) + " bytes instead of " +
                             std::to_string(bytes_));
  }
  if (made->is_shared()) return made;  // the program may write it before the next hook needs it
  hook.is_unpacked_ = true;
  keep(made);
  return made;
}

}  // namespace tapelens::versions
