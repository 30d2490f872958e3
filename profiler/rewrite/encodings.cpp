#include "profiler/rewrite/encodings.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "profiler/bits/bits.h"
#include "profiler/rewrite/streams.h"

namespace tapelens::rewrite {
namespace {

// By LibTorch's allocator, so that memory kept by a rewrite counts as the program's memory.
c10::DataPtr memory(size_t bytes) { return c10::GetCPUAllocator()->allocate(bytes); }

class Bits final : public Encoding {
 public:
  Bits(const at::Tensor& tensor, bool exact)
      : geometry_(tensor),
        count_(static_cast<size_t>(tensor.numel())),
        bits_(memory(bits::bit_bytes(count_))),
        exact_(exact) {}
  uint8_t* bits() { return static_cast<uint8_t*>(bits_.get()); }
  void set_values(uint64_t zero, uint64_t one) {
    zero_ = zero;
    one_ = one;
  }

  at::Tensor decode() const override {
    at::Tensor made = geometry_.fresh();
    switch (geometry_.dtype.itemsize()) {
      case 1:
        spread_as<uint8_t>(made);
        break;
      case 2:
        spread_as<uint16_t>(made);
        break;
      case 4:
        spread_as<uint32_t>(made);
        break;
      default:
        spread_as<uint64_t>(made);
    }
    return made;
  }
  uint64_t bytes() const override { return bits::bit_bytes(count_); }
  bool is_exact() const override { return exact_; }

 private:
  template <class W>
  void spread_as(const at::Tensor& made) const {
    bits::spread(static_cast<const uint8_t*>(bits_.get()), count_, static_cast<W>(zero_), static_cast<W>(one_),
                 static_cast<W*>(made.mutable_data_ptr()));
  }

  Geometry geometry_;
  size_t count_;
  c10::DataPtr bits_;
  bool exact_;
  uint64_t zero_ = 0, one_ = 0;
};

template <class Narrow>
class Narrowed final : public Encoding {
 public:
  explicit Narrowed(const at::Tensor& tensor)
      : geometry_(tensor), count_(static_cast<size_t>(tensor.numel())), narrow_(memory(count_ * sizeof(Narrow))) {
    std::copy_n(static_cast<const int64_t*>(tensor.const_data_ptr()), count_, static_cast<Narrow*>(narrow_.get()));
  }
  at::Tensor decode() const override {
    at::Tensor made = geometry_.fresh();
    std::copy_n(static_cast<const Narrow*>(narrow_.get()), count_, static_cast<int64_t*>(made.mutable_data_ptr()));
    return made;
  }
  uint64_t bytes() const override { return count_ * sizeof(Narrow); }
  bool is_exact() const override { return true; }

