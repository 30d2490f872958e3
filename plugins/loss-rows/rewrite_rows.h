// Matrices of a cross entropy that are computed by chunks of rows: the log-probabilities and the gradients. Each row
// depends on one row of the logits only, so the bits do not depend on the number of rows that are computed at once.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <functional>
#include <memory>

#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/numeric_state.h"
#include "profiler/rewrite/storage_versions.h"

namespace tapelens::rewrite::loss_rows {

// Returns the rows [begin, end). Writes them into a contiguous tensor of that many rows.
using Reader = std::function<at::Tensor(int64_t begin, int64_t end)>;
using Writer = std::function<void(const at::Tensor& out, int64_t begin, int64_t end)>;

class Logits;

// A matrix without memory. Immutable: several threads may read it. Readers and writers belong to one thread, and run
// below autograd (alone.h).
class Rows {
 public:
  struct Shape {
    int64_t rows = 0, columns = 0;
    at::ScalarType dtype = at::kFloat;
    c10::Device device = c10::kCPU;
    uint64_t bytes() const { return static_cast<uint64_t>(rows * columns) * c10::elementSize(dtype); }
  };
  explicit Rows(Shape shape) : shape_(shape) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  virtual ~Rows() = default;

  const Shape& shape() const { return shape_; }
  virtual Reader reader() const = 0;
  virtual Writer writer() const;
  virtual bool is_gradient_of_logits() const { return false; }
  // The logits from which it is computed; null: not from the program's logits.
  virtual const Logits* logits() const { return nullptr; }

 private:
  Shape shape_;
};
using RowsPtr = std::shared_ptr<const Rows>;

// As plugins::loss_rows (rule.h).
int64_t rows_at_once(const Rows::Shape& shape);
bool is_worth_it(const Rows::Shape& shape);

// The logits of the program. Their values are kept until the last user of this object is gone.
class Logits final : public Rows {
 public:
  // Null: their values cannot be kept. The geometry has two dimensions and is contiguous, on the CPU or on CUDA.
  static RowsPtr keep(StorageVersionPtr version, Geometry geometry);
  Logits(Shape shape, Geometry geometry, StorageVersionPtr version);
  ~Logits() override;
  Reader reader() const override;
  const Logits* logits() const override { return this; }

  // Saved tensors that are computed from them.
  void add_save() const { saves_.fetch_add(1); }
  void remove_save() const { saves_.fetch_sub(1); }
  // The logits as a tensor that the caller may overwrite row by row, after it read the row for the last time.
  // Undefined: something else may read them, or more than `saves` saves.
  at::Tensor take(int saves) const;
  // After take(), and after the last reader was made: a later read raises an error.
  void set_overwritten() const { is_overwritten_.store(true); }

 private:
  const Geometry geometry_;
  const StorageVersionPtr version_;  // this object is a reader of it
  mutable std::atomic<int> saves_{0};
  mutable std::atomic<bool> is_overwritten_{false};
  mutable at::Tensor taken_;  // by the last reader
};

// Logits of two dimensions, contiguous. If they are the result of a cast from a smaller type, its source is kept. Null:
// their values cannot be kept.
RowsPtr kept_logits(const at::Tensor& logits);

// Rows that exist already.
RowsPtr existing(const at::Tensor& matrix);
// Part of a matrix: its first rows.
RowsPtr first_rows(RowsPtr of, int64_t count);
RowsPtr log_softmax(RowsPtr of, const NumericState& state);
RowsPtr cast(RowsPtr of, at::ScalarType dtype);

// The arguments of nll_loss_backward() without the log-probabilities, copied.
struct LossGradient {
  at::Tensor gradient, target, total_weight;
  int64_t reduction = 0, ignore_index = 0;
};
RowsPtr nll_gradient(const Rows::Shape& shape, LossGradient of);
// `result` comes from log_softmax. `dtype` is the type of the logits.
RowsPtr log_softmax_gradient(RowsPtr gradient, RowsPtr result, at::ScalarType dtype);

// All rows, in new contiguous memory.
at::Tensor computed(const Rows& rows);
// The same as a tensor of other sizes.
at::Tensor computed(const Rows& rows, at::IntArrayRef sizes);
// The same for a gradient, in the memory of the logits if it has their type and no more than `saves` saves read them.
at::Tensor computed_in_place(const Rows& rows, at::IntArrayRef sizes, int saves);
// nll_loss_forward() without weights, of log-probabilities: the loss and the total weight.
std::tuple<at::Tensor, at::Tensor> nll_loss(const Rows& of, const at::Tensor& target, int64_t reduction,
                                            int64_t ignore_index);
// The same from the logarithm of each target's probability, as LibTorch adds them: [rows, 1].
std::tuple<at::Tensor, at::Tensor> nll_loss_of(const at::Tensor& values, const at::Tensor& target, int64_t reduction,
                                               int64_t ignore_index);
// The logarithm of each target's probability, 0 for ignored rows: [rows, 1].
at::Tensor values_of_targets(const Rows& of, const at::Tensor& target, int64_t ignore_index);

}  // namespace tapelens::rewrite::loss_rows
