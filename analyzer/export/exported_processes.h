// The exported part of a recording: its processes, loaded one at a time, and their devices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/run/peak_device.h"
#include "analyzer/run/run.h"
#include "trace/result.h"

namespace tapelens::exporting {

using namespace model;

struct ExportSelection {
  std::optional<uint32_t> process;                       // its pid
  std::optional<std::string> device;                     // "cuda:0"
  std::string_view version = "unknown";                  // version of Tapelens
  advise::Checks* checks = nullptr;                      // null: no findings
  std::vector<check::SourceTree> sources;                // repositories with the program's files, for the findings
  std::function<void(const advise::Advice&)> advised{};  // called with the advice for each device
  advise::Progress progress{};
};

// The names of the recording as text, each computed once.
class Names {
 public:
  explicit Names(const Text& text);

  std::string_view operator[](StringId id) const;
  // "train.py:42 forward"; empty for none.
  std::string source(FrameId frame) const;
  // The frame that reports show for a stack.
  FrameId source_frame(StackId stack) const;

 private:
  const Text& text_;
  // By StringId: only names that are not written unchanged.
  mutable std::vector<std::unique_ptr<const std::string>> changed_;
  mutable std::vector<uint8_t> is_known_;
  mutable std::vector<uint32_t> frame_of_;  // by stack; UINT32_MAX: not computed yet
};

// The program's own frames of a stack, outermost first, without those of PyTorch and the language, as in
// `tapelens report --by stack`.
std::vector<FrameId> program_frames(const Text& text, StackId stack);
inline constexpr std::string_view kNoOperator = "(no operator)";

// A process with its derived data; does not move.
struct ExportedProcess {
  explicit ExportedProcess(std::shared_ptr<const run::ProcessRun> exported)
      : of(std::move(exported)), index(of->index()), process(of->process()), analysis(of->analysis()) {}

  std::shared_ptr<const run::ProcessRun> of;
  trace::ProcessIndex index;
  const Process& process;
  const peak::Analysis& analysis;
  std::vector<DeviceId> devices;  // requested devices in the order of their ids; never empty
  double part = 1, before = 0;    // shares of the whole export: this process, and those before it
};

// Thrown if the requested export is impossible; export_recording() catches it.
struct CannotExport {
  trace::Error error;
};

class ExportedProcesses {
 public:
  ExportedProcesses(const run::Run& run, const ExportSelection& wanted);

  const trace::Recording& recording() const { return run_.recording(); }
  const ExportSelection& wanted() const { return wanted_; }
  const Text& text() const { return run_.text(); }
  const Names& names() const { return names_; }
  std::string command() const;  // as typed, printable

  // Calls `visit` for each requested process that allocated on a requested device, one after another.
  void each(const std::function<void(const ExportedProcess&)>& visit);
  // The one of these with the device that has the peak.
  std::unique_ptr<const ExportedProcess> largest();

  // Reports that `fraction` of the work on a process is done.
  void progress(const ExportedProcess& exported, double fraction) const;

 private:
  std::unique_ptr<ExportedProcess> load(uint32_t index);
  run::DeviceSelection selection() const { return {wanted_.process, wanted_.device}; }
  [[noreturn]] void refuse() const;

  const run::Run& run_;
  const ExportSelection& wanted_;
  const Names names_;
};

// Reports progress by rows of a process.
class Counted {
 public:
  Counted(const ExportedProcesses& processes, const ExportedProcess& exported, uint64_t rows)
      : processes_(processes), exported_(exported), rows_(rows) {}
  void one() {
    if ((++done_ & 0xffff) == 0)
      processes_.progress(exported_, static_cast<double>(done_) / static_cast<double>(rows_));
  }

 private:
  const ExportedProcesses& processes_;
  const ExportedProcess& exported_;
  const uint64_t rows_;
  uint64_t done_ = 0;
};

}  // namespace tapelens::exporting
