#include "analyzer/live/figures.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/model/device_traits.h"
#include "analyzer/model/words.h"
#include "analyzer/peak/frame_names.h"
#include "analyzer/text/format.h"
#include "analyzer/text/names.h"

namespace tapelens::live {
namespace {

using namespace text;

// Empty: not a save, or its field is not known.
std::string field_of(const Names& names, const GroupKey& group) {
  const bool is_save =
      group.kind == HolderKind::save || group.kind == HolderKind::packed || group.kind == HolderKind::context;
  return is_save ? model::field_name(names.string(group.node_type), names.string(group.field)) : std::string();
}

// The operator; empty for the state of the training, whose category says enough.
std::string name_of(const Names& names, const GroupKey& group) {
  if (peak::is_state(group.kind) && group.kind != HolderKind::gradient) return {};
  const std::string_view op = names.string(group.maker.op);
  return std::string(op.empty() ? "(no operator)" : op);
}

std::string module_text(const Names& names, const std::set<uint32_t>& modules) {
  std::vector<std::string_view> paths;
  for (const uint32_t module : modules) paths.push_back(names.module_path(module));
  if (paths.size() == 1) return std::string(paths.front());
  const std::string common = common_path(paths);
  return common.empty() ? std::to_string(paths.size()) + " modules" : common + ".*";
}

}  // namespace

std::string state_text(const Followed& process) {
  switch (process.state()) {
    case State::recording:
      return "recording";
    case State::replaced:
      return "replaced by another program";
    case State::killed:
      return "killed or crashed";
    case State::ended:
      break;
  }
  if (const auto code = process.tail().exit_code()) return "ended, exit code " + std::to_string(*code);
  return "recording ended";
}

std::vector<uint8_t> used_devices(const Followed& process) {
  std::vector<uint8_t> used;
  for (size_t i = 0; i < process.memory().devices().size(); ++i)
    if (process.memory().devices()[i].is_used) used.push_back(static_cast<uint8_t>(i));
  return used;
}

std::string device_name(const Followed& process, uint8_t device) {
  const std::string_view name = process.names().device(device);
  return name.empty() ? "device " + std::to_string(device) : std::string(name);
}

size_t main_device(const Followed& process) {
  const std::vector<uint8_t> used = used_devices(process);
  const auto precedence = [&](size_t i) {
    const bool is_gpu = !model::device_type(process.names().device(used[i])).is_host;
    return std::pair(is_gpu, static_cast<int64_t>(process.memory().devices()[used[i]].peak));
  };
  size_t best = 0;
  for (size_t i = 1; i < used.size(); ++i)
    if (precedence(i) > precedence(best)) best = i;
  return best;
}

size_t count_devices(const Followed& process) { return used_devices(process).size(); }

size_t main_process(std::span<const std::unique_ptr<Followed>> processes) {
  const auto peak_of = [](const Followed& process) {
    const std::vector<uint8_t> used = used_devices(process);
    return used.empty() ? int64_t{-1}
                        : static_cast<int64_t>(process.memory().devices()[used[main_device(process)]].peak);
  };
  size_t best = 0;
  for (size_t i = 1; i < processes.size(); ++i)
    if (peak_of(*processes[i]) > peak_of(*processes[best])) best = i;
  return best;
}

std::optional<int64_t> growth_of(const DeviceMemory& device) {
  constexpr size_t kSteps = 8;
  if (device.steps.size() < 3) return {};
  const size_t over = std::min(kSteps, device.steps.size() - 1);
  const auto before = static_cast<int64_t>(device.steps[device.steps.size() - 1 - over].end);
  return (static_cast<int64_t>(device.steps.back().end) - before) / static_cast<int64_t>(over);
}

std::string growth_text(int64_t growth) {
  if (growth == 0) return "no growth";
  return std::string(growth > 0 ? "+" : "-") + bytes_text(Bytes{std::abs(growth)}) + " a step";
}

std::vector<CategoryRow> categories(const Followed& process, uint8_t number) {
  const DeviceMemory& device = process.memory().devices()[number];
  std::vector<CategoryRow> rows;
  for (size_t kind = 0; kind < kHolderKinds; ++kind) {
    const uint64_t live = device.kinds[kind].live();
    const uint64_t at_peak = device.is_peak_older ? 0 : device.kinds[kind].at_peak(device.peaks);
    if (live != 0 || at_peak != 0) rows.push_back({static_cast<HolderKind>(kind), live, at_peak});
  }
  const bool is_ended = process.state() != State::recording;
  const auto size = [&](const CategoryRow& row) { return static_cast<int64_t>(is_ended ? row.at_peak : row.live); };
  std::ranges::stable_sort(rows, [&](const CategoryRow& a, const CategoryRow& b) { return size(a) > size(b); });
  return rows;
}

std::vector<HolderRow> holders(const Followed& process, uint8_t number, size_t most) {
  const bool is_ended = process.state() != State::recording;
  const Names& names = process.names();
  const DeviceMemory& device = process.memory().devices()[number];
  struct Sum {
    uint64_t live = 0, at_peak = 0;
    std::set<uint32_t> modules;
    const GroupKey* group = nullptr;
  };
  using Key = std::tuple<HolderKind, uint32_t, uint32_t, uint32_t, uint32_t>;
  std::map<Key, Sum> sums;
  for (const Group& group : process.memory().groups()) {
    if (group.key.device != number) continue;
    const uint64_t live = group.bytes.live(), at_peak = group.bytes.at_peak(device.peaks);
    if (live == 0 && at_peak == 0) continue;
    const GroupKey& of = group.key;
    const bool is_named_by_op = of.node_type == 0 && (!peak::is_state(of.kind) || of.kind == HolderKind::gradient);
    Sum& sum =
        sums[{of.kind, of.node_type, of.field, is_named_by_op ? of.maker.op : 0, names.source_frame(of.maker.stack)}];
    sum.live += live;
    sum.at_peak += at_peak;
    sum.modules.insert(of.maker.module);
    sum.group = &of;
  }
  std::vector<std::pair<Key, const Sum*>> order;
  for (const auto& [key, sum] : sums)
    if ((is_ended ? sum.at_peak : sum.live) != 0) order.emplace_back(key, &sum);
  std::ranges::stable_sort(order, [&](const auto& a, const auto& b) {
    const auto size = [&](const Sum& sum) { return static_cast<int64_t>(is_ended ? sum.at_peak : sum.live); };
    return size(*a.second) > size(*b.second);
  });
  if (order.size() > most) order.resize(most);
  peak::FrameNames lines;
  const auto line_of = [&](const Key& key) {
    const SourceLine line = names.line(std::get<4>(key));
    return peak::SourceLine{line.file, line.function, line.line};
  };
  for (const auto& [key, sum] : order) lines.add(line_of(key));
  std::vector<HolderRow> rows;
  for (const auto& [key, sum] : order) {
    std::string field = field_of(names, *sum->group);
    const bool is_field = !field.empty();
    rows.push_back({std::get<0>(key), is_field, is_field ? std::move(field) : name_of(names, *sum->group),
                    std::get<4>(key) != 0 ? lines.name(line_of(key)) : std::string(), module_text(names, sum->modules),
                    sum->live, sum->at_peak});
  }
  return rows;
}

}  // namespace tapelens::live
