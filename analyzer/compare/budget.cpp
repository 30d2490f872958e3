#include "analyzer/compare/budget.h"

#include <algorithm>
#include <charconv>

#include "analyzer/model/words.h"
#include "analyzer/text/format.h"

namespace tapelens::compare {

namespace {

constexpr Metric kMetrics[] = {Metric::peak, Metric::saved, Metric::reserved, Metric::allocations};

trace::Error wrong(std::string_view text, const std::string& why) {
  return {"'" + std::string(text) + "' is not a budget: " + why, trace::ErrorKind::usage};
}

}  // namespace

const char* metric_name(Metric metric) {
  switch (metric) {
    case Metric::saved:
      return "saved";
    case Metric::reserved:
      return "reserved";
    case Metric::allocations:
      return "allocations";
    case Metric::peak:
      break;
  }
  return "peak";
}

std::optional<int64_t> value_of(const DeviceFigures& device, Metric metric) {
  switch (metric) {
    case Metric::saved:
      return device.has_backward ? std::optional(device.saved.value) : std::nullopt;
    case Metric::reserved:
      return device.reserved ? std::optional(device.reserved->value) : std::nullopt;
    case Metric::allocations:
      return device.steps.empty() ? std::nullopt : std::optional(static_cast<int64_t>(device.step_allocations));
    case Metric::peak:
      break;
  }
  return device.peak.value;
}

std::string value_text(Metric metric, int64_t value) {
  return is_bytes(metric) ? text::bytes_text(Bytes{value}) : text::count_text(static_cast<uint64_t>(value));
}

trace::Result<MemoryBudget> parse_budget(std::string_view text) {
  MemoryBudget out;
  out.text = text;
  const size_t at_most = text.find("<=");
  if (at_most == std::string_view::npos) return wrong(text, "it has no <=, as in peak<=6GiB");
  const auto trim = [](std::string_view word) {
    const size_t first = word.find_first_not_of(' ');
    return first == std::string_view::npos ? std::string_view()
                                           : word.substr(first, word.find_last_not_of(' ') - first + 1);
  };
  std::string_view what = trim(text.substr(0, at_most));
  const std::string_view most = trim(text.substr(at_most + 2));
  if (const size_t device = what.rfind('@'); device != std::string_view::npos) {
    out.device = what.substr(device + 1);
    what = what.substr(0, device);
    if (out.device.empty()) return wrong(text, "it has no device behind its @, as in peak@cuda:0<=6GiB");
  }
  if (what.ends_with(']')) {
    const size_t open = what.find('[');
    if (open == std::string_view::npos) return wrong(text, "its ] has no [");
    out.module = what.substr(open + 1, what.size() - open - 2);
    what = what.substr(0, open);
    if (out.module.empty()) return wrong(text, "it has no module in its [], as in peak[GPT.blocks.*]<=2GiB");
  }
  const auto metric = std::ranges::find(kMetrics, what, metric_name);
  if (metric == std::end(kMetrics)) {
    return wrong(text, "'" + std::string(what) + "' is not a metric: use peak, saved, reserved or allocations");
  }
  out.metric = *metric;
  if (!out.module.empty() && out.metric != Metric::peak) {
    return wrong(text, "the share of a module is known of the peak alone");
  }
  if (is_bytes(out.metric)) {
    const auto bytes = model::parse_bytes(most);
    if (!bytes) return wrong(text, "'" + std::string(most) + "' is not a size, like 6GiB");
    out.most = static_cast<int64_t>(*bytes);
  } else {
    const auto [rest, error] = std::from_chars(most.data(), most.data() + most.size(), out.most);
    if (error != std::errc() || rest != most.data() + most.size() || out.most < 0) {
      return wrong(text, "'" + std::string(most) + "' is not a number of allocations, like 5000");
    }
  }
  return out;
}

bool is_within(std::string_view module, std::string_view pattern) {
  while (!pattern.empty()) {
    if (module.empty()) return false;
    const size_t in_module = std::min(module.find('.'), module.size());
    const size_t in_pattern = std::min(pattern.find('.'), pattern.size());
    const std::string_view wanted = pattern.substr(0, in_pattern);
    if (wanted != "*" && wanted != module.substr(0, in_module)) return false;
    module.remove_prefix(std::min(in_module + 1, module.size()));
    pattern.remove_prefix(std::min(in_pattern + 1, pattern.size()));
  }
  return true;
}

std::optional<Bytes> held_by(const DeviceFigures& device, std::string_view pattern) {
  std::optional<Bytes> sum;
  for (const auto& [module, bytes] : device.modules) {
    if (is_within(module, pattern)) sum = sum.value_or(Bytes{}) + bytes;
  }
  return sum;
}

}  // namespace tapelens::compare
