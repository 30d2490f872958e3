#include "plugins/loss-rows/rewrite_rows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <utility>

#include "plugins/loss-rows/rule.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/host.h"

namespace tapelens::rewrite::loss_rows {
namespace {

at::Tensor part(const at::Tensor& of, int64_t begin, int64_t end) { return of.narrow(0, begin, end - begin); }

at::TensorOptions options(const Rows::Shape& shape) { return at::TensorOptions(shape.dtype).device(shape.device); }

// Calls use(begin, end) for each chunk.
template <class Use>
void each_chunk(const Rows::Shape& shape, Use use) {
  const int64_t step = rows_at_once(shape);
  for (int64_t begin = 0; begin < shape.rows; begin += step) use(begin, std::min(begin + step, shape.rows));
}

class Existing final : public Rows {
 public:
  explicit Existing(const at::Tensor& matrix)
      : Rows({matrix.size(0), matrix.size(1), matrix.scalar_type(), matrix.device()}), matrix_(matrix) {}
  Reader reader() const override {
    return [matrix = matrix_](int64_t begin, int64_t end) { return part(matrix, begin, end); };
  }

 private:
  at::Tensor matrix_;
};

class First final : public Rows {
 public:
  First(RowsPtr of, Shape shape) : Rows(shape), of_(std::move(of)) {}
  Reader reader() const override { return of_->reader(); }
  Writer writer() const override { return of_->writer(); }
  const Logits* logits() const override { return of_->logits(); }

 private:
  RowsPtr of_;
};

class LogSoftmax final : public Rows {
 public:
  LogSoftmax(RowsPtr of, const NumericState& state) : Rows(of->shape()), of_(std::move(of)), state_(state) {}
  Reader reader() const override {
    return [read = of_->reader(), state = state_](int64_t begin, int64_t end) {
      const WithNumericState its(state);
      return at::_log_softmax(read(begin, end), 1, false);
    };
  }
  const Logits* logits() const override { return of_->logits(); }

 private:
  RowsPtr of_;
  NumericState state_;
};

Rows::Shape with(Rows::Shape shape, at::ScalarType dtype) {
  shape.dtype = dtype;
  return shape;
}

class Cast final : public Rows {
 public:
  Cast(RowsPtr of, at::ScalarType dtype) : Rows(with(of->shape(), dtype)), of_(std::move(of)) {}
  Reader reader() const override {
    return [read = of_->reader(), dtype = shape().dtype](int64_t begin, int64_t end) {
      return at::_to_copy(read(begin, end), dtype);
    };
  }
  const Logits* logits() const override { return of_->logits(); }

 private:
  RowsPtr of_;
};

class NllGradient final : public Rows {
 public:
  NllGradient(Shape shape, LossGradient of) : Rows(shape), of_(std::move(of)) {}
  Reader reader() const override {
    return [of = of_, shape = shape()](int64_t begin, int64_t end) {
      // Its values are not read.
      const at::Tensor self = at::empty({end - begin, shape.columns}, options(shape));
      const at::Tensor gradient = of.gradient.dim() == 0 ? of.gradient : part(of.gradient, begin, end);
      return at::nll_loss_backward(gradient, self, part(of.target, begin, end), {}, of.reduction, of.ignore_index,
                                   of.total_weight);
    };
  }

 private:
  LossGradient of_;
};

class LogSoftmaxGradient final : public Rows {
 public:
  LogSoftmaxGradient(RowsPtr gradient, RowsPtr result, at::ScalarType dtype)
      : Rows(with(result->shape(), dtype)), gradient_(std::move(gradient)), result_(std::move(result)) {}
  Reader reader() const override {
    return [gradient = gradient_->reader(), result = result_->reader(), dtype = shape().dtype](int64_t begin,
                                                                                               int64_t end) {
      return at::_log_softmax_backward_data(gradient(begin, end), result(begin, end), 1, dtype);
    };
  }
  Writer writer() const override {
    return [gradient = gradient_->reader(), result = result_->reader(), dtype = shape().dtype](
               const at::Tensor& out, int64_t begin, int64_t end) {
      at::Tensor to = out;
      at::_log_softmax_backward_data_out(to, gradient(begin, end), result(begin, end), 1, dtype);
    };
  }
  bool is_gradient_of_logits() const override { return true; }
  const Logits* logits() const override { return result_->logits(); }

