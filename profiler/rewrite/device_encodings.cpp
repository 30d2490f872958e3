#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "profiler/rewrite/encodings.h"
#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/guards.h"

namespace tapelens::rewrite {
namespace {

// Packing needs one byte per element in between. Pieces keep that small relative to the tensor and to its bits. The
// number of pieces is limited, because each costs some launches.
constexpr int64_t kPieces = 8, kLeastPiece = int64_t{1} << 20;
int64_t piece_of(int64_t count) { return std::max(kLeastPiece, (count / kPieces + 7) / 8 * 8); }

// Packs eight bytes of 0 or 1 into the bits of one byte, and back: the product moves each of them to a separate bit.
// The lowest byte becomes the highest bit.
constexpr auto kSpread = static_cast<int64_t>(0x8040201008040201ULL);
constexpr int64_t kOnes = 0x0101010101010101;

at::TensorOptions on(c10::Device device, at::ScalarType type) { return at::TensorOptions(type).device(device); }

at::ScalarType integer_of(size_t bytes) {
  switch (bytes) {
    case 1:
      return at::kByte;
    case 2:
      return at::kShort;
    case 4:
      return at::kInt;
    default:
      return at::kLong;
  }
}

// The same bits as a value of the signed type with this many bytes (for one byte: unsigned).
int64_t signed_of(uint64_t bits, size_t bytes) {
  switch (bytes) {
    case 1:
      return static_cast<int64_t>(bits & 0xff);
    case 2:
      return static_cast<int16_t>(bits);
    case 4:
      return static_cast<int32_t>(bits);
    default:
      return static_cast<int64_t>(bits);
  }
}

class DeviceBits final : public Encoding {
 public:
  // `flag(values, flags)` computes bools for a piece of the tensor: `one` for true, else `zero`.
  template <class Flag>
  DeviceBits(const at::Tensor& tensor, uint64_t zero, uint64_t one, bool exact, Flag flag)
      : geometry_(tensor), count_(tensor.numel()), zero_(zero), one_(one), exact_(exact) {
    const Alone alone;
    const at::Tensor values = geometry_.flat(tensor.storage(), tensor.scalar_type(), count_);
    bits_ = at::empty({(count_ + 7) / 8}, on(geometry_.device, at::kByte));
    for (int64_t at = 0, piece = piece_of(count_); at < count_; at += piece) {
      const int64_t some = std::min(piece, count_ - at), words = (some + 7) / 8;
      const at::Tensor flags = at::empty({words * 8}, on(geometry_.device, at::kBool));
      if (some % 8 != 0) flags.narrow(0, words * 8 - 8, 8).zero_();
      flag(values.narrow(0, at, some), flags.narrow(0, 0, some));
      const at::Tensor eights = flags.view(at::kLong);
      eights.mul_(kSpread);
      eights.bitwise_right_shift_(56);
      bits_.narrow(0, at / 8, words).copy_(eights.bitwise_and_(0xff));
    }
  }

  at::Tensor decode() const override {
    const Alone alone;
    at::Tensor made = geometry_.fresh();
    const size_t bytes = geometry_.dtype.itemsize();
    Geometry here = geometry_;
    here.offset = 0;
    const at::Tensor values = here.flat(made.storage(), integer_of(bytes), count_);
    values.fill_(signed_of(zero_, bytes));
    for (int64_t at = 0, piece = piece_of(count_); at < count_; at += piece) {
      const int64_t some = std::min(piece, count_ - at), words = (some + 7) / 8;
      const at::Tensor eights = at::empty({words}, on(geometry_.device, at::kLong));
      eights.copy_(bits_.narrow(0, at / 8, words));
      eights.mul_(kSpread);
      eights.bitwise_right_shift_(7);
      eights.bitwise_and_(kOnes);
      values.narrow(0, at, some).masked_fill_(eights.view(at::kBool).narrow(0, 0, some), signed_of(one_, bytes));
    }
    return made;
  }
  uint64_t bytes() const override { return static_cast<uint64_t>(bits_.numel()); }
  bool is_exact() const override { return exact_; }

