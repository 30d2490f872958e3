#include "profiler/rewrite/storage_versions.h"

#include <c10/core/impl/COW.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "profiler/observe/thread.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/autocast_copies.h"
#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/host.h"
#include "profiler/rewrite/offload.h"
#include "profiler/rewrite/private_members.h"
#include "profiler/rewrite/rematerialization.h"
#include "profiler/rewrite/saved_tensor_hook.h"
#include "trace/checksum.h"

namespace tapelens::rewrite {
namespace {

constexpr const char* kOnAnotherStream = "it is used on another stream";
constexpr const char* kCaptured = "it is used inside a CUDA graph";
constexpr const char* kExposed = "its address left PyTorch";

constexpr size_t kFewest = 1024, kLookedAt = 4;

struct Table {
  base::Mutex lock;
  // The newest version of each storage.
  std::unordered_map<const c10::StorageImpl*, StorageVersionPtr, std::hash<const c10::StorageImpl*>, std::equal_to<>,
                     versions::PoolAllocator<std::pair<const c10::StorageImpl* const, StorageVersionPtr>>>
      versions TAPELENS_GUARDED_BY(lock);
  // The storages in the order of insertion. Each insertion checks some of them: a dead version keeps small pieces of
  // the program's heap, and fragments it.
  std::deque<const c10::StorageImpl*, versions::PoolAllocator<const c10::StorageImpl*>> turn TAPELENS_GUARDED_BY(lock);
  size_t next_clean TAPELENS_GUARDED_BY(lock) = kFewest;
};
Table& table() {
  static auto* made = new Table;
  return *made;
}

uint32_t use_count(const c10::StorageImpl* storage) {
  return static_cast<uint32_t>(c10::raw::intrusive_ptr::use_count(const_cast<c10::StorageImpl*>(storage)));
}

// Removes dead versions with their recipes, then checks the recipes of live ones. The destructor does both outside of
// the lock.
struct Cleaning {
  std::vector<StorageVersionPtr> dead, alive;

