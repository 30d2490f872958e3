#include "analyzer/tables/part.h"

#include <algorithm>
#include <iterator>

#include "analyzer/check/sources.h"
#include "analyzer/report/detail.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/run/losses.h"

namespace tapelens::tables {

namespace {

// The rows that `describe` returns for each device, one device after another.
template <class Row, class Describe>
std::vector<OfDevice<Row>> of_devices(const std::vector<peak::DevicePeak>& devices, Describe describe) {
  std::vector<OfDevice<Row>> rows;
  for (const peak::DevicePeak& device : devices) {
    for (Row& row : describe(device.device)) rows.push_back({device.device, std::move(row)});
  }
  return rows;
}

}  // namespace

const ParameterModules& Part::parameter_modules() const {
  return parameter_modules_.get([&] { return ParameterModules(process(), text()); });
}

const std::vector<RoleId>& Part::roles() const {
  return roles_.get([&] {
    std::vector<RoleId> last(process().allocations.rows() + 1);
    for (const RoleId role : process().roles.ids()) last[process().roles.allocation[role].value] = role;
    return last;
  });
}

const std::vector<OfDevice<report::Step>>& Part::steps() const {
  return steps_.get([&] {
    return of_devices<report::Step>(analysis().devices(),
                                    [&](DeviceId device) { return peak::step_memory(analysis(), timeline(device)); });
  });
}

const std::vector<OfDevice<report::Range>>& Part::ranges() const {
  return ranges_.get([&] {
    return of_devices<report::Range>(
        analysis().devices(), [&](DeviceId device) { return report::describe_ranges(analysis(), timeline(device)); });
  });
}

const std::vector<OfDevice<uint32_t>>& Part::events() const {
  return events_.get([&] {
    return of_devices<uint32_t>(analysis().devices(), [&](DeviceId device) {
      std::vector<uint32_t> all(timeline(device).events());
      for (uint32_t event = 0; event < all.size(); ++event) all[event] = event;
      return all;
    });
  });
}

const std::vector<OfDevice<PeakRow>>& Part::peak() const {
  return peak_.get([&] {
    return of_devices<PeakRow>(analysis().devices(), [&](DeviceId device) {
      const peak::PeakSet& set = peak_set(device);
      std::vector<PeakRow> rows;
      for (uint32_t member = 0; member < set.members.size(); ++member) {
        const peak::Holder& main = peak::main_holder(set.holders_of(set.members[member]));
        rows.push_back({member, static_cast<uint32_t>(&main - set.holders.data())});
      }
      return rows;
    });
  });
}

const std::vector<OfDevice<PeakRow>>& Part::peak_holders() const {
  return peak_holders_.get([&] {
    return of_devices<PeakRow>(analysis().devices(), [&](DeviceId device) {
      const peak::PeakSet& set = peak_set(device);
      std::vector<PeakRow> rows;
      for (uint32_t member = 0; member < set.members.size(); ++member) {
        const peak::Member& of = set.members[member];
        for (uint32_t holder = of.first_holder; holder < of.first_holder + of.holders; ++holder)
          rows.push_back({member, holder});
      }
      return rows;
    });
  });
}

const std::vector<report::OutOfMemory>& Part::out_of_memory() const {
  return out_of_memory_.get([&] { return peak::out_of_memory(process(), text()); });
}

const std::vector<run::Lost>& Part::losses() const {
  return losses_.get([&] {
    // Only the first process reports losses in the shared tables.
    std::vector<run::Lost> all = index() == 0 ? run::losses_of(text()) : std::vector<run::Lost>();
    std::ranges::move(run::losses_of(process()), std::back_inserter(all));
    return all;
  });
}

const std::vector<OfDevice<FindingRow>>& Part::findings() const {
  return findings_.get([&] {
    return of_devices<FindingRow>(analysis().devices(), [&](DeviceId device) {
      advise::Checks checks = checks_();
      advise::AdviceOptions wanted;
      wanted.sources = check::source_trees(file_);
      advise::Advice advice = advise::advise(at(device), checks, wanted);
      std::vector<FindingRow> rows;
      for (size_t place = 0; place < advice.findings.size(); ++place) {
        const auto entry = static_cast<uint32_t>(report::entry_number(advice, place));
        rows.push_back({std::move(advice.findings[place]), entry});
      }
      return rows;
    });
  });
}

}  // namespace tapelens::tables
