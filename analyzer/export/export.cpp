#include "analyzer/export/export.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "analyzer/export/sink.h"
#include "trace/output.h"

namespace tapelens::exporting {

// Each format is defined in the file that writes it.
extern const Format kPerfetto, kSnapshot, kSpeedscope, kSqlite;

namespace {

using trace::Error;
using trace::Output;
using trace::Status;

trace::OutputOptions output_of(const Format& format, const Target& target,
                               const std::function<void(const std::string&)>& making) {
  trace::OutputOptions options;
  options.path = target.path;
  options.kind.name = std::string(format.name) + " export";
  options.kind.is_ours = format.is_ours;
  options.kind.looks_at = kHeadBytes;
  options.inputs = {target.recording};
  options.is_forced = target.is_forced;
  options.takes_streams = format.stream != nullptr;
  if (!target.recording.empty()) options.mode = trace::mode_of_made({target.recording});
  options.unfinished = making;
  return options;
}

Status write(ExportedProcesses& processes, const Format& format, Output& output) {
  try {
    if (format.stream != nullptr) {
      ByteSink sink(output.descriptor());
      format.stream(processes, sink);
      sink.flush();
    } else {
      format.file(processes, output.unfinished_path());
    }
  } catch (const WriteFailed& failed) {
    if (!failed.message.empty()) return output.failed(failed.message);
    // A reader that closes early is not an error.
    if (failed.error != EPIPE || output.is_file()) return output.failed(failed.error);
  }
  return output.finish();
}

constexpr const Format* kFormats[] = {&kPerfetto, &kSnapshot, &kSpeedscope, &kSqlite};

}  // namespace

std::span<const Format* const> formats() { return kFormats; }

const Format* format_of(std::string_view name) {
  const auto at =
      std::ranges::find(kFormats, name, [](const Format* format) { return std::string_view(format->name); });
  return at == std::end(kFormats) ? nullptr : *at;
}

Status export_recording(const run::Run& run, const ExportSelection& wanted, const Format& format, const Target& target,
                        const std::function<void(const std::string&)>& making) {
  try {
    const trace::OutputOptions options = output_of(format, target, making);
    if (auto may = Output::check(options); !may) return may;
    ExportedProcesses processes(run, wanted);
    auto output = Output::open(options);
    if (!output) return output.error();
    return write(processes, format, *output);
  } catch (const CannotExport& why) {
    const std::string name = target.recording.empty() ? "the recording" : target.recording;
    return Error{name + ": " + why.error.message, why.error.kind};
  }
}

void ByteSink::flush() {
  write_out(buffer_);
  buffer_.clear();
}

void ByteSink::write_out(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw WriteFailed{written < 0 ? errno : EIO, {}};
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace tapelens::exporting
