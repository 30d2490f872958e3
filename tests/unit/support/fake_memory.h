// Storages, saved-tensor hooks and operators without LibTorch, for the tests of profiler/versions. A storage holds one
// number instead of bytes, and an operator's result is a hash of its inputs. A clone shares memory with its storage and
// no write separates them: code that does not copy before a write reads the wrong number.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "profiler/versions/version.h"

namespace tapelens::versions::fake {

// Counts its live objects: a test must end with none.
struct Memory {
  explicit Memory(uint64_t number) : value(number) { ++alive; }
  Memory(const Memory& other) : value(other.value) { ++alive; }
  Memory& operator=(const Memory&) = delete;
  ~Memory() { --alive; }
  static inline std::atomic<int64_t> alive{0};

  uint64_t value;
};

struct Storage {
  explicit Storage(uint64_t number) : memory(std::make_shared<Memory>(number)) {}
  std::shared_ptr<Memory> memory;
  std::shared_ptr<std::atomic<uint32_t>> counter = std::make_shared<std::atomic<uint32_t>>(0);
};
using StoragePtr = std::shared_ptr<Storage>;

struct FakeValues final : Values {
  uint64_t bytes() const override { return size; }
  bool is_shared() const override { return shared; }

  uint64_t size = 0;
  bool shared = false;
  std::shared_ptr<Memory> memory;
  StoragePtr storage;  // null: a clone or a copy
};

inline ValuesPtr values_of(std::shared_ptr<Memory> memory, uint64_t size, bool shared, StoragePtr storage = nullptr) {
  auto made = std::make_shared<FakeValues>();
  made->size = size;
  made->shared = shared;
  made->memory = std::move(memory);
  made->storage = std::move(storage);
  return made;
}
inline Memory& memory_of(const ValuesPtr& values) { return *static_cast<const FakeValues&>(*values).memory; }

constexpr uint64_t hashed(uint64_t hash, uint64_t value) { return recompute::mixed(hash + 1, value) ^ (hash >> 7); }

// Answers of the rest of the process to the host's questions.
struct Rules {
  std::function<bool(uint64_t site, uint64_t bytes, uint64_t cost)> is_worth;  // empty: always
  std::function<bool()> copy_fails;                                            // empty: never
  std::function<bool()> is_host_full;                                          // empty: never
};

// A copy that takes the values at its begin: a write before its end, which must not happen, makes it wrong.
class FakeOffloaded final : public Offloaded {
 public:
  FakeOffloaded(uint64_t value, uint64_t bytes) : memory_(value), bytes_(bytes) {}
  void end_copy() override { is_away_ = true; }
  ValuesPtr fetch() override {
    TAPELENS_ASSERT(is_away_);
    ++fetches;
    return values_of(std::make_shared<Memory>(memory_), bytes_, false);
  }
  static inline std::atomic<uint32_t> fetches{0};

 private:
  const Memory memory_;
  const uint64_t bytes_;
  bool is_away_ = false;
};

class FakeVersion final : public Version {
 public:
  FakeVersion(const StoragePtr& storage, uint64_t size, const Rules& rules)
      : Version(size), storage_(storage), counter_(storage->counter), at_(counter_->load()), rules_(rules) {
    ++alive;
  }
  ~FakeVersion() override { --alive; }
  static inline std::atomic<int64_t> alive{0};

  std::vector<std::string> reasons;  // why it was not released; with its lock held
  int failures = 0;
  std::string name;  // operator of the node that saved it first
  bool gives_other_bits = false;
  bool compares = false, trusts = false;  // whether operators give the same bits again

  // ---- a version that a cache has, too: one more reference to its storage
  bool is_cached = false;
  std::weak_ptr<FakeVersion> cast;  // a cached version that is made of this one
  bool is_without_memory() const { return is_without_memory_; }
  // A reader of the cache comes, or its source is about to be written.
  void give_memory() {
    {
      const base::MutexLock guard(lock());
      if (!is_without_memory_) return;
      if (const StoragePtr storage = storage_.lock())
        storage->memory = static_cast<const FakeValues&>(*rematerialize()).memory;
      is_without_memory_ = false;
    }
    remove_reader();
  }

