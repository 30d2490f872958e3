#include "analyzer/report/fitting.h"

#include <algorithm>
#include <set>

#include "analyzer/model/device_traits.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/next_commands.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::plural;
using text::shell_quote;

namespace {

bool are_patches(const Report& r, const advise::Way& way) {
  return std::ranges::all_of(way.findings, [&](size_t place) {
    const check::Fix& fix = r.advice->findings[place].fix;
    return fix.kind == check::FixKind::patch && !fix.edits.empty();
  });
}

// The number of GPUs up to the highest index that a process of the recording used.
unsigned gpus(const Report& r) {
  unsigned most = 1;
  for (const ProcessFacts& process : r.processes) {
    for (const DeviceFacts& device : process.devices) {
      if (!model::device_type(device.device).is_cuda) continue;
      most = std::max(most, model::device_number(device.device).value_or(0) + 1);
    }
  }
  return most;
}

Bytes state_at_peak(const Report& r) {
  Bytes state;
  for (const peak::Category& category : r.peak.by_category) {
    if (peak::is_state(category.kind)) state += category.bytes;
  }
  return state;
}

}  // namespace

std::string same_memory(const Report& r) {
  std::string options;
  if (r.options.process) options += " --process " + std::to_string(*r.options.process);
  if (r.options.device) options += " --device " + shell_quote(*r.options.device);
  return options;
}

std::vector<std::string> fits_texts(const advise::Fits& fits) {
  if (!fits.failed) return {"It fits as it is."};
  const std::string request = text::time_text(fits.failed->time) +
                              " after the start the allocator has no memory for a block of " +
                              text::bytes_text(fits.failed->bytes) + ": " + text::bytes_text(fits.failed->reserved) +
                              " are reserved, and no cached block is large enough.";
  if (fits.ways.empty()) return {request, "No set of findings, no rewrite and no setting that was tried is enough."};
  return {request, fits.ends_out_of_memory ? "Each of these would have been enough:" : "Each of these is enough:"};
}

std::string allocator_environment(const std::string& settings) {
  return "PYTORCH_CUDA_ALLOC_CONF=" + shell_quote(settings);
}

std::string way_text(const Report& r, const advise::Way& way) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : " and ") + words; };
  if (!way.findings.empty()) {
    std::set<size_t> numbers;
    for (const size_t place : way.findings) numbers.insert(entry_number(*r.advice, place));
    std::string fixed = numbers.size() == 1 ? "finding " : "findings ";
    for (const size_t number : numbers) {
      fixed += number == *numbers.begin() ? "" : number == *numbers.rbegin() ? " and " : ", ";
      fixed += std::to_string(number);
    }
    fixed += " fixed";
    if (way.findings.size() == 1) fixed += " (" + r.advice->findings[way.findings[0]].title + ")";
    add(fixed);
  }
  if (!way.rewrites.empty()) add(way.rewrites);
  if (!way.settings.empty()) add(allocator_environment(way.settings));
  return text;
}

std::vector<std::string> way_commands(const Report& r, const advise::Way& way) {
  std::vector<std::string> commands;
  if (!way.findings.empty()) {
    if (!are_patches(r, way)) return commands;
    std::set<std::string> checks;
    for (const size_t place : way.findings) checks.insert(r.advice->findings[place].check);
    std::string patch = "tapelens advise " + r.recording.file + same_memory(r);
    for (const std::string& check : checks) patch += " --check " + check;
    commands.push_back(patch + " --patch fix.patch");
  }
  if (r.recording.command.empty() || (way.settings.empty() && way.rewrites.empty())) return commands;
  std::string run = way.settings.empty() ? "" : allocator_environment(way.settings) + " ";
  if (!way.rewrites.empty()) run += "tapelens run " + way.rewrites + " -- ";
  commands.push_back(run + r.recording.command);
  return commands;
}

std::vector<std::string> whole_run_commands(const Report& r, const advise::Fits& fits) {
  if (!fits.ends_out_of_memory || !fits.failed || r.recording.command.empty()) return {};
  const unsigned count = gpus(r);
  const std::string gpu = "H100:1TiB" + (count > 1 ? "x" + std::to_string(count) : std::string());
  return {"tapelens record --gpu " + gpu + " -o whole.tapelens -- " + r.recording.command,
          "tapelens advise whole.tapelens" + (r.options.device ? " --device " + shell_quote(*r.options.device) : "") +
              " --fits " + std::to_string(fits.card.value >> 20) + "MiB"};
}

std::string run_fit_command(const Report& r, const advise::Fits& fits) {
  if (!fits.failed || r.recording.command.empty() || state_at_peak(r) > fits.card) return {};
  const bool is_whole = fits.card.value % (1 << 20) == 0;
  const std::string size = is_whole ? std::to_string(fits.card.value >> 20) + "MiB" : std::to_string(fits.card.value);
  return "tapelens run --fit " + size + " -- " + r.recording.command;
}

std::string unknown_rest_text(const advise::Fits& fits) {
  if (!fits.ends_out_of_memory) return "";
  const std::string before = fits.steps_before == 0
                                 ? "no step was complete before it, so the program may request much more"
                                 : plural(fits.steps_before, "step was", "steps were") + " complete before it";
  return "The recorded run ran out of memory, so these predictions end at that request. Later requests of the "
         "program are not known (" +
         before + ").";
}

}  // namespace tapelens::report
