// Findings as GitHub Markdown, for a comment that CI makes on a pull request.

#include <algorithm>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/fitting.h"
#include "analyzer/report/next_commands.h"
#include "analyzer/report/sentences.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::bounds_text;
using text::bytes_text;
using text::cell;
using text::code;
using text::code_block;
using text::html;
using text::plural;
using text::time_text;

namespace {

using advise::Advice;
using advise::Finding;

std::string after_all(const Advice& advice) {
  if (const auto& with = advice.predicted) {
    if (with->peak_after >= advice.peak_before) return ", no less with " + cell(with->name) + " applied";
    return ", " + bounds_text(with->peak_after, with->peak_at_most) + " with " + cell(with->name) + " applied (" +
           bounds_text(advice.peak_before, with->peak_after, with->peak_at_most) + ")";
  }
  return cell(outlook_text(advice));
}

std::string source_code(const Finding& f) { return code(source_text(f)); }

void add_details(std::string& out, const Finding& f) {
  out += "\n<details><summary>" + std::string(severity_name(f.severity)) + ": " + html(f.title) + "</summary>\n\n";
  out += cell(f.message) + "\n\n";
  out += "- " + bytes_text(f.bytes) + " " + times_text(f) + "; " + cell(effect_text(f)) + "\n";
  if (const std::string place = place_text(f); !place.empty()) out += "- " + code(place) + "\n";
  if (!f.is_proved) out += "- The recording cannot prove this: check before you change anything.\n";
  for (const std::string& note : f.notes) out += "- " + cell(note) + "\n";
  for (const advise::Evidence& e : f.evidence) out += "- " + cell(evidence_text(e)) + "\n";
  if (f.evidence_left_out > 0)
    out += "- and " + plural(f.evidence_left_out, "more that looks", "more that look") + " different\n";
  out += "\n**To fix it:** " + cell(f.fix.text) + "\n";
  if (!f.fix.edits.empty()) out += "\n" + code_block("diff", unified_diff(f.fix.edits));
  out += "\n" + code(f.check) + " " + code(f.id) + "\n\n</details>\n";
}

}  // namespace

std::string findings_table(const Report& r) {
  using Kind = advise::Entry::Kind;
  const Advice& advice = *r.advice;
  if (advice.entries.empty()) return "\nNo findings, of " + plural(advice.checks.size(), "check", "checks") + ".\n";
  std::string out;
  uint64_t small = 0;
  for (size_t i = 0; i < advice.entries.size(); ++i) {
    const advise::Entry& entry = advice.entries[i];
    if (entry.is_small) {
      ++small;
      continue;
    }
    if (out.empty()) out = "\n| | | what | peak after | change | where, or how |\n|--:|:--|:--|--:|--:|:--|\n";
    const Finding& first = advice.findings[entry.findings.front()];
    const std::string how = entry.kind == Kind::automatic ? code(run_command(r, entry)) : source_code(first);
    out += "| " + std::to_string(i + 1) + " | " +
           (entry.kind == Kind::trade ? "trade" : severity_name(first.severity)) + " | " +
           cell(entry_title(advice, entry)) + " | " + bytes_text(entry.peak_after) + " | " +
           change_text(advice, entry) + " | " + how + " |\n";
  }
  if (small > 0) {
    out += "\n" + plural(small, "entry lowers", "entries lower") + " the peak by less than 1 %, or not at all.\n";
  }
  return out;
}