 private:
  bool has_values() const override { return !is_without_memory_ && !storage_.expired() && counter_->load() == at_; }
  void before_write() override {
    if (const auto made = cast.lock()) made->give_memory();
  }
  void released() noexcept override {
    const StoragePtr storage = storage_.lock();
    if (!is_cached || storage == nullptr) return;
    storage->memory.reset();
    is_without_memory_ = true;
    add_reader_of_released();
  }
  bool is_steady() const override { return true; }
  bool is_compared() const override { return compares; }
  uint64_t checksum(const Values& values) const override {
    return static_cast<const FakeValues&>(values).memory->value;
  }
  ValuesPtr storage() override {
    StoragePtr storage = storage_.lock();
    if (storage == nullptr) return nullptr;
    auto memory = storage->memory;
    return values_of(std::move(memory), bytes(), true, std::move(storage));
  }
  ValuesPtr clone() override {
    const StoragePtr storage = storage_.lock();
    return storage != nullptr ? values_of(storage->memory, bytes(), true) : nullptr;
  }
  bool is_sole_holder(const Values& pin) const override {
    return storage_.expired() && static_cast<const FakeValues&>(pin).memory.use_count() == 1;
  }
  ValuesPtr copy(const Values& values) override {
    if (rules_.copy_fails && rules_.copy_fails()) throw std::bad_alloc();
    return values_of(std::make_shared<Memory>(*static_cast<const FakeValues&>(values).memory), values.bytes(), false);
  }
  Holders holders() const override {
    const StoragePtr storage = storage_.lock();
    const long others = storage.use_count() - 1 - static_cast<long>(all_hooks().size());
    if (others != 0) return is_cached && others == 1 ? Holders::cache : Holders::others_too;
    return storage->memory.use_count() == 1 ? Holders::hooks : Holders::never_alone;
  }
  bool is_worth(const recompute::Chain& chain, uint64_t cost) override {
    return !rules_.is_worth || rules_.is_worth(recompute::candidate_of(chain, name), bytes(), cost);
  }
  bool is_right(const recompute::Chain&, bool is_compared) override {
    if (trusts && !is_compared) return true;
    const ValuesPtr made = rematerialize();
    return !gives_other_bits && memory_of(made).value == memory_of(storage()).value;
  }
  std::shared_ptr<Offloaded> offload(uint64_t) override {
    if (rules_.is_host_full && rules_.is_host_full()) {
      reasons.emplace_back("full");
      return nullptr;
    }
    return std::make_shared<FakeOffloaded>(memory_of(storage()).value, bytes());
  }
  void skipped(const char* reason) override { reasons.emplace_back(reason); }
  void failed() noexcept override { ++failures; }

  const std::weak_ptr<Storage> storage_;
  const std::shared_ptr<std::atomic<uint32_t>> counter_;
  const uint32_t at_;
  const Rules& rules_;
  std::atomic<bool> is_without_memory_{false};
};
using FakeVersionPtr = std::shared_ptr<FakeVersion>;

struct FakeEncoded final : Encoded {
  uint64_t bytes() const override { return size; }
  bool is_exact() const override { return exact; }
  ValuesPtr decode() const override { return values_of(std::make_shared<Memory>(value), whole, false); }

  uint64_t size = 0, whole = 0, value = 0;
  bool exact = false;
};

// A save. Its mask is the lowest bit.
enum class Encodes : uint8_t { never, mask, exact, not_these_values };
class FakeHook final : public Hook {
 public:
  FakeHook(FakeVersionPtr version, StoragePtr storage, Encodes encodes, Ways ways)
      : Hook(ways, ++last_order),
        version_(std::move(version)),
        storage_(std::move(storage)),
        encodes_(encodes),
        saved_(storage_->memory->value) {
    version_->add(*this);
  }
  ~FakeHook() { version_->remove(*this); }

  // Whether the backward gets the saved value. Throws if the backward would get an error.
  bool is_right() const {
    {
      const base::MutexLock guard(version_->lock());
      if (storage_ != nullptr) return storage_->memory->value == saved_;
    }
    if (encoded() == nullptr) return memory_of(version_->unpack(*this)).value == saved_;
    const auto& encoding = static_cast<const FakeEncoded&>(*encoded());
    return encoding.value == (encoding.exact ? saved_ : saved_ & 1);
  }
  bool is_released() const {
    const base::MutexLock guard(version_->lock());
    return storage_ == nullptr;
  }
  const FakeVersionPtr& version() const { return version_; }
  const StoragePtr& storage() const { return storage_; }  // null: released