 private:
  Geometry geometry_;
  size_t count_;
  c10::DataPtr narrow_;
};

template <class Value>
uint64_t pattern(Value value) {
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

// The values rounded to the dtype must be on the same sides of the bounds.
template <class Value>
bool tells_apart(const ValueInterval& of) {
  const auto low = static_cast<double>(static_cast<Value>(of.low)),
             high = static_cast<double>(static_cast<Value>(of.high));
  const auto is_in = [&](double v) { return of.closed ? v >= low && v <= high : v > low && v < high; };
  return is_in(static_cast<double>(static_cast<Value>(of.inside))) &&
         !is_in(static_cast<double>(static_cast<Value>(of.outside)));
}

template <class Value>
std::unique_ptr<Encoding> between(const at::Tensor& tensor, const ValueInterval& of) {
  if (!tells_apart<Value>(of)) return nullptr;
  auto made = std::make_unique<Bits>(tensor, false);
  const auto* values = static_cast<const Value*>(tensor.const_data_ptr());
  const auto count = static_cast<size_t>(tensor.numel());
  bool good;
  if constexpr (sizeof(Value) == 2) {
    good = bits::pack_between_half(values, count, static_cast<float>(of.low), static_cast<float>(of.high), of.closed,
                                   made->bits());
  } else {
    good = bits::pack_between(values, count, static_cast<Value>(of.low), static_cast<Value>(of.high), of.closed,
                              made->bits());
  }
  if (!good) return nullptr;
  made->set_values(pattern(static_cast<Value>(of.outside)), pattern(static_cast<Value>(of.inside)));
  return made;
}

// CUDA kernels compare 16-bit values as float, with bounds that are not rounded to 16 bits; operators round the bounds.
template <class Value>
bool has_bounds(const ValueInterval& of) {
  const auto is_value = [](double v) { return sizeof(Value) > 2 || static_cast<double>(static_cast<Value>(v)) == v; };
  return is_value(of.low) && is_value(of.high);
}

template <class Value>
std::unique_ptr<Encoding> between_on_device(const at::Tensor& tensor, const ValueInterval& of) {
  if (!tells_apart<Value>(of) || !has_bounds<Value>(of)) return nullptr;
  return encode_between_on_device(tensor, of, pattern(static_cast<Value>(of.outside)),
                                  pattern(static_cast<Value>(of.inside)));
}

template <class W>
std::unique_ptr<Encoding> two_valued(const at::Tensor& tensor) {
  const auto* values = static_cast<const W*>(tensor.const_data_ptr());
  const auto count = static_cast<size_t>(tensor.numel());
  const W zero = values[0];
  const W* other = std::find_if(values, values + count, [&](W v) { return v != zero; });
  const W one = other == values + count ? zero : *other;
  auto made = std::make_unique<Bits>(tensor, true);
  if (!bits::pack_equal(values, count, zero, one, made->bits())) return nullptr;
  made->set_values(zero, one);
  return made;
}

bool is_usable(const at::Tensor& tensor) { return tensor.numel() > 0 && tensor.is_non_overlapping_and_dense(); }

}  // namespace

std::unique_ptr<Encoding> encode_between(const at::Tensor& tensor, const ValueInterval& interval) {
  if (!is_usable(tensor)) return nullptr;
  const bool on_device = streams::has_streams(tensor.device());
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return on_device ? between_on_device<float>(tensor, interval) : between<float>(tensor, interval);
    case at::kDouble:
      return on_device ? between_on_device<double>(tensor, interval) : between<double>(tensor, interval);
    case at::kBFloat16:
      return on_device ? between_on_device<c10::BFloat16>(tensor, interval) : between<c10::BFloat16>(tensor, interval);
    case at::kHalf:
      return on_device ? between_on_device<c10::Half>(tensor, interval) : between<c10::Half>(tensor, interval);
    default:
      return nullptr;
  }
}

std::unique_ptr<Encoding> encode_two_valued(const at::Tensor& tensor) {
  if (!is_usable(tensor)) return nullptr;
  if (streams::has_streams(tensor.device()))
    return tensor.scalar_type() == at::kBool ? encode_bools_on_device(tensor) : nullptr;
  switch (tensor.element_size()) {
    case 1:
      return two_valued<uint8_t>(tensor);
    case 2:
      return two_valued<uint16_t>(tensor);
    case 4:
      return two_valued<uint32_t>(tensor);
    case 8:
      return two_valued<uint64_t>(tensor);
    default:
      return nullptr;
  }
}

std::unique_ptr<Encoding> encode_narrow(const at::Tensor& tensor, int64_t below) {
  if (!is_usable(tensor) || tensor.scalar_type() != at::kLong) return nullptr;
  if (streams::has_streams(tensor.device())) return below > 0 ? encode_narrow_on_device(tensor, below) : nullptr;
  const auto* values = static_cast<const int64_t*>(tensor.const_data_ptr());
  int64_t least = values[0], most = values[0];
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    least = std::min(least, values[i]);
    most = std::max(most, values[i]);
  }
  const auto has_room = [&](auto narrow) {
    return least >= std::numeric_limits<decltype(narrow)>::min() &&
           most <= std::numeric_limits<decltype(narrow)>::max();
  };
  if (has_room(int16_t{})) return std::make_unique<Narrowed<int16_t>>(tensor);
  if (has_room(int32_t{})) return std::make_unique<Narrowed<int32_t>>(tensor);
  return nullptr;
}

}  // namespace tapelens::rewrite
