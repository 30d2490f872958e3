#include "plugins/loss-rows/rule.h"

#include <algorithm>

namespace tapelens::plugins::loss_rows {
namespace {

constexpr int64_t kAligned = 16;  // rows
// Bytes of a chunk: on a CPU it stays in the cache.
constexpr uint64_t kChunk = uint64_t{4} << 20;
// On a GPU each chunk costs launches of kernels, so that their number is limited.
constexpr uint64_t kMostChunks = 64;
constexpr int64_t kRowsPerThread = 4;

int64_t rounded_up(int64_t rows) { return (rows + kAligned - 1) / kAligned * kAligned; }

}  // namespace

int64_t rows_at_once(const MatrixSize& matrix) {
  constexpr uint64_t kWidest = 4;  // the sums of kernels are float32
  const uint64_t row = std::max<uint64_t>(1, static_cast<uint64_t>(matrix.columns) * kWidest);
  const uint64_t all = row * static_cast<uint64_t>(matrix.rows);
  const bool is_cpu = matrix.threads > 0;
  const uint64_t chunk = std::min(std::max(kChunk, is_cpu ? 0 : all / kMostChunks), all / 4);
  const int64_t rows = rounded_up(static_cast<int64_t>(chunk / row));
  return std::max({rows, kAligned, is_cpu ? rounded_up(kRowsPerThread * matrix.threads) : kAligned});
}

bool is_worth_it(const MatrixSize& matrix) { return 2 * rows_at_once(matrix) <= matrix.rows; }

}  // namespace tapelens::plugins::loss_rows
