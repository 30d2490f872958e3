// What the rows of tables are made of: one process of a recording with what is worked out of it, each part once, when
// it is first asked for. Any thread may ask.
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

// A row of what is worked out for each device.
template <class Row>
struct OfDevice {
  DeviceId device;
  Row row;
};
struct PeakRow {
  uint32_t member = 0;  // of the peak set
  uint32_t holder = 0;  // of the set's holders
};
struct FindingRow {
  advise::Finding finding;
  uint32_t entry = 0;  // what `tapelens advise` counts from 1
};

// The checks whose findings are a table: made anew for each use.
using MakeChecks = std::function<advise::Checks()>;

// What all parts of a recording have.
struct Shared {
  std::string file;  // as it was opened
  Text text;
  MakeChecks checks;
};

class Part {
 public:
  // The shared tables have a part of their own, with a process that has no rows.
  Part(std::shared_ptr<const Shared> shared, Process process, uint32_t index)
      : shared_(std::move(shared)), process_(std::move(process)), index_(index), analysis_(process_, shared_->text) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const Text& text() const { return shared_->text; }
  const Process& process() const { return process_; }
  uint32_t index() const { return index_; }  // in the recording, from 0
  const peak::Analysis& analysis() const { return analysis_; }
  const ParameterModules& parameter_modules() const;
  // The last role of each allocation, by its id; none: it has none.
  const std::vector<RoleId>& roles() const;

  const peak::PeakSet& peak_set(DeviceId device) const;
  const std::vector<OfDevice<report::Step>>& steps() const;
  const std::vector<OfDevice<report::Range>>& ranges() const;
  const std::vector<OfDevice<uint32_t>>& events() const;       // of the device's timeline
  const std::vector<OfDevice<PeakRow>>& peak() const;          // an allocation each, with its main holder
  const std::vector<OfDevice<PeakRow>>& peak_holders() const;  // a holder each
  const std::vector<report::OutOfMemory>& out_of_memory() const;
  const std::vector<report::Lost>& losses() const;
  // What the checks find on each device; takes seconds for a large recording.
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
