// The report as GitHub Markdown: short enough for a comment that CI makes on a pull request.
#include <algorithm>

#include "analyzer/model/words.h"
#include "analyzer/report/advice_text.h"
#include "analyzer/report/alike.h"
#include "analyzer/report/categories.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/formats.h"
#include "analyzer/report/report.h"
#include "analyzer/report/sections.h"
#include "analyzer/report/sentences.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::bytes_text;
using text::cell;
using text::code;
using text::count_text;
using text::percent_text;
using text::plural;
using text::time_text;

namespace {

void add_groups(std::string& out, const Report& r, size_t rows) {
  out += std::string("\n| ") + by_name(r.options.by) + " | bytes | of the peak | allocations |\n|:--|--:|--:|--:|\n";
  const size_t shown = std::min(rows, r.peak.groups.size());
  Left rest = r.peak.groups_left_out;
  uint64_t allocations = r.peak.live_allocations;
  for (size_t i = 0; i < r.peak.groups.size(); ++i) {
    const AllocationGroup& g = r.peak.groups[i];
    if (i >= shown) {
      ++rest.count;
      rest.bytes += g.bytes;
      continue;
    }
    allocations -= g.allocations;
    const std::string text = group_text(g.key);
    out += "| " + (text != g.key ? cell(text) : code(text)) + " | " + bytes_text(g.bytes) + " | " +
           percent_text(g.bytes, r.peak.bytes) + " | " + count_text(g.allocations) + " |\n";
  }
  if (rest.count > 0) {
    out += "| and " + count_text(rest.count) + " more | " + bytes_text(rest.bytes) + " | " +
           percent_text(rest.bytes, r.peak.bytes) + " | " + count_text(allocations) + " |\n";
  }
}

void add_allocations(std::string& out, const Report& r, size_t rows) {
  const AllocationLines all = biggest(r, rows);
  if (all.lines.empty()) return;
  out += "\n<details><summary>The biggest " + plural(all.allocations, "allocation", "allocations") + " of " +
         count_text(r.peak.live_allocations) + "</summary>\n\n| bytes | | held by | shape | operator | module" +
         (all.parent.empty() ? "" : " below " + code(all.parent)) + " | source |\n|--:|:--|:--|:--|:--|:--|:--|\n";
  for (const AllocationLine& one : all.lines) {
    const Allocation& a = *one.first;
    const bool is_field = a.category == peak::HolderKind::save && main_holder(a).evidence.empty();
    out += "| " + bytes_text(a.bytes) + " | " + (one.allocations > 1 ? "x" + count_text(one.allocations) : "") + " | " +
           (is_field ? code(one.subject) : cell(one.subject)) + " | " + cell(a.layout) + " | " + code(a.op) + " | " +
           code(one.module) + " | " + code(a.source) + " |\n";
  }
  out += "\n</details>\n";
}

void add_external(std::string& out, const Report& r, size_t rows) {
  if (const auto& external = r.peak.external_memory; external && !external->libraries.empty()) {
    out += "\n| outside of PyTorch's allocator, by | then | at most |\n|:--|--:|--:|\n";
    for (size_t i = 0; i < std::min(rows, external->libraries.size()); ++i) {
      const peak::ExternalLibrary& one = external->libraries[i];
      const std::string first = one.first ? ", " + place_text(*one.first) : "";
      out += "| " + cell(library_name(one.library) + first) + " | " + bytes_text(one.at_peak) + " | " +
             bytes_text(one.peak) + " |\n";
    }
  }
  for (const std::string& sentence : external_sentences(r)) out += "\n" + cell(sentence) + "\n";
}

}  // namespace

std::string markdown(const Report& r, size_t rows) {
  const Peak& p = r.peak;
  std::string out = "### Memory: " + bytes_text(p.bytes) + " on " + code(p.device);
  if (r.processes.size() > 1) {
    out += p.rank >= 0 ? " of rank " + std::to_string(p.rank) : " of process " + std::to_string(p.pid);
  }
  const std::string what = r.options.at.kind == At::Kind::time ? "Alive" : "The peak,";
  out += "\n\n" + what + " " + time_text(p.time) + " after the start, " +
         (p.is_behind_steps ? "after the last of " : "in step " + std::to_string(p.step) + " of ") +
         count_text(whole_steps(r).empty() ? 0 : uint64_t{whole_steps(r).back().index} + 1) +
         (p.is_behind_steps ? " steps" : "") +
         (p.phase == model::Phase::other ? "" : std::string(", ") + phase_name(p.phase)) + ", in " +
         plural(p.live_allocations, "allocation", "allocations") + ". " + code(r.recording.command);
  if (!r.recording.torch_version.empty()) out += ", PyTorch " + code(r.recording.torch_version);
  if (const std::string imported = imported_text(r.recording); !imported.empty())
    out += "\n\n> " + cell(imported) + "\n";
  if (const std::string simulated = simulated_text(r.recording); !simulated.empty()) {
    out += "\n\n> **Simulated:** " + cell(simulated) + "\n";
    for (const std::string& more : {estimates_text(r), value_reads_text(r)}) {
      if (!more.empty()) out += ">\n> " + cell(more) + "\n";
    }
  }
  out += "\n\n| held as | bytes | of the peak |\n|:--|--:|--:|\n";
  for (const peak::Category& c : p.by_category) {
    out += "| " + cell(label(c.kind)) + " | " + bytes_text(c.bytes) + " | " + percent_text(c.bytes, p.bytes) + " |\n";
  }
  for (const std::string& remark : {growth_text(r), host_memory_text(r), variables_text(r)}) {
    if (!remark.empty()) out += "\n" + cell(remark) + "\n";
  }
  add_external(out, r, rows);
  if (r.modules.empty()) add_groups(out, r, rows);
  out += modules_markdown(r.modules, rows);
  add_allocations(out, r, rows);
  out += rewritten_table(r.rewritten);
  if (r.advice) out += findings_table(r);
  if (r.processes.size() > 1) {
    out += "\n| process | rank | device | peak |\n|--:|--:|:--|--:|\n";
    for (const ProcessFacts& process : r.processes) {
      for (const DeviceFacts& device : process.devices) {
        out += "| " + std::to_string(process.pid) + " | " + (process.rank >= 0 ? std::to_string(process.rank) : "") +
               " | " + cell(device.device) + " | " + bytes_text(device.peak) + " |\n";
      }
    }
  }
  for (const Lost& lost : r.recording.lost) {
    out += std::string("\n> ") + (lost.is_data ? "**Not complete:** " : "") + cell(lost.what) + "\n";
  }
  return out;
}

constinit extern const Format kMarkdown{
    .name = "markdown",
    .report = [](const Report& r, const Rendering& how) { return markdown(r, how.style.rows); },
    .advice = [](const Report& r, const Rendering& how) { return advice_markdown(r, how.style.rows); },
    .joins_equal = true};

}  // namespace tapelens::report
