// Summaries of the ranks of a synthetic run with three outliers, which `tapelens ranks` must find among a thousand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/ranks/summary.h"

namespace tapelens::testing {

// One rank holds 3 GiB more, in one field of one module from one line. One ran out of memory. One has the whole
// optimizer state, which the other ranks shard.
inline constexpr int32_t kKeepsMore = 37, kOutOfMemory = 512, kNotSharded = 901;

class SyntheticRanks {
 public:
  explicit SyntheticRanks(uint32_t world, std::string version = "1.0") : world_(world), version_(std::move(version)) {}

  ranks::Summary of(int32_t rank) const {
    ranks::Summary out;
    out.tapelens = version_;
    out.command = "python train.py --config 70b.toml";
    out.torch_version = "2.15.0";
    ranks::RankSummary process;
    process.rank = rank;
    process.world_size = world_;
    process.pid = 4000U + static_cast<uint32_t>(rank);
    process.host = "node" + std::to_string(rank / 8);
    process.finished = true;
    process.exit_code = uint8_t{0};
    process.begin_ns = kBegin + noise(rank, 1) % kSecond;
    process.end_ns = process.begin_ns + 600 * kSecond;
    process.steps = 40;
    ranks::DeviceSummary device;
    device.device = "cuda:" + std::to_string(rank % 8);
    const auto add = [&](const char* category, const std::string& field, const std::string& module,
                         const std::string& line, int64_t bytes) {
      if (bytes == 0) return;
      for (const auto& [by, key] : {std::pair{ranks::By::category, std::string(category)},
                                    {ranks::By::field, field},
                                    {ranks::By::module, module},
                                    {ranks::By::line, line}}) {
        add_to(device.by[static_cast<size_t>(by)].rows, key, bytes);
      }
      device.peak += model::Bytes{bytes};
    };
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::string module = "GPT.blocks." + std::to_string(layer);
      const auto few = static_cast<int64_t>(noise(rank, layer) % (64 << 10));  // a data loader may be ahead
      add("parameter", "parameter", module + ".mlp", "model.py:18 Block.__init__", 160 * kMiB);
      add("gradient", "gradient", module + ".mlp", "model.py:44 Block.forward", 160 * kMiB);
      add("optimizer_state", "optimizer_state", module + ".mlp", "train.py:70 main",
          (rank == kNotSharded ? 8 : 1) * 20 * kMiB);
      add("saved", "AddmmBackward0.mat1", module + ".mlp", "model.py:44 Block.forward", 300 * kMiB + few);
      add("saved", "GeluBackward0.self", module, "model.py:45 Block.forward", 150 * kMiB);
    }
    add("operator", "operator", "GPT.head", "train.py:88 loss", 500 * kMiB);
    add("saved", "LogSoftmaxBackward0.result", "GPT.head", "train.py:88 loss",
        (rank == kKeepsMore ? 3572 : 500) * kMiB);
    for (ranks::Sums& sums : device.by) {  // as in summaries
      std::ranges::stable_sort(sums.rows, std::ranges::greater(), &ranks::Sum::bytes);
    }
    device.peak_step = 7;
    device.peak_phase = "backward";
    device.reserved_peak = device.peak + model::Bytes{kMiB * 700};
    device.curve.exponent = 2;
    for (size_t point = 0; point < 160; ++point) {
      const int64_t part = 40 + static_cast<int64_t>(point % 4) * 20;
      device.curve.most.push_back(device.peak.value / 100 * part);
    }
    process.findings.emplace();
    for (int number = 0; number < kFindings; ++number) {
      const std::string digits = std::to_string(1000000 + number);
      process.findings->push_back({"00000000" + digits + "0", "unneeded-save", "warning",
                                   "a saved tensor is never read", "GPT.blocks." + std::to_string(number) + ".mlp",
                                   "AddmmBackward0.mat1", "model.py:44 Block.forward", model::Bytes{300 * kMiB},
                                   model::Bytes{300 * kMiB}});
    }
    if (rank == kKeepsMore) {
      process.findings->push_back({"00000000ffffffff", "kept-alive", "error", "tensors are kept from step to step", "",
                                   "", "train.py:90 loss", model::Bytes{3 << 10}, model::Bytes{0}});
    }
    if (rank == kOutOfMemory) {
      process.exit_code = uint8_t{1};
      process.end_ns -= 60 * kSecond;
      process.steps = 36;
      process.out_of_memory = 1;
      process.last_out_of_memory = {device.device, model::Bytes{2048 * kMiB}, 36, "aten::_log_softmax",
                                    "GPT.head",    "train.py:88 loss"};
    }
    process.devices.push_back(std::move(device));
    out.processes.push_back(std::move(process));
    return out;
  }

 private:
  static constexpr int64_t kMiB = 1 << 20;
  static constexpr uint64_t kSecond = 1'000'000'000, kBegin = 1'700'000'000 * kSecond;
  static constexpr int kLayers = 40, kFindings = 20;

  static uint64_t noise(int32_t rank, int number) {
    uint64_t x =
        static_cast<uint64_t>(rank) * 0x9e3779b97f4a7c15ULL + static_cast<uint64_t>(number) * 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 29);
  }
  static void add_to(std::vector<ranks::Sum>& rows, const std::string& key, int64_t bytes) {
    for (ranks::Sum& row : rows) {
      if (row.key != key) continue;
      row.bytes += model::Bytes{bytes};
      ++row.allocations;
      return;
    }
    rows.push_back({key, model::Bytes{bytes}, 1});
  }

  uint32_t world_;
  std::string version_;
};

}  // namespace tapelens::testing
