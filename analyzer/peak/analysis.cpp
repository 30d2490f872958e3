#include "analyzer/peak/analysis.h"

#include <algorithm>
#include <charconv>

namespace tapelens::peak {

const std::vector<Step>& Analysis::steps() const {
  return steps_.get([&] { return find_steps(process_); });
}

const Phases& Analysis::phases() const {
  return phases_.get([&] { return Phases(process_, steps()); });
}

const Provenance& Analysis::provenance() const {
  return provenance_.get([&] { return Provenance(process_, text_); });
}

const Lifetimes& Analysis::lifetimes() const {
  return lifetimes_.get([&] { return Lifetimes(process_, provenance()); });
}

const Lifetimes& Analysis::longest_lifetimes() const {
  return longest_lifetimes_.get([&] { return Lifetimes(process_, provenance(), text_); });
}

const InUse& Analysis::in_use() const {
  return in_use_.get([&] { return peak::in_use(process_, text_, provenance()); });
}

const DeviceMemory& Analysis::memory(DeviceId device) const {
  return memories_[device.value].get([&] { return device_memory(process_, device); });
}

const DeviceRequests& Analysis::requests(DeviceId device) const {
  return requests_[device.value].get([&] {
    const uint64_t until = bytes_noted("imported_in_order_until");
    return device_requests(process_, text_, device,
                           {.settings = information("cuda_allocator_settings"),
                            .torch_version = information("torch_version"),
                            .allowed = bytes_noted(device, &model::DeviceType::memory_allowed),
                            .until = until <= INT64_MAX ? Time{static_cast<int64_t>(until)} : kNever});
  });
}

uint64_t Analysis::bytes_noted(std::string_view key) const {
  const std::string_view noted = information(key);
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(noted.data(), noted.data() + noted.size(), bytes);
  return error == std::errc() && !noted.empty() ? bytes : allocator::kNoLimit;
}

uint64_t Analysis::bytes_noted(DeviceId device, std::string_view model::DeviceType::*key) const {
  const std::string_view prefix = traits(device).type->*key;
  const std::optional<uint32_t> number = model::device_number(text_.string(text_.device_name[device]));
  return prefix.empty() || !number ? allocator::kNoLimit : bytes_noted(std::string(prefix) + std::to_string(*number));
}

uint64_t Analysis::count_noted(std::string_view key) const {
  const uint64_t count = bytes_noted(key);
  return count == allocator::kNoLimit ? 0 : count;
}

const std::vector<DevicePeak>& Analysis::devices() const {
  return devices_.get([&] { return device_peaks(process_); });
}

const model::DeviceTraits& Analysis::traits(DeviceId device) const {
  return traits_.get([&] { return model::device_traits(process_, text_); })[device.value];
}

std::string_view Analysis::information(std::string_view key) const {
  for (const Information& entry : process_.information) {
    if (text_.string(entry.key) == key) return text_.string(entry.value);
  }
  return "";
}

std::vector<std::string_view> Analysis::all_information(std::string_view key) const {
  std::vector<std::string_view> values;
  for (const Information& entry : process_.information) {
    if (text_.string(entry.key) == key) values.push_back(text_.string(entry.value));
  }
  return values;
}

std::optional<Bytes> Analysis::memory_of(DeviceId device) const {
  const uint64_t bytes = count_noted(traits(device).type->memory_of_each);
  if (bytes == 0 || bytes > INT64_MAX) return std::nullopt;
  return Bytes{static_cast<int64_t>(bytes)};
}

Time Analysis::since() const {
  const std::string_view window = information("steps");
  uint32_t first = 0;
  std::from_chars(window.data(), window.data() + window.size(), first);
  const Time behind_older = std::max(process_.older.until, process_.started);
  return first < steps().size() ? std::max(steps()[first].when.begin, behind_older) : behind_older;
}

const Timeline& DeviceAnalysis::timeline() const {
  return timeline_.get([&] { return Timeline(of_.process(), device_); });
}

const Timeline::Extreme& DeviceAnalysis::largest() const {
  return largest_.get([&] {
    const Time since = of_.since();
    const auto all = std::ranges::find(of_.devices(), device_, &DevicePeak::device);
    if (since.ns == 0 && all != of_.devices().end()) return Timeline::Extreme{all->peak, all->when};
    return timeline().largest({since, kNever});
  });
}

const PeakSet& DeviceAnalysis::peak() const {
  return peak_.get([&] { return peak_set(of_.process(), of_.text(), device_, largest().when); });
}

std::vector<StepMemory> step_memory(const Analysis& analysis, const Timeline& timeline) {
  const model::Process& process = analysis.process();
  const std::vector<model::Interval>& backwards = analysis.phases().backwards();
  std::vector<StepMemory> out;
  auto backward = backwards.begin();
  for (const model::Step& step : analysis.steps()) {
    const auto totals = timeline.allocated(step.when);
    StepMemory s;
    s.index = step.index;
    s.complete = step.when.end != model::kNever;
    s.begin = step.when.begin;
    s.end = step.when.end == model::kNever ? std::max(process.duration, step.when.begin) : step.when.end;
    // The largest sum of an empty interval is the live bytes just before its begin.
    s.begin_live = timeline.largest({step.when.begin, step.when.begin}).bytes;
    s.peak = timeline.largest(step.when).bytes;
    s.allocations = totals.allocations;
    s.allocated = totals.bytes;
    // Neither steps nor merged backwards overlap, so both are walked once; one backward may reach into two steps.
    while (backward != backwards.end() && backward->end <= step.when.begin) ++backward;
    for (auto at = backward; at != backwards.end() && at->begin < step.when.end; ++at) {
      const model::Interval part{std::max(at->begin, step.when.begin), std::min(at->end, step.when.end)};
      s.backward_allocations += timeline.allocated(part).allocations;
    }
    out.push_back(s);
  }
  return out;
}

}  // namespace tapelens::peak