  void run_locked(Table& t) TAPELENS_REQUIRES(t.lock) {
    t.turn.clear();
    for (auto at = t.versions.begin(); at != t.versions.end();) {
      if (at->second->is_storage_gone()) {
        dead.push_back(std::move(at->second));
        at = t.versions.erase(at);
      } else {
        if (!at->second->rematerialized_by().empty()) alive.push_back(at->second);
        t.turn.push_back(at->first);
        ++at;
      }
    }
    t.next_clean = std::max(kFewest, 2 * t.versions.size());
  }
  // Called when a storage is added.
  void some_locked(Table& t, const c10::StorageImpl* added) TAPELENS_REQUIRES(t.lock) {
    t.turn.push_back(added);
    for (size_t i = std::min(kLookedAt, t.turn.size()); i > 0; --i) {
      const c10::StorageImpl* const storage = t.turn.front();
      t.turn.pop_front();
      const auto at = t.versions.find(storage);
      if (at == t.versions.end()) continue;
      if (at->second->is_storage_gone()) {
        dead.push_back(std::move(at->second));
        t.versions.erase(at);
      } else {
        t.turn.push_back(storage);
      }
    }
  }
  ~Cleaning() {
    dead.clear();
    for (const StorageVersionPtr& version : alive) version->forget_useless_recipe();
  }
};

void expose(c10::StorageImpl& storage);

template <class Storage>
void forget_materializer(Storage& storage) {
  if constexpr (requires { storage.clear_materializer(); }) {
    if (storage.has_materializer() && !is_copy_on_write(storage)) storage.clear_materializer();
  }
}

// Storages whose addresses a kernel requested. Thread-local, and never destroyed, because it may be used at the
// thread's end.
std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>>& asked_by_kernels() {
  thread_local auto* asked = new std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>>;
  return *asked;
}

// Whether a kernel of LibTorch or of a library requests the address, not Python code inside of an operator. The
// kernel's schema declares its writes.
bool is_kernel_running() {
  const observe::Thread& thread = observe::this_thread();
  return thread.busy || (observe::inside_operator(thread) && !thread.open_calls.back().runs_python);
}

// The address is about to be given out for writes: now, or at any time in the storage's lifetime.
void address_asked(c10::StorageImpl& storage, bool is_shared) {
  const auto version = known_version(&storage);
  const bool is_kernel = is_kernel_running();
  if (version != nullptr && (!is_kernel || is_shared || streams::has_streams(storage.device())))
    version->about_to_be_written();
  if (is_kernel) {
    asked_by_kernels().emplace_back(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(&storage));
  } else {
    expose(storage);
  }
}

// Keeps the memory of the program's storage in all cases, because numpy, DLPack or another library may know its
// address. If the storage is written, the clone gets a copy; LibTorch's own copy-on-write would copy the storage
// instead. `Storage` is a parameter because LibTorch supports this only since 2.15. Before, only operators do this.
template <class Storage>
void materialize(Storage* storage) {
  using namespace c10::impl::cow;  // not qualified below: LibTorch before 2.15 has no such function
  const bool is_shared = is_copy_on_write(*storage);
  // The code that copies it must not call this again.
  if (!is_shared) forget_materializer(*storage);
  // Not in a forked child, in which the owner of a lock may not exist.
  if (observe::mode() != observe::Mode::off)
    attempt({recomputation(true).id, Level::recomputed}, [&] { address_asked(*storage, is_shared); });
  if (is_copy_on_write(*storage)) materialize_cow(storage);
}

// Sets materialize() to be called before any write. False if LibTorch does not support that. A copy-on-write clone does
// not work on CUDA: LibTorch does not recognize its memory as the allocator's, so record_stream() and LibTorch's own
// uses on other streams would not reach the allocator.
template <class Storage>
bool watch_writes(Storage& storage) {
  if constexpr (requires { storage.set_materializer(&materialize<Storage>); }) {
    if (is_copy_on_write(storage)) return false;
    if (!storage.has_materializer()) storage.set_materializer(&materialize<Storage>);
    return true;
  }
  return false;
}

// The address is not given out yet, or is known already: the next request for it calls materialize().
template <class Storage>
void watch(Storage& storage) {
  if constexpr (requires { storage.clear_materializer(); }) {
    if (is_cpu_or_has_streams(storage.device_type()) && !storage.has_materializer() &&
        !storage.throw_on_immutable_data_ptr() && c10::impl::cow::has_simple_data_ptr(storage)) {
      storage.set_materializer(&materialize<Storage>);
    }
  }
}

template <class Storage>
c10::Storage share(Storage& storage) {
  const bool was_shared = is_copy_on_write(storage);
  forget_materializer(storage);
  c10::Storage clone(c10::impl::cow::lazy_clone_storage(storage));
  if constexpr (requires { storage.clear_materializer(); }) {
    if (clone && !was_shared) storage.clear_materializer();
    if (!storage.has_materializer()) storage.set_materializer(&materialize<Storage>);
  }
  return clone;
}

}  // namespace

bool is_copy_on_write(const c10::StorageImpl& storage) {
  return c10::impl::cow::is_cow_data_ptr(const_cast<c10::StorageImpl&>(storage)._mutable_data_ptr_no_checks());
}

// ---- the table

StorageVersionPtr known_version(const c10::StorageImpl* storage) {
  Table& t = table();
  const base::MutexLock guard(t.lock);
  const auto at = t.versions.find(storage);
  return at != t.versions.end() ? at->second : nullptr;
}

StorageVersionPtr find_version(const at::Tensor& tensor) {
  StorageVersionPtr version = known_version(storage_of(tensor));
  return version != nullptr && version->is_of(tensor) ? version : nullptr;
}

StorageVersionPtr version_of(const at::Tensor& tensor) {
  if (auto known = find_version(tensor)) return known;
  return new_version(tensor, nullptr);
}

StorageVersionPtr new_version(const at::Tensor& tensor, std::unique_ptr<RecordedCall> call) {
  auto made = versions::make_pooled<StorageVersion>(tensor);
  if (const auto former = known_version(storage_of(tensor)); former != nullptr && !former->is_storage_gone())
    made->follow(*former);
  if (call != nullptr) {
    made->set_rematerialization(std::move(call));
    made->forget_useless_recipe();  // that of the overwritten version, if no other memory has its values
  }
  watch_address(*tensor.storage().unsafeGetStorageImpl());
  Table& t = table();
  StorageVersionPtr former = made;
  Cleaning cleaning;
  {
    const base::MutexLock guard(t.lock);
    const auto [at, is_new] = t.versions.try_emplace(storage_of(tensor));
    std::swap(at->second, former);
    if (is_new) cleaning.some_locked(t, storage_of(tensor));
    if (former != nullptr && !former->is_storage_gone()) {
      if (former->is_left_alone()) made->leave_alone();
      if (former->is_exposed()) made->exposed();
    }
    if (t.versions.size() > t.next_clean) cleaning.run_locked(t);
  }
  if (former != nullptr && !former->is_storage_gone()) former->overwritten();
  return made;
}

void note_write(const c10::StorageImpl& storage, std::vector<StorageVersionPtr>& written) {
  const StorageVersionPtr version = known_version(&storage);
  if (version == nullptr) return;
  version->keep_variables(nullptr);
  try {
    version->about_to_be_written();
    written.push_back(version);
  } catch (...) {
    version->overwritten();  // its dependents raise an error: they must not read the values that are written now
    throw;
  }
}

namespace {

StorageVersionPtr known_or_mark(c10::StorageImpl& storage) {
  StorageVersionPtr version = known_version(&storage);
  if (version != nullptr && !version->is_storage_gone()) return version;
  version = versions::make_pooled<StorageVersion>(storage);
  Table& t = table();
  StorageVersionPtr former = version;
  const base::MutexLock guard(t.lock);
  std::swap(t.versions[&storage], former);
  return version;
}

// Unlike a storage that is left alone, it has the values that operators gave it, as far as is known.
void expose(c10::StorageImpl& storage) {
  const StorageVersionPtr version = known_or_mark(storage);
  if (version->is_exposed()) return;
  version->hold_again(storage);
  version->tell_left_alone(kExposed);
  version->exposed();
}

}  // namespace

void watch_address(c10::StorageImpl& storage) { watch(storage); }
void expose(const at::Tensor& tensor) {
  c10::StorageImpl& storage = *storage_of(tensor);
  if (const auto version = known_version(&storage)) version->about_to_be_written();
  expose(storage);
}
void forget_watch(c10::StorageImpl& storage) { forget_materializer(storage); }

void watch_again() {
  if constexpr (!kSeesAddresses) return;
  auto& asked = asked_by_kernels();
  if (asked.empty()) return;
  for (const auto& one : asked) {
    if (const auto storage = one.lock()) watch_address(*storage);
  }
  asked.clear();
}

void variable_changes(const at::Tensor& variable) {
  if (const auto version = known_version(storage_of(variable))) version->keep_variables(variable.unsafeGetTensorImpl());
}

void leave_alone(c10::StorageImpl& storage) {
  const StorageVersionPtr version = known_or_mark(storage);
  version->keep_variables(nullptr);
  struct Losing {
    StorageVersion& version;
    ~Losing() { version.overwritten(); }
  } const losing{*version};
  version->leave_alone();
  version->about_to_be_written();
  // The write happens on another thread, or the storage gets other memory.
  if (is_copy_on_write(storage)) storage.mutable_data_ptr();
}

void touch(c10::StorageImpl& storage, streams::StreamUse use, bool is_output) {
  if (!streams::has_streams(storage.device())) return;
  StorageVersionPtr version = known_version(&storage);
  if (version != nullptr && version->is_storage_gone()) version = nullptr;
  const bool is_captured = use == streams::StreamUse::is_capturing && streams::is_capturing(storage.device());
  const auto now = streams::current(storage.device());
  if (!is_captured && version == nullptr && is_output) {
    if (now != streams::first(storage.device())) known_or_mark(storage);
    return;
  }
  if (!is_captured && now == (version != nullptr ? version->stream() : streams::first(storage.device()))) return;
  if (version != nullptr) version->hold_again(storage);
  if (version != nullptr && version->is_left_alone()) return;
  const char* const reason = is_captured ? kCaptured : kOnAnotherStream;
  known_or_mark(storage)->set_touched(reason);
  if (version != nullptr) version->tell_left_alone(reason);
  leave_alone(storage);
}

const char* touched(c10::StorageImpl& storage) {
  const StorageVersionPtr version = known_version(&storage);
  return version != nullptr && !version->is_storage_gone() ? version->touched() : nullptr;
}

void forget_sharing(c10::StorageImpl& storage) { forget_materializer(storage); }

bool is_steady(c10::StorageImpl& storage) {
  if (!storage.resizable() || !(is_copy_on_write(storage) || c10::impl::cow::has_simple_data_ptr(storage)))
    return false;
  Table& t = table();
  const base::MutexLock guard(t.lock);
  const auto at = t.versions.find(&storage);
  return at == t.versions.end() || at->second->is_storage_gone() || !at->second->is_left_alone();
}

void forget_dead_versions() {
  Cleaning cleaning;
  Table& t = table();
  const base::MutexLock guard(t.lock);
  cleaning.run_locked(t);
}

// ---- one version

StorageVersion::StorageVersion(const at::Tensor& tensor)
    : Version(tensor.storage().nbytes()),
      storage_(tensor.storage().getWeakStorageImpl()),
      counter_(tensor.unsafeGetTensorImpl()->version_counter()),
      version_(counter_.current_version()),
      stream_(streams::first(tensor.device())) {}

StorageVersion::StorageVersion(c10::StorageImpl& storage)
    : Version(0),
      storage_(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(&storage)),
      stream_(streams::current(storage.device())) {
  overwritten();
}

// A tensor with a separate counter (by .data, by set_()) has the same version: operators report its writes, too.
bool StorageVersion::is_of(const at::Tensor& tensor) const {
  const c10::VariableVersion& counter = tensor.unsafeGetTensorImpl()->version_counter();
  return is_alive() && (!members::is_same(counter, counter_) || counter.current_version() == version_);
}

void StorageVersion::set_rematerialization(std::unique_ptr<RecordedCall> call) {
  rematerialized_by_ = recomputation(call->op != nullptr).id;
  Version::set_rematerialization(std::move(call));
}

bool StorageVersion::has_values() const {
  return !is_without_memory() && !storage_.expired() && counter_.current_version() == version_;
}

bool StorageVersion::is_steady() const {
  // A costly operator reads large sources, and other code may write one of them unseen.
  if (is_exposed() && settings().repeats_costly()) return false;
  const auto storage = storage_.lock();
  return storage != nullptr && storage->nbytes() == bytes() && rewrite::is_steady(*storage);
}

bool StorageVersion::is_compared() const { return !stream_ && (!kSeesAddresses || is_exposed()); }

uint64_t StorageVersion::checksum(const versions::Values& values) const {
  const c10::Storage& storage = static_cast<const StorageValues&>(values).memory().here();
  return trace::checksum_of(storage.data(), storage.nbytes());
}

versions::ValuesPtr StorageVersion::storage() {
  auto storage = storage_.lock();
  return storage != nullptr ? std::make_shared<StorageValues>(c10::Storage(std::move(storage)), stream_) : nullptr;
}

versions::ValuesPtr StorageVersion::clone() {
  const auto storage = storage_.lock();
  if (storage != nullptr && stream_) return watch_writes(*storage) ? this->storage() : nullptr;
  c10::Storage made = storage != nullptr ? share(*storage) : c10::Storage();
  return made ? std::make_shared<StorageValues>(std::move(made)) : nullptr;
}

// The program's storage is the pin itself, or gone. A write to a copy-on-write clone that others share copies it.
bool StorageVersion::is_sole_holder(const versions::Values& pin) const {
  const auto& values = static_cast<const StorageValues&>(pin);
  const c10::StorageImpl* storage = values.memory().storage().unsafeGetStorageImpl();
  if (stream_ && (streams::current(stream_->device()) != stream_ || streams::is_capturing(stream_->device()) ||
                  touched() != nullptr))
    return false;
  return use_count(storage) == 1 && (values.is_storage() || storage_.expired());
}

versions::ValuesPtr StorageVersion::copy(const versions::Values& values) {
  return std::make_shared<StorageValues>(copy_of(static_cast<const StorageValues&>(values).memory().here()));
}

namespace {
const SavedTensorHook& as_saved(const versions::Hook* hook) { return static_cast<const SavedTensorHook&>(*hook); }
}  // namespace

versions::Version::Holders StorageVersion::holders() const {
  const auto& hooks = all_hooks();
  const c10::StorageImpl* storage = storage_of(as_saved(hooks.front()).tensor());
  if (storage->nbytes() != bytes()) return Holders::never_alone;  // resized
  const uint32_t in_cache = copy_ != nullptr ? copy_->references() : 0;
  if (in_cache > 1 || use_count(storage) != hooks.size() + in_cache) return Holders::others_too;
  for (const auto* hook : hooks)
    if (as_saved(hook).tensor().use_count() != 1) return Holders::others_too;
  // The memory is returned to its stream, and read there before.
  if (stream_ && (streams::current(stream_->device()) != stream_ || streams::is_capturing(stream_->device())))
    return Holders::others_too;
  if (is_copy_on_write(*storage)) return Holders::never_alone;  // others have the same memory
  if (in_cache == 0) return Holders::hooks;
  return copy_->is_only_cached() ? Holders::cache : Holders::others_too;
}

bool StorageVersion::is_worth(const recompute::Chain& chain, uint64_t cost) {
  return budget().allows(recompute::candidate_of(chain, as_saved(all_hooks().front()).operator_name()), bytes(), cost);
}

// The first of each kind is recomputed at once and compared. This detects a kernel that gives other bits the second
// time, or a tensor that was written without PyTorch's knowledge, before anything depends on it.
bool StorageVersion::is_right(const recompute::Chain& chain, bool is_compared) {
  const SavedTensorHook& hook = as_saved(all_hooks().front());
  // With other settings the same chain may give other bits.
  uint64_t key = recompute::mixed(chain.key, numeric_state().hash());
  key = recompute::mixed(key, static_cast<uint64_t>(hook.geometry().dtype.toScalarType()));
  for (const int64_t size : hook.geometry().sizes) key = (key ^ static_cast<uint64_t>(size)) * 0x9e3779b97f4a7c15ULL;
  using State = versions::Trials::State;
  const State known = trials().state(chain.key, key);
  if (known == State::wrong || (known == State::right && !is_compared)) return known == State::right;
  const Quiet quiet;
  const versions::ValuesPtr made = rematerialize();
  const c10::Storage &again = storage_here(made), &original = hook.tensor().storage();
  const bool is_as_long = again.nbytes() == original.nbytes();
  // A simulated GPU runs no kernels, so the comparison would be meaningless. Accept the result, so that memory is as on
  // a real GPU.
  const bool is_right = is_as_long && (has_same_bits(again, original) || (stream_ && observe::g_simulates));
  // If the memory was written, the operators are not wrong.
  if (is_right || !is_compared) trials().learn(chain.key, key, is_right);
  return is_right;
}

void StorageVersion::follow(const StorageVersion& former) {
  stream_ = former.stream_;
  if (former.has_reused_copies()) set_reused_copies();
  set_touched(former.touched());
}

void StorageVersion::add_without(SavedTensorHook& hook) {
  const base::MutexLock guard(lock());
  without_.push_back(&hook);
}

void StorageVersion::remove_without(SavedTensorHook& hook) {
  const base::MutexLock guard(lock());
  std::erase(without_, &hook);
}

void StorageVersion::keep_variables(const c10::TensorImpl* only) {
  const base::MutexLock guard(lock());
  for (versions::Hook* hook : all_hooks()) static_cast<SavedTensorHook&>(*hook).keep_variable(only);
  for (SavedTensorHook* hook : without_) hook->keep_variable(only);
}

void StorageVersion::hold_again(c10::StorageImpl& storage) {
  const base::MutexLock guard(lock());
  for (SavedTensorHook* hook : without_)
    hook->hold(c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(&storage)));
}

