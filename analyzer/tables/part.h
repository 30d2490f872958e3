// The source of table rows: one process of a recording with its derived data. Each derived part is computed once, on
// first use. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/model/attribution.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"

namespace tapelens::tables {

using namespace model;

// A derived row, with its device.
template <class Row>
struct OfDevice {
  DeviceId device;
  Row row;
};
struct PeakRow {
  uint32_t member = 0;  // index in the peak set
  uint32_t holder = 0;  // index in the holders of the peak set
};
struct FindingRow {
  advise::Finding finding;
  uint32_t entry = 0;  // number of the entry in `tapelens advise`, from 1
};

// Makes new checks for each use; their findings become a table.
using MakeChecks = std::function<advise::Checks()>;

class Part {
 public:
  // The shared tables have a separate part with an empty process. `file`: the path of the recording.
  Part(std::shared_ptr<const run::ProcessRun> of, std::string file, MakeChecks checks)
      : of_(std::move(of)), file_(std::move(file)), checks_(std::move(checks)) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const Text& text() const { return of_->text(); }
  const Process& process() const { return of_->process(); }
  uint32_t index() const { return of_->index().value; }  // in the recording, from 0
  const peak::Analysis& analysis() const { return of_->analysis(); }
  const ParameterModules& parameter_modules() const;
  // The last role of each allocation, by its id; none if it has no role.
  const std::vector<RoleId>& roles() const;

  const peak::PeakSet& peak_set(DeviceId device) const { return at(device).peak(); }
  const std::vector<OfDevice<report::Step>>& steps() const;
  const std::vector<OfDevice<report::Range>>& ranges() const;
  const std::vector<OfDevice<uint32_t>>& events() const;       // events of the device's timeline
  const std::vector<OfDevice<PeakRow>>& peak() const;          // one row an allocation, with its main holder
  const std::vector<OfDevice<PeakRow>>& peak_holders() const;  // one row a holder
  const std::vector<report::OutOfMemory>& out_of_memory() const;
  const std::vector<run::Lost>& losses() const;
  // The findings of the checks on each device. Takes seconds for a large recording.
  const std::vector<OfDevice<FindingRow>>& findings() const;
  const peak::Timeline& timeline(DeviceId device) const { return at(device).timeline(); }

 private:
  const peak::DeviceAnalysis& at(DeviceId device) const { return of_->device(device).analysis(); }

  std::shared_ptr<const run::ProcessRun> of_;
  std::string file_;
  MakeChecks checks_;
  peak::Lazy<ParameterModules> parameter_modules_;
  peak::Lazy<std::vector<RoleId>> roles_;
  peak::Lazy<std::vector<OfDevice<report::Step>>> steps_;
  peak::Lazy<std::vector<OfDevice<report::Range>>> ranges_;
  peak::Lazy<std::vector<OfDevice<uint32_t>>> events_;
  peak::Lazy<std::vector<OfDevice<PeakRow>>> peak_, peak_holders_;
  peak::Lazy<std::vector<report::OutOfMemory>> out_of_memory_;
  peak::Lazy<std::vector<run::Lost>> losses_;
  peak::Lazy<std::vector<OfDevice<FindingRow>>> findings_;
};

}  // namespace tapelens::tables