  std::shared_ptr<const Encoded> encode() override {
    if (encodes_ == Encodes::not_these_values) return nullptr;
    auto made = std::make_shared<FakeEncoded>();
    made->exact = encodes_ == Encodes::exact;
    made->whole = version_->bytes();
    made->size = version_->bytes() / (made->exact ? 4 : 32);
    made->value = made->exact ? saved_ : saved_ & 1;
    return made;
  }
  bool can_encode() const override { return encodes_ != Encodes::never; }
  void release(ReleaseKind way, uint64_t bytes, uint64_t) override {
    freed += bytes;
    is_offloaded = way == ReleaseKind::offloaded;
    storage_.reset();
  }

  uint64_t freed = 0;  // bytes of storages
  bool is_offloaded = false;
  static inline std::atomic<uint64_t> last_order{0};

 private:
  const FakeVersionPtr version_;
  StoragePtr storage_;
  const Encodes encodes_;
  const uint64_t saved_;
};

// A call of the operator with this number. Its other inputs are numbers in the program's memory.
class FakeCall final : public Rematerialization {
 public:
  FakeCall(recompute::Repeatable op, bool is_in_place) : op_(op), is_in_place_(is_in_place) {}

  void read(const FakeVersionPtr& version) {
    version->forget_useless_recipe();
    sources.push_back({version});
  }
  void read_small(const StoragePtr& storage) {
    small_.push_back({storage->memory, storage->counter, *storage->counter});
  }

  recompute::Repeatable maker() const override { return op_; }
  uint64_t cost(uint64_t bytes) const override { return recompute::cost(op_, bytes, recompute::Machine::cpu); }
  bool is_same(const Rematerialization& other) const override {
    const auto& call = static_cast<const FakeCall&>(other);
    if (op_.number != call.op_.number || small_.size() != call.small_.size()) return false;
    for (size_t i = 0; i < small_.size(); ++i)
      if (small_[i].memory != call.small_[i].memory || small_[i].at != call.small_[i].at) return false;
    return true;
  }
  uint64_t key() const override { return op_.number; }
  bool has_small_sources() const override {
    for (const Small& small : small_)
      if (small.counter != nullptr && small.counter->load() != small.at) return false;
    return true;
  }
  uint64_t pin_small_sources() override {
    uint64_t copied = 0;
    for (Small& small : small_) {
      if (std::exchange(small.counter, nullptr) == nullptr) continue;
      small.memory = std::make_shared<Memory>(*small.memory);
      copied += 8;
    }
    return copied;
  }
  ValuesPtr run(std::vector<Input> inputs) override {
    ++runs;
    const uint64_t value = result(inputs);
    if (!is_in_place_ || !inputs.front().is_ours) return values_of(std::make_shared<Memory>(value), bytes, false);
    memory_of(inputs.front().values).value = value;
    return std::move(inputs.front().values);
  }
  uint64_t bytes = 1 << 20;  // of its result
  static inline std::atomic<uint32_t> runs{0};

  // The result for the current values of the versions, computed as the program does.
  uint64_t first_result(const std::vector<StoragePtr>& storages) const {
    std::vector<Input> inputs;
    for (const StoragePtr& storage : storages) inputs.push_back({values_of(storage->memory, 0, true)});
    return result(inputs);
  }

 private:
  struct Small {
    std::shared_ptr<Memory> memory;
    std::shared_ptr<std::atomic<uint32_t>> counter;  // null: a copy
    uint32_t at;
  };
  uint64_t result(const std::vector<Input>& inputs) const {
    if (!op_) return memory_of(inputs.front().values).value;
    uint64_t value = op_.number;
    for (const Input& input : inputs) value = hashed(value, memory_of(input.values).value);
    for (const Small& small : small_) value = hashed(value, small.memory->value);
    return value;
  }

  const recompute::Repeatable op_;
  const bool is_in_place_;
  std::vector<Small> small_;
};

}  // namespace tapelens::versions::fake