namespace {

// The ways to make the recording fit, each with its commands.
std::string fits_markdown(const Report& r, const advise::Fits& fits) {
  std::string out = "\n**To fit into " + bytes_text(fits.card) + "**: ";
  if (!fits.failed) {
    out += "it fits as it is.\n";
  } else {
    out += "the allocator has no memory for a block of " + bytes_text(fits.failed->bytes) + " " +
           time_text(fits.failed->time) + " after the start. ";
    if (fits.ways.empty()) {
      out += "No set of findings, no rewrite and no setting that was tried is enough.\n";
    } else {
      out += fits.ends_out_of_memory ? "Each of these would have been enough:\n\n" : "Each of these is enough:\n\n";
    }
  }
  for (const advise::Way& way : fits.ways) {
    out += "- " + cell(way_text(r, way)) + ": " + bytes_text(way.reserved_peak) + " reserved at most" +
           (way.rewrites.empty() ? "" : ", as predicted");
    for (const std::string& command : way_commands(r, way)) out += "; " + code(command);
    out += "\n";
  }
  if (const std::string unknown = unknown_rest_text(fits); !unknown.empty()) out += "\n" + unknown + "\n";
  if (const auto commands = whole_run_commands(r, fits); !commands.empty()) {
    out += "\nTo find changes that make the whole run fit, record it on a simulated GPU with more memory:\n\n";
    for (const std::string& command : commands) out += "- " + code(command) + "\n";
  }
  if (const std::string command = run_fit_command(r, fits); !command.empty()) {
    out += "\nTo run the unchanged program in " + bytes_text(fits.card) +
           ", with the cheapest rewrites that are enough and the same bits: " + code(command) + "\n";
  }
  return out;
}

// The reserved bytes with a better setting of the allocator, if one exists, and the ways to fit, if the user chose a
// card.
std::string allocator_markdown(const Report& r) {
  const auto& allocator = r.advice->allocator;
  if (!allocator || !allocator->is_known()) return "";
  std::string out;
  if (const advise::SettingTried* better = allocator->better()) {
    out = "\nReserved on " + code(r.peak.device) + ": " + bytes_text(allocator->reserved_before) + "; with " +
          code("PYTORCH_CUDA_ALLOC_CONF=" + better->settings) + " " + bytes_text(better->reserved_peak) + "\n";
  }
  if (allocator->fits) out += fits_markdown(r, *allocator->fits);
  return out;
}

std::string remaining_markdown(const Advice& advice) {
  if (advice.predicted || advice.left.empty()) return "";
  std::string out = "\n**Not covered by any check, alive at the peak then:**\n\n";
  for (const advise::Remaining& left : advice.left) {
    const std::string remedy = remedy_text(left, advice.in_use);
    out +=
        "- " + bytes_text(left.bytes) + " " + cell(remaining_text(left)) + (remedy.empty() ? "" : "; " + remedy) + "\n";
  }
  return out;
}

}  // namespace

std::string advice_markdown(const Report& r, size_t rows) {
  const Advice& advice = *r.advice;
  std::string out = "### Memory: " + bytes_text(advice.peak_before) + " on " + code(r.peak.device) + after_all(advice) +
                    "\n\n" + code(r.recording.command);
  if (!r.recording.torch_version.empty()) out += ", PyTorch " + code(r.recording.torch_version);
  if (const std::string imported = imported_text(r.recording); !imported.empty())
    out += "\n\n> " + cell(imported) + "\n";
  if (const std::string simulated = simulated_text(r.recording); !simulated.empty()) {
    out += "\n\n> **Simulated:** " + cell(simulated) + "\n";
    for (const std::string& more : {estimates_text(r), value_reads_text(r)}) {
      if (!more.empty()) out += ">\n> " + cell(more) + "\n";
    }
  }
  out += "\n" + findings_table(r);
  const size_t shown = std::min(rows, advice.findings.size());
  for (size_t i = 0; i < shown; ++i) add_details(out, advice.findings[i]);
  if (shown < advice.findings.size()) {
    out += "\nand " + plural(advice.findings.size() - shown, "finding more", "findings more") + "\n";
  }
  out += remaining_markdown(advice);
  out += allocator_markdown(r);
  if (const std::string changed = changed_text(advice); !changed.empty()) out += "\n> " + cell(changed) + "\n";
  if (const std::string text = not_looked_text(advice); !text.empty())
    out += "\n> **Not looked:** " + cell(text) + "\n";
  for (const std::string& refused : advice.refused) out += "\n> **Not checked:** " + cell(refused) + "\n";
  for (const Lost& lost : r.recording.lost) {
    if (lost.is_data) out += "\n> **Not complete:** " + cell(lost.what) + "\n";
  }
  return out;
}

}  // namespace tapelens::report
