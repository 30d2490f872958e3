#include <algorithm>
#include <charconv>
#include <functional>

#include "analyzer/report/detail.h"
#include "analyzer/report/sentences.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::bytes_text;
using text::count_text;
using text::plural;

namespace {

// A communicator of GPUs in one machine took 0.5 to 2 GB, depending on links, channels and algorithms. A communicator
// of a single rank took 388 MiB (the second of a process) and 564 MiB (the first) on an H100.
constexpr int64_t kLeastOfCommunicator = int64_t{1} << 29, kMostOfCommunicator = int64_t{1} << 31;
constexpr int64_t kLeastOfSingle = int64_t{388} << 20, kMostOfSingle = int64_t{564} << 20;

// 0 if the text is not a number.
int64_t number_of(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Whether what PyTorch's allocator had in use leaves too little of a GPU.
bool is_too_much(const ProcessFacts& process) {
  const ExternalEstimate& estimate = *process.external_estimate;
  return std::ranges::any_of(process.devices, [&](const DeviceFacts& device) {
    return device.blocks && device.blocks->active_peak + estimate.context + estimate.least_nccl > estimate.gpu;
  });
}

// "1 communicator of 8 ranks, 2 of 2 ranks".
std::string communicators_text(const std::vector<uint64_t>& all) {
  std::string out;
  for (auto from = all.begin(); from != all.end();) {
    const auto to = std::ranges::find_if(from, all.end(), [&](uint64_t ranks) { return ranks != *from; });
    const auto count = static_cast<uint64_t>(to - from);
    out += out.empty() ? plural(count, "communicator", "communicators") : ", " + count_text(count);
    out += *from != 0 ? " of " + plural(*from, "rank", "ranks") : " of unknown size";
    from = to;
  }
  return out;
}

}  // namespace

std::optional<ExternalEstimate> estimate_external(const peak::Analysis& analysis) {
  ExternalEstimate out;
  out.context = {number_of(analysis.information("simulated_gpu_processors")) * peak::kContextOfProcessor.value};
  out.gpu = {number_of(analysis.information("simulated_gpu_bytes"))};
  const auto uses_one = [&](const peak::DevicePeak& device) { return analysis.traits(device.device).type->is_cuda; };
  if (out.context.value == 0 || std::ranges::none_of(analysis.devices(), uses_one)) return std::nullopt;
  for (const std::string_view made : analysis.all_information("nccl_communicator")) {  // "cuda:0 8"
    out.communicators.push_back(static_cast<uint64_t>(number_of(made.substr(made.find(' ') + 1))));
  }
  std::ranges::sort(out.communicators, std::greater<>());
  const int64_t singles = std::ranges::count(out.communicators, uint64_t{1});
  const auto others = static_cast<int64_t>(out.communicators.size()) - singles;
  out.least_nccl = {others * kLeastOfCommunicator + singles * kLeastOfSingle};
  out.most_nccl = {others * kMostOfCommunicator + singles * kMostOfSingle};
  return out;
}

bool is_too_large(const Report& report) {
  return std::ranges::any_of(report.processes,
                             [](const ProcessFacts& p) { return p.external_estimate && is_too_much(p); });
}

std::string estimates_text(const Report& report) {
  const ProcessFacts* most = nullptr;
  for (const ProcessFacts& process : report.processes) {
    if (!process.external_estimate) continue;
    if (most != nullptr &&
        process.external_estimate->communicators.size() <= most->external_estimate->communicators.size())
      continue;
    most = &process;
  }
  if (most == nullptr) return {};
  const ExternalEstimate& estimate = *most->external_estimate;
  std::string out = "Outside of PyTorch, estimated and not in these figures: CUDA's context, about " +
                    bytes_text(estimate.context) + " and the kernels that are loaded";
  if (!estimate.communicators.empty()) {
    out += "; NCCL, " + bytes_text(estimate.least_nccl) + " to " + bytes_text(estimate.most_nccl) + " for " +
           communicators_text(estimate.communicators);
  }
  out += ".";
  if (is_too_large(report)) out += " With these the GPU's " + bytes_text(estimate.gpu) + " would not be enough.";
  return out;
}

}  // namespace tapelens::report