 private:
  Geometry geometry_;
  int64_t count_;
  at::Tensor bits_;
  uint64_t zero_, one_;
  bool exact_;
};

class DeviceNarrowed final : public Encoding {
 public:
  DeviceNarrowed(const at::Tensor& tensor, at::ScalarType type) : geometry_(tensor) {
    const Alone alone;
    narrow_ = geometry_.flat(tensor.storage(), at::kLong, tensor.numel()).to(type);
  }
  at::Tensor decode() const override {
    const Alone alone;
    at::Tensor made = geometry_.fresh();
    Geometry here = geometry_;
    here.offset = 0;
    here.flat(made.storage(), at::kLong, narrow_.numel()).copy_(narrow_);
    return made;
  }
  uint64_t bytes() const override { return narrow_.nbytes(); }
  bool is_exact() const override { return true; }

 private:
  Geometry geometry_;
  at::Tensor narrow_;
};

// Calls `compare` for each finite bound and joins the results.
template <class Compare, class Join>
void each_bound(const ValueInterval& of, at::Tensor flags, Compare compare, Join join) {
  const bool has_low = of.low != -std::numeric_limits<double>::infinity();
  const bool has_high = of.high != std::numeric_limits<double>::infinity();
  if (has_low) compare(flags, of.low, true);
  if (!has_high) return;
  if (!has_low) {
    compare(flags, of.high, false);
    return;
  }
  at::Tensor second = at::empty_like(flags);
  compare(second, of.high, false);
  join(flags, second);
}

}  // namespace

std::unique_ptr<Encoding> encode_between_on_device(const at::Tensor& tensor, const ValueInterval& interval,
                                                   uint64_t outside, uint64_t inside) {
  // A comparison with NaN is false. So if the gradient of a NaN passes, compare for the elements outside of the
  // interval.
  if (interval.cuda_passes_nan) {
    const auto is_outside = [&](const at::Tensor& values, at::Tensor flags) {
      each_bound(
          interval, std::move(flags),
          [&](at::Tensor& to, double bound, bool is_low) {
            if (interval.closed) {
              is_low ? at::lt_out(to, values, bound) : at::gt_out(to, values, bound);
            } else {
              is_low ? at::le_out(to, values, bound) : at::ge_out(to, values, bound);
            }
          },
          [](at::Tensor& to, const at::Tensor& other) { to.bitwise_or_(other); });
    };
    return std::make_unique<DeviceBits>(tensor, inside, outside, false, is_outside);
  }
  const auto is_inside = [&](const at::Tensor& values, at::Tensor flags) {
    each_bound(
        interval, std::move(flags),
        [&](at::Tensor& to, double bound, bool is_low) {
          if (interval.closed) {
            is_low ? at::ge_out(to, values, bound) : at::le_out(to, values, bound);
          } else {
            is_low ? at::gt_out(to, values, bound) : at::lt_out(to, values, bound);
          }
        },
        [](at::Tensor& to, const at::Tensor& other) { to.bitwise_and_(other); });
  };
  return std::make_unique<DeviceBits>(tensor, outside, inside, false, is_inside);
}

std::unique_ptr<Encoding> encode_bools_on_device(const at::Tensor& tensor) {
  return std::make_unique<DeviceBits>(tensor, 0, 1, true,
                                      [](const at::Tensor& values, const at::Tensor& flags) { flags.copy_(values); });
}

std::unique_ptr<Encoding> encode_narrow_on_device(const at::Tensor& tensor, int64_t below) {
  if (below - 1 > std::numeric_limits<int32_t>::max()) return nullptr;
  const bool is_short = below - 1 <= std::numeric_limits<int16_t>::max();
  return std::make_unique<DeviceNarrowed>(tensor, is_short ? at::kShort : at::kInt);
}

}  // namespace tapelens::rewrite
