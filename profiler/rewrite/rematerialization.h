// Rematerialization of versions: by repeating calls of operators, which are recorded as the program makes them.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "policy/recompute/operators.h"
#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/numeric_state.h"
#include "profiler/rewrite/storage_versions.h"
#include "profiler/versions/shared_budget.h"
#include "profiler/versions/trials.h"

namespace tapelens::rewrite {

// One overload of an operator listed in policy/recompute/operators.h.
struct RepeatableOperator {
  recompute::Repeatable listed;
  c10::OperatorHandle op;
  bool is_in_place = false;          // the first argument is recomputed and overwritten
  bool copies = false;               // its result may have the values of its argument
  bool is_gelu = false;              // not boxable: its input comes from its node
  bool drops_running_stats = false;  // batch normalization: a second update must not happen
  bool is_dropout = false;           // `op` is native_dropout_backward, which maps input and mask to the same result
  size_t dropout_rate = 0;           // argument of attention; 0: none. With a rate above 0 its result is random
};

// A recipe copies smaller inputs; inputs of at least this size are sources. Bytes.
size_t least_source();

// Null if the run may not repeat it. By schema name and overload: call it once for each.
const RepeatableOperator* repeatable_operator(const at::RecordFunction& function);

// One call, as it was made. `op` is null if the version equals another version and no operator made it.
struct RecordedCall final : versions::Rematerialization {
  struct Large {  // for each of `sources`
    size_t argument = 0;
    Geometry geometry;
  };
  struct Small {
    size_t argument = 0;
    Geometry geometry;
    at::Tensor tensor;  // the program's, in its version; or a copy
    uint32_t version = 0;
    bool is_copied = false;

    void copy();  // no effect if it is a copy
  };

  template <class T>
  using Vector = std::vector<T, versions::PoolAllocator<T>>;
  const RepeatableOperator* op = nullptr;
  NumericState state;
  Vector<c10::IValue> arguments;  // without the sources
  Vector<Large> large;
  Vector<Small> small;

  const StorageVersion& version(size_t source) const;
  bool reads_small(size_t argument) const;
  void forget(std::initializer_list<size_t> numbers);  // sources that do not affect the result

  recompute::Machine machine = recompute::Machine::cpu;
  uint64_t product_cost = 0;  // of its multiplications

  recompute::Repeatable maker() const override { return op != nullptr ? op->listed : recompute::Repeatable{}; }
  uint64_t cost(uint64_t bytes) const override {
    return maker().product != recompute::Product::none ? product_cost : recompute::cost(maker(), bytes, machine);
  }
  bool is_same(const Rematerialization& other) const override;
  uint64_t key() const override;
  bool has_small_sources() const override;
  uint64_t pin_small_sources() override;
  versions::ValuesPtr run(std::vector<Input> inputs) override;  // below autograd and autocast
};

// The recipe of a whole tensor with the values of another version.
std::unique_ptr<RecordedCall> equal_to(std::shared_ptr<versions::Version> version, const Geometry& geometry);

// A contiguous tensor that a cast to another type read.
struct CastSource {
  StorageVersionPtr version;
  Geometry geometry;
};
// The source of the cast whose contiguous result is the whole version. Empty: no such cast made it.
std::optional<CastSource> source_of_cast(StorageVersionPtr version);

// A call in progress.
struct Call {
  const RepeatableOperator* op = nullptr;
  std::unique_ptr<RecordedCall> record;  // null: the call cannot be recorded
};
Call begin_call(const RepeatableOperator& op, const at::RecordFunction& function);
// `is_outermost`: no other such call encloses it.
void end_call(Call call, const at::RecordFunction& function, bool is_outermost);
// A product that the program calls: the budget is a share of the products' cost.
void count_product(recompute::Product product, const at::RecordFunction& function);

// The recompute budget of this process, and its results of trial rematerializations.
versions::SharedBudget& budget();
versions::Trials& trials();

}  // namespace tapelens::rewrite