 private:
  RowsPtr gradient_, result_;
};

// Whether the tensor is another with as many elements of a smaller floating point type, which a cast keeps exactly.
bool is_smaller_type(const Geometry& source, const Geometry& of) {
  return c10::isFloatingType(source.dtype.toScalarType()) && source.dtype.itemsize() < of.dtype.itemsize() &&
         source.device == of.device && c10::multiply_integers(source.sizes) == c10::multiply_integers(of.sizes);
}

}  // namespace

Writer Rows::writer() const {
  return [read = reader()](const at::Tensor& out, int64_t begin, int64_t end) { out.copy_(read(begin, end)); };
}

namespace {
plugins::loss_rows::MatrixSize size_of(const Rows::Shape& shape) {
  return {shape.rows, shape.columns, shape.device.is_cpu() ? at::get_num_threads() : 0};
}
}  // namespace

int64_t rows_at_once(const Rows::Shape& shape) { return plugins::loss_rows::rows_at_once(size_of(shape)); }
bool is_worth_it(const Rows::Shape& shape) { return plugins::loss_rows::is_worth_it(size_of(shape)); }

RowsPtr Logits::keep(StorageVersionPtr version, Geometry geometry) {
  if (!version->add_reader()) return nullptr;
  const Shape shape{geometry.sizes[0], geometry.sizes[1], geometry.dtype.toScalarType(), geometry.device};
  return std::make_shared<Logits>(shape, std::move(geometry), std::move(version));
}

Logits::Logits(Shape shape, Geometry geometry, StorageVersionPtr version)
    : Rows(shape), geometry_(std::move(geometry)), version_(std::move(version)) {}

Logits::~Logits() { version_->remove_reader(); }

at::Tensor Logits::take(int saves) const {
  if (saves_.load() > saves || geometry_.offset != 0 || shape().bytes() != geometry_.storage_bytes) return {};
  const versions::ValuesPtr values = version_->take();
  if (values == nullptr) return {};
  taken_ = geometry_.over(storage_here(values));
  return taken_;
}

Reader Logits::reader() const {
  TORCH_CHECK(!is_overwritten_.load(), "Tapelens (loss-rows): the logits were overwritten by their gradient");
  if (taken_.defined()) {
    return [whole = taken_](int64_t begin, int64_t end) { return part(whole, begin, end); };
  }
  const versions::ValuesPtr values = version_->read();
  return [values, whole = geometry_.over(storage_here(values))](int64_t begin, int64_t end) {
    return part(whole, begin, end);
  };
}

RowsPtr kept_logits(const at::Tensor& logits) {
  StorageVersionPtr version = version_of(logits);
  const Geometry geometry(logits);
  if (geometry.offset == 0 && static_cast<uint64_t>(logits.nbytes()) == geometry.storage_bytes) {
    if (auto source = source_of_cast(version); source && is_smaller_type(source->geometry, geometry)) {
      source->geometry.sizes = geometry.sizes;
      source->geometry.strides = geometry.strides;
      if (RowsPtr rows = Logits::keep(std::move(source->version), std::move(source->geometry)))
        return cast(std::move(rows), logits.scalar_type());
    }
  }
  return Logits::keep(std::move(version), geometry);
}

RowsPtr existing(const at::Tensor& matrix) { return std::make_shared<Existing>(matrix); }
RowsPtr first_rows(RowsPtr of, int64_t count) {
  Rows::Shape shape = of->shape();
  shape.rows = count;
  return std::make_shared<First>(std::move(of), shape);
}
RowsPtr log_softmax(RowsPtr of, const NumericState& state) {
  return std::make_shared<LogSoftmax>(std::move(of), state);
}
RowsPtr cast(RowsPtr of, at::ScalarType dtype) { return std::make_shared<Cast>(std::move(of), dtype); }
RowsPtr nll_gradient(const Rows::Shape& shape, LossGradient of) {
  return std::make_shared<NllGradient>(shape, std::move(of));
}
RowsPtr log_softmax_gradient(RowsPtr gradient, RowsPtr result, at::ScalarType dtype) {
  return std::make_shared<LogSoftmaxGradient>(std::move(gradient), std::move(result), dtype);
}

namespace {

void compute(const Rows& rows, const at::Tensor& out) {
  const Quiet quiet;
  const at::Tensor matrix = out.view({rows.shape().rows, rows.shape().columns});
  const Writer write = rows.writer();
  each_chunk(rows.shape(), [&](int64_t begin, int64_t end) { write(part(matrix, begin, end), begin, end); });
}

}  // namespace

at::Tensor computed(const Rows& rows) { return computed(rows, {rows.shape().rows, rows.shape().columns}); }

at::Tensor computed(const Rows& rows, at::IntArrayRef sizes) {
  const Alone alone;
  at::Tensor made = at::empty(sizes, options(rows.shape()));
  compute(rows, made);
  return made;
}

at::Tensor computed_in_place(const Rows& rows, at::IntArrayRef sizes, int saves) {
  const Alone alone;
  const Logits* logits = rows.logits();
  if (logits == nullptr || logits->shape().dtype != rows.shape().dtype) return computed(rows, sizes);
  const at::Tensor taken = logits->take(saves);
  if (!taken.defined()) return computed(rows, sizes);
  {
    // If it throws, the program may call the backward again.
    struct Overwriting {
      const Logits& logits;
      ~Overwriting() { logits.set_overwritten(); }
    } const overwriting{*logits};
    compute(rows, taken);
  }
  Geometry geometry(taken);
  geometry.sizes.assign(sizes.begin(), sizes.end());
  const auto strides = c10::contiguous_strides(sizes);
  geometry.strides.assign(strides.begin(), strides.end());
  return geometry.over(taken.storage());
}

at::Tensor values_of_targets(const Rows& of, const at::Tensor& target, int64_t ignore_index) {
  const Quiet quiet;
  const Alone alone;
  const Rows::Shape& shape = of.shape();
  const at::Tensor values = at::empty({shape.rows, 1}, options(shape));
  const Reader read = of.reader();
  each_chunk(shape, [&](int64_t begin, int64_t end) {
    // Each row for itself: the negative value, unchanged.
    const auto [each, unused] =
        at::nll_loss_forward(read(begin, end), part(target, begin, end), {}, at::Reduction::None, ignore_index);
    at::Tensor to = part(values, begin, end).squeeze(1);
    at::neg_out(to, each);
  });
  return values;
}

// The kernels add the values of all rows in an order that depends on the number of rows only: neither the number of
// classes nor the target matters. Thus a matrix of one column has the same sum.
std::tuple<at::Tensor, at::Tensor> nll_loss_of(const at::Tensor& values, const at::Tensor& target, int64_t reduction,
                                               int64_t ignore_index) {
  constexpr int64_t kIgnored = -100;
  const Alone alone;
  at::Tensor places;
  {
    const Quiet quiet;
    places = at::zeros_like(target).masked_fill_(target.eq(ignore_index), kIgnored);
  }
  return at::nll_loss_forward(values, places, {}, reduction, kIgnored);
}

std::tuple<at::Tensor, at::Tensor> nll_loss(const Rows& of, const at::Tensor& target, int64_t reduction,
                                            int64_t ignore_index) {
  return nll_loss_of(values_of_targets(of, target, ignore_index), target, reduction, ignore_index);
}

}  // namespace tapelens::rewrite::loss_rows