RewriteInfo StorageVersion::released_by(const SavedTensorHook& hook) const {
  if (hook.rewrite() != nullptr) return info_of(*hook.rewrite());
  if (rematerialized_by_.empty() && offloading() != nullptr) return *offloading();
  return {rematerialized_by_, Level::recomputed, {}};
}

void StorageVersion::tell_left_alone(const char* reason) {
  const base::MutexLock guard(lock());
  for (const versions::Hook* of : all_hooks()) {
    const SavedTensorHook& hook = as_saved(of);
    if (!hook.tensor().defined()) continue;
    const RewriteInfo info = released_by(hook);
    rewrite::skipped(info.id, info.level, hook.site(), reason, bytes());
    return;
  }
}

std::shared_ptr<versions::Offloaded> StorageVersion::offload(uint64_t order) {
  const auto storage = storage_.lock();
  if (storage == nullptr || !stream_) return nullptr;
  const char* reason = nullptr;
  auto copy = copy_to_host(c10::Storage(storage), *stream_, order, reason);
  if (reason != nullptr)
    rewrite::skipped(offloading()->id, offloading()->level, as_saved(all_hooks().front()).site(), reason, bytes());
  return copy;
}

void StorageVersion::skipped(const char* reason) {
  rewrite::skipped(rematerialized_by_, Level::recomputed, as_saved(all_hooks().front()).site(), reason, bytes());
}

void StorageVersion::failed() noexcept {
  const SavedTensorHook& hook = as_saved(all_hooks().front());
  const RewriteInfo info = released_by(hook);
  count_failure({info.id, info.level, hook.site(), bytes()});
}

}  // namespace tapelens::rewrite
