#include "analyzer/compare/gate.h"

#include <algorithm>
#include <cmath>

#include "analyzer/model/device_traits.h"
#include "analyzer/model/words.h"
#include "analyzer/text/format.h"

namespace tapelens::compare {

namespace {

std::string device_name(const RunFigures& run, const ProcessFigures& process, const DeviceFigures& device) {
  const bool has_ranks = run.processes.size() > 1 && process.rank >= 0;
  return device.device + (has_ranks ? " of rank " + std::to_string(process.rank) : "");
}

// Names the row to show first: the row that grew most, else the largest row of a module.
void blame(Item& item, const Comparison* comparison, const ComparedDevice* compared, const DeviceFigures& device,
           const std::string& module) {
  if (compared != nullptr) {
    for (const ComparedRow& row : compared->grown()) {
      if (module.empty() || is_within(row.shown().module, module)) item.grown.push_back(row);
    }
  }
  if (!item.grown.empty()) {
    item.cause = cause_of(*comparison, item.grown);
    item.module = item.grown.front().shown().module;
    item.field = holder_text(item.grown.front().shown());
    return;
  }
  const auto most = std::ranges::find_if(device.rows, [&](const Row& row) {
    return row.source.line != 0 && (module.empty() || is_within(row.module, module));
  });
  if (most == device.rows.end()) return;
  item.cause = {most->source, most->statement, "allocates the most bytes that are alive at the peak"};
  item.module = most->module;
  item.field = holder_text(*most);
}

int64_t with_tolerance(int64_t before, double tolerance) {
  const double most = std::floor(static_cast<double>(before) * (1 + tolerance));
  return most >= 9e18 ? INT64_MAX : static_cast<int64_t>(most);
}

const ComparedDevice* compared_of(const Comparison* comparison, const std::string& name) {
  if (comparison == nullptr) return nullptr;
  const auto found = std::ranges::find(comparison->devices, name, &ComparedDevice::name);
  return found == comparison->devices.end() ? nullptr : &*found;
}

// A requested limit that was not measured fails, because it would pass for ever.
Item not_measured(Item::Kind kind, const std::string& name, Metric metric, int64_t most, const std::string& why) {
  Item item;
  item.kind = kind;
  item.name = name;
  item.metric = metric;
  item.most = most;
  item.passed = false;
  item.message = why;
  return item;
}

// Why a device has no value of this metric.
std::string unknown_text(Metric metric) {
  switch (metric) {
    case Metric::saved:
      return "no backward was recorded";
    case Metric::reserved:
      return "reserved bytes are recorded only of GPUs with PyTorch's own allocator";
    case Metric::allocations:
      return "no whole training step was recorded";
    case Metric::peak:
      break;
  }
  return "nothing was allocated there";
}

void add_missing(const Comparison& comparison, double tolerance, std::vector<Item>& out) {
  for (const Missing& one : comparison.missing) {
    out.push_back(
        not_measured(Item::Kind::figure, "peak of " + one.name, Metric::peak, with_tolerance(one.peak.value, tolerance),
                     "the baseline has " + text::bytes_text(one.peak) + ", and this run has no such " +
                         (one.device.empty() ? "process" : "device") + "; if this is intended, write a new baseline"));
  }
}

void add_figures(const Comparison& comparison, double tolerance, std::vector<Item>& out) {
  std::vector<const ComparedDevice*> devices;
  for (const ComparedDevice& device : comparison.devices) devices.push_back(&device);
  std::ranges::stable_sort(devices, std::ranges::greater(),
                           [](const ComparedDevice* d) { return d->peak_b.value - d->peak_a.value; });
  for (const ComparedDevice* const compared : devices) {
    const ComparedDevice& device = *compared;
    for (const Metric metric : {Metric::peak, Metric::saved, Metric::reserved}) {
      auto before = value_of(device.a, metric), after = value_of(device.b, metric);
      if (metric == Metric::peak) {
        before = device.peak_a.value;
        after = device.peak_b.value;
      }
      if (!before || (!after && *before == 0)) continue;
      if (!after) {
        const std::string value = value_text(metric, *before);
        out.push_back(not_measured(Item::Kind::figure, std::string(metric_name(metric)) + " of " + device.name, metric,
                                   with_tolerance(*before, tolerance),
                                   "the baseline has " + value + ", and " + unknown_text(metric)));
        continue;
      }
      Item item;
      item.kind = Item::Kind::figure;
      item.name = std::string(metric_name(metric)) + " of " + device.name;
      item.device = device.name;
      item.metric = metric;
      item.before = *before;
      item.after = *after;
      item.most = with_tolerance(*before, tolerance);
      item.passed = item.after <= item.most;
      if (!item.passed) blame(item, &comparison, &device, device.b, "");
      out.push_back(std::move(item));
    }
  }
}

bool has_device(const RunFigures& run, const std::string& name) {
  return std::ranges::any_of(run.processes, [&](const ProcessFigures& process) {
    return std::ranges::find(process.devices, name, &DeviceFigures::device) != process.devices.end();
  });
}

void add_budget(const RunFigures& run, const Comparison* comparison, const MemoryBudget& budget, GateResult& out) {
  bool applies = false;
  for (const ProcessFigures& process : run.processes) {
    for (const DeviceFigures& device : process.devices) {
      if (!budget.device.empty() && budget.device != device.device) continue;
      const std::string name = device_name(run, process, device);
      Item item;
      item.kind = Item::Kind::budget;
      item.name = budget.text + " of " + name;
      item.device = name;
      item.metric = budget.metric;
      item.most = budget.most;
      auto value = value_of(device, budget.metric);
      if (!budget.module.empty()) {
        const auto held = held_by(device, budget.module);
        value = held ? std::optional(held->value) : std::nullopt;
      }
      if (!value) {
        // A reserved limit fails if the value is unknown; it does not apply without a caching allocator, as on the CPU.
        if (budget.metric == Metric::reserved && model::device_type(device.device).has_caching_allocator) {
          item.passed = false;
          item.message = unknown_text(budget.metric);
          out.items.push_back(std::move(item));
          applies = true;
        }
        continue;
      }
      applies = true;
      item.after = *value;
      item.passed = item.after <= item.most;
      const ComparedDevice* compared = compared_of(comparison, name);
      if (compared != nullptr && budget.module.empty()) item.before = value_of(compared->a, budget.metric);
      if (!item.passed) blame(item, comparison, compared, device, budget.module);
      out.items.push_back(std::move(item));
    }
  }
  if (applies) return;
  std::string why = budget.metric == Metric::peak || (!budget.device.empty() && !has_device(run, budget.device))
                        ? "nothing was allocated on " + budget.device
                        : unknown_text(budget.metric);
  if (!budget.module.empty()) {
    why = "nothing at the peak was allocated in a module " + budget.module + ": tapelens report --by module lists them";
  }
  out.items.push_back(not_measured(Item::Kind::budget, budget.text, budget.metric, budget.most, why));
}

void add_findings(const Comparison& comparison, const Limits& limits, std::vector<Item>& out) {
  if (!limits.fail_on) return;
  run::Precedence most;  // the device with the findings
  for (const ComparedDevice& device : comparison.devices) most = std::max(most, device.b.precedence());
  for (const KnownFinding& finding : comparison.new_findings) {
    Item item;
    item.kind = Item::Kind::finding;
    item.name = "new finding " + finding.check;
    item.after = finding.bytes.value;
    item.message = std::string(severity_name(finding.severity)) + ": " + finding.title;
    item.cause = {finding.source, finding.statement, "new finding " + finding.id};
    item.module = finding.module;
    item.field = finding.node.empty() ? finding.op : model::field_name(finding.node, finding.field);
    // A finding within the tolerance of the peak does not fail the check. A leak (severity error) always does.
    const bool is_large =
        finding.severity == check::Severity::error ||
        static_cast<double>(finding.gain.value) > limits.tolerance * static_cast<double>(most.peak.value);
    item.passed = finding.severity < *limits.fail_on || !is_large;
    out.push_back(std::move(item));
  }
}

}  // namespace

bool GateResult::passed() const { return failed() == 0; }
size_t GateResult::failed() const { return static_cast<size_t>(std::ranges::count(items, false, &Item::passed)); }

GateResult judge(const RunFigures& run, const Comparison* comparison, const Limits& limits) {
  GateResult out;
  out.has_baseline = comparison != nullptr;
  out.is_complete = run.incomplete.empty();
  if (comparison != nullptr) {
    out.remarks = comparison->remarks;
    out.is_complete = out.is_complete && comparison->a.incomplete.empty();
    add_figures(*comparison, limits.tolerance, out.items);
    add_missing(*comparison, limits.tolerance, out.items);
  } else {
    for (const std::string& why : run.incomplete) out.remarks.push_back("the recording is not complete: " + why);
  }
  for (const MemoryBudget& budget : limits.budgets) add_budget(run, comparison, budget, out);
  if (comparison != nullptr) add_findings(*comparison, limits, out.items);
  std::ranges::stable_sort(out.items, {}, [](const Item& item) { return item.passed; });
  return out;
}

}  // namespace tapelens::compare
