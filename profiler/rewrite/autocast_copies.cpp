#include "profiler/rewrite/autocast_copies.h"

#include <ATen/autocast_mode.h>
#include <pthread.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "profiler/observe/thread.h"
#include "profiler/rewrite/arguments.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/host.h"
#include "profiler/rewrite/rematerialization.h"

namespace tapelens::rewrite {
namespace {

constexpr const char* kUnreadable =
    "Tapelens freed the memory of autocast's copy of a weight. Either no memory was left to make the copy again, or "
    "code other than an operator of PyTorch reads it. Run without --apply.";

// CUDA's allocator puts smaller blocks together into segments. If the block of a copy is free during the next
// operators, their saves take parts of it, the next copy of that size does not fit, and the segments grow.
constexpr uint64_t kOwnSegment = uint64_t{10} << 20;

// Whether autocast's kernel of an operator of LibTorch makes a cast for it. The operator began under autocast, and its
// kernel runs without.
bool is_cast_of_autocast(c10::Device device) {
  if (!at::autocast::is_autocast_cache_enabled() || at::autocast::is_autocast_enabled(device.type())) return false;
  const auto& open_calls = observe::this_thread().open_calls;
  const auto of = std::find_if(open_calls.rbegin(), open_calls.rend(), [](const observe::OpenCall& call) {
    return call.name == nullptr || std::string_view(call.name) != "aten::to";
  });
  return of != open_calls.rend() && of->name != nullptr && std::string_view(of->name).starts_with("aten::") &&
         (of->rewrite_mark & autocast_copies::kBeganUnderAutocast) != 0;
}

template <class Slot>
bool has_python_object(const Slot& slot) {
  if constexpr (requires { slot.load_pyobj(); }) return slot.load_pyobj() != nullptr;
  return true;  // not known
}

// A PyTorch that cannot do this has no copies here: autocast_copy().
template <class Storage>
void make_readable(Storage& storage) {
  if constexpr (requires { storage.clear_data_ptr_access_error_msg_(); }) storage.clear_data_ptr_access_error_msg_();
}

}  // namespace

// ---- one copy

AutocastCopy::AutocastCopy(const at::Tensor& copy, const StorageVersionPtr& weight)
    : copy_(copy.getIntrusivePtr()), weight_(weight) {
  autocast_copies::are_known();
}

bool AutocastCopy::is_only_cached() const {
  const at::Tensor copy = tensor();
  if (!copy.defined() || has_python_object(*copy.unsafeGetTensorImpl()->pyobj_slot())) return false;
  const StorageVersionPtr weight = this->weight();
  return weight != nullptr && !weight->has_reused_copies() && copy.use_count() == 2;  // `copy` is one
}

// The conditions of at::autocast::cached_cast().
std::unique_ptr<AutocastCopy> autocast_copy(const RecordedCall& call, const at::Tensor& result) {
  if (!kSeesAddresses || call.op == nullptr || !call.op->copies || call.sources.size() != 1 || !call.small.empty())
    return nullptr;
  if (!is_cast_of_autocast(result.device()) ||
      result.scalar_type() != at::autocast::get_autocast_dtype(result.device().type()) ||
      call.large.front().geometry.dtype != caffe2::TypeMeta::Make<float>())
    return nullptr;
  auto weight = std::static_pointer_cast<StorageVersion>(call.sources.front().version);
  return weight->is_kept_by_program() ? std::make_unique<AutocastCopy>(result, weight) : nullptr;
}

// ---- the versions of copies

StorageVersion::~StorageVersion() = default;

void StorageVersion::set_autocast_copy(std::unique_ptr<AutocastCopy> copy) { copy_ = std::move(copy); }

StorageVersionPtr StorageVersion::weight_of_copy() const { return copy_ != nullptr ? copy_->weight() : nullptr; }

void StorageVersion::before_write() { autocast_copies::give_memory_of(storage_._unsafe_get_target()); }

// Another thread may get the copy from the cache at the same time. It takes its reference before it looks for copies
// without memory, and this one is among them before its references are counted.
void StorageVersion::released() noexcept {
  if (copy_ == nullptr) return;
  const auto storage = storage_.lock();
  const StorageVersionPtr weight = copy_->weight();
  if (storage == nullptr || weight == nullptr) return;
  bool is_without = false;
  attempt({rematerialized_by_, Level::recomputed}, [&] {
    lock().assert_held();
    autocast_copies::add(weight->storage_address(), std::static_pointer_cast<StorageVersion>(shared_from_this()));
    is_without_memory_.store(true);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    is_without = copy_->is_only_cached();
    if (!is_without) {
      is_without_memory_.store(false);
      autocast_copies::remove(weight->storage_address(), this);
      return;
    }
    add_reader_of_released();
    if (storage->device().is_cuda() && bytes() < kOwnSegment) {
      autocast_copies::free_at_next_cast(copy_->tensor().numel(), weak_from_this());
    } else {
      free_storage(*storage);
    }
  });
  if (!is_without) overwritten();  // the next save of it needs a version that is not released
}

void StorageVersion::free_storage(c10::StorageImpl& storage) {
  forget_watch(storage);
  storage.release_data_and_set_meta_custom_data_ptr_error_msg_(kUnreadable);  // may throw: nothing is freed then
  storage.set_data_ptr_noswap(at::DataPtr(nullptr, storage.device()));
  is_memory_free_ = true;
}

void StorageVersion::free_memory() {
  const base::MutexLock guard(lock());
  const auto storage = storage_.lock();
  if (storage != nullptr && is_without_memory_.load()) free_storage(*storage);
}

void StorageVersion::give_memory(For what) {
  at::Tensor copy;
  {
    const base::MutexLock guard(lock());
    if (!is_without_memory_.load()) return;
    if (copy_ != nullptr) copy = copy_->tensor();
    if (copy.defined() && is_memory_free_) {
      const Quiet quiet;
      versions::ValuesPtr made;
      {
        const streams::On on(stream_);
        made = rematerialize_own();  // the program may have an equal copy
      }
      c10::StorageImpl& from = *storage_here(made).unsafeGetStorageImpl();
      TORCH_CHECK(from.nbytes() == bytes(), "the copy of a weight has ", from.nbytes(), " bytes instead of ", bytes());
      c10::StorageImpl& to = *storage_of(copy);
      make_readable(to);
      to.set_data_ptr_noswap(from.set_data_ptr(at::DataPtr(nullptr, from.device())));
    }
    is_without_memory_.store(false);
  }
  if (what == For::write) {
    overwritten();  // without it the recipe would stay, and the weight would be copied for the recipe
    without_memory_ended();
    if (copy.defined()) new_version(copy, nullptr);
    return;
  }
  without_memory_ended();
  if (copy.defined()) new_version(copy, equal_to(shared_from_this(), Geometry(copy)));
}

void StorageVersion::without_copy() noexcept {
  if (is_without_memory_.exchange(false)) without_memory_ended();
}

void StorageVersion::without_memory_ended() noexcept {
  if (const StorageVersionPtr weight = copy_->weight()) autocast_copies::remove(weight->storage_address(), this);
  remove_reader();
}

// ---- those without memory

namespace autocast_copies {

bool is_autocast_on() {
  if (!kSeesAddresses) return false;  // no copies
  return at::autocast::is_autocast_enabled(c10::kCUDA) || at::autocast::is_autocast_enabled(c10::kCPU);
}

namespace {

std::atomic<size_t> g_without_memory{0};  // give_memory() has work to do
// A copy may be in a cache. A thread that has one got it by the lock of autocast's cache after this was set.
std::atomic<bool> g_are_known{false};

struct Table {
  base::Mutex lock;
  // By the storage of the weight, whose address may be that of another one by now.
  std::unordered_map<const c10::StorageImpl*, std::vector<StorageVersionPtr>> copies TAPELENS_GUARDED_BY(lock);
  // Those whose memory is not yet free, by their number of elements.
  std::unordered_map<int64_t, std::vector<std::weak_ptr<StorageVersion>>> waiting TAPELENS_GUARDED_BY(lock);
};
std::atomic<bool> g_is_waiting{false};
Table& table() {
  static auto* made = new Table;
  return *made;
}

// In the child of a fork no thread follows operators. Its copies have memory on the CPU, as without Tapelens; it cannot
// use a GPU.
void before_fork() {
  if (g_without_memory.load() == 0 || observe::mode() == observe::Mode::off) return;
  std::vector<StorageVersionPtr> all;
  {
    const base::MutexLock guard(table().lock);
    for (const auto& [weight, copies] : table().copies) all.insert(all.end(), copies.begin(), copies.end());
  }
  for (const StorageVersionPtr& copy : all) {
    if (!copy->stream())
      attempt({copy->rematerialized_by(), Level::recomputed}, [&] { copy->give_memory(StorageVersion::For::reader); });
  }
}

constexpr size_t kFewest = 64;
std::atomic<size_t> g_next_clean{kFewest};

// A cast of as many elements begins: its result gets the memory.
void free_before(const at::RecordFunction& cast) {
  const auto inputs = cast.inputs();
  if (inputs.empty() || !inputs.front().isTensor() || !inputs.front().toTensor().defined()) return;
  std::vector<std::weak_ptr<StorageVersion>> copies;
  {
    const base::MutexLock guard(table().lock);
    const auto at = table().waiting.find(inputs.front().toTensor().numel());
    if (at == table().waiting.end()) return;
    copies = std::move(at->second);
    table().waiting.erase(at);
    g_is_waiting.store(!table().waiting.empty());
  }
  for (const auto& one : copies) {
    const StorageVersionPtr copy = one.lock();
    if (copy != nullptr) attempt({copy->rematerialized_by(), Level::recomputed}, [&] { copy->free_memory(); });
  }
}

void take_gone(std::vector<StorageVersionPtr>& from, std::vector<StorageVersionPtr>& gone) {
  const auto [first, last] = std::ranges::remove_if(from, [&](StorageVersionPtr& copy) {
    if (!copy->is_storage_gone()) return false;
    gone.push_back(std::move(copy));
    return true;
  });
  g_without_memory.fetch_sub(static_cast<size_t>(last - first));
  from.erase(first, last);
}

}  // namespace

void are_known() { g_are_known.store(true, std::memory_order_relaxed); }

void add(const c10::StorageImpl* weight, StorageVersionPtr copy) {
  static const bool is_watched = pthread_atfork(&before_fork, nullptr, nullptr) == 0;
  TORCH_CHECK(is_watched, "no memory for a handler of fork()");
  const base::MutexLock guard(table().lock);
  table().copies[weight].push_back(std::move(copy));
  g_without_memory.fetch_add(1);
}

void free_at_next_cast(int64_t elements, std::weak_ptr<StorageVersion> copy) {
  const base::MutexLock guard(table().lock);
  table().waiting[elements].push_back(std::move(copy));
  g_is_waiting.store(true);
}

void remove(const c10::StorageImpl* weight, const StorageVersion* copy) {
  StorageVersionPtr removed;  // destroyed after the lock is released
  const base::MutexLock guard(table().lock);
  const auto at = table().copies.find(weight);
  if (at == table().copies.end()) return;
  const auto one = std::ranges::find(at->second, copy, &StorageVersionPtr::get);
  if (one == at->second.end()) return;
  removed = std::move(*one);
  at->second.erase(one);
  g_without_memory.fetch_sub(1);
  if (at->second.empty()) table().copies.erase(at);
}

void give_memory_of(const c10::StorageImpl* weight) {
  if (g_without_memory.load() == 0) return;
  std::vector<StorageVersionPtr> copies;
  {
    const base::MutexLock guard(table().lock);
    const auto at = table().copies.find(weight);
    if (at == table().copies.end()) return;
    copies = at->second;
  }
  for (const StorageVersionPtr& copy : copies) copy->give_memory(StorageVersion::For::write);
}

void give_memory(const at::RecordFunction& function) {
  if (!g_are_known.load(std::memory_order_relaxed)) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (g_without_memory.load() == 0) return;
  if (g_is_waiting.load() && std::string_view(function.name()) == "aten::_to_copy") free_before(function);
  for (const c10::IValue& input : function.inputs()) {
    each_storage(input, [](const c10::StorageImpl& storage) {
      const StorageVersionPtr version = known_version(&storage);
      if (version == nullptr || !version->is_without_memory() || !version->is_storage(&storage)) return;
      attempt({version->rematerialized_by(), Level::recomputed}, [&] {
        if (const StorageVersionPtr weight = version->weight_of_copy()) weight->set_reused_copies();
        version->give_memory(StorageVersion::For::reader);
      });
    });
  }
}

void forget_gone() {
  if (g_without_memory.load() == 0) return;
  std::vector<StorageVersionPtr> gone;
  {
    const base::MutexLock guard(table().lock);
    for (auto& [weight, copies] : table().copies) take_gone(copies, gone);
    std::erase_if(table().copies, [](const auto& of) { return of.second.empty(); });
    for (auto& [elements, copies] : table().waiting)
      std::erase_if(copies, [](const auto& copy) { return copy.expired(); });
    std::erase_if(table().waiting, [](const auto& of) { return of.second.empty(); });
    g_is_waiting.store(!table().waiting.empty());
  }
  for (const StorageVersionPtr& copy : gone) copy->without_copy();
  g_next_clean.store(std::max(kFewest, 2 * g_without_memory.load()));
}

void forget_gone_sometimes() {
  if (g_without_memory.load(std::memory_order_relaxed) > g_next_clean.load(std::memory_order_relaxed)) forget_gone();
}

}  // namespace autocast_copies

}  // namespace tapelens::rewrite
