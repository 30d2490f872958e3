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
#include "analyzer/model/parameter_modules.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/report/report.h"

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

// Data that all parts of a recording share.
struct Shared {
  std::string file;  // path as it was opened
  Text text;
  MakeChecks checks;
};

class Part {
 public:
  // The shared tables have a separate part with an empty process.
  Part(std::shared_ptr<const Shared> shared, Process process, uint32_t index)
      : shared_(std::move(shared)), process_(std::move(process)), index_(index), analysis_(process_, shared_->text) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const Text& text() const { return shared_->text; }
  const Process& process() const { return process_; }
  uint32_t index() const { return index_; }  // in the recording, from 0
  const peak::Analysis& analysis() const { return analysis_; }
  const ParameterModules& parameter_modules() const;
  // The last role of each allocation, by its id; none if it has no role.
  const std::vector<RoleId>& roles() const;

  const peak::PeakSet& peak_set(DeviceId device) const;
  const std::vector<OfDevice<report::Step>>& steps() const;
  const std::vector<OfDevice<report::Range>>& ranges() const;
  const std::vector<OfDevice<uint32_t>>& events() const;       // events of the device's timeline
  const std::vector<OfDevice<PeakRow>>& peak() const;          // one row an allocation, with its main holder
  const std::vector<OfDevice<PeakRow>>& peak_holders() const;  // one row a holder
  const std::vector<report::OutOfMemory>& out_of_memory() const;
  const std::vector<report::Lost>& losses() const;
  // The findings of the checks on each device. Takes seconds for a large recording.
  const std::vector<OfDevice<FindingRow>>& findings() const;
  const peak::Timeline& timeline(DeviceId device) const { return at(device).timeline(); }

 private:
  using Devices = std::vector<std::unique_ptr<const peak::DeviceAnalysis>>;
  const Devices& devices() const;
  const peak::DeviceAnalysis& at(DeviceId device) const;

  std::shared_ptr<const Shared> shared_;
  Process process_;
  uint32_t index_;
  peak::Analysis analysis_;
  peak::Lazy<Devices> devices_;
  peak::Lazy<ParameterModules> parameter_modules_;
  peak::Lazy<std::vector<RoleId>> roles_;
  peak::Lazy<std::vector<OfDevice<report::Step>>> steps_;
  peak::Lazy<std::vector<OfDevice<report::Range>>> ranges_;
  peak::Lazy<std::vector<OfDevice<uint32_t>>> events_;
  peak::Lazy<std::vector<OfDevice<PeakRow>>> peak_, peak_holders_;
  peak::Lazy<std::vector<report::OutOfMemory>> out_of_memory_;
  peak::Lazy<std::vector<report::Lost>> losses_;
  peak::Lazy<std::vector<OfDevice<FindingRow>>> findings_;
};

}  // namespace tapelens::tables
