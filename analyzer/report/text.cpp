// The report for a terminal: the peak, its time, its holders, the biggest allocations, and the next commands.
#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/alike.h"
#include "analyzer/report/categories.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/formats.h"
#include "analyzer/report/report.h"
#include "analyzer/report/sections.h"
#include "analyzer/report/sentences.h"
#include "analyzer/text/format.h"
#include "analyzer/text/layout.h"
#include "analyzer/text/names.h"

namespace tapelens::report {

using text::bar;
using text::bytes_text;
using text::columns;
using text::count_text;
using text::fit;
using text::fit_path;
using text::fit_words;
using text::pad_left;
using text::pad_right;
using text::Page;
using text::Paint;
using text::percent_text;
using text::plural;
using text::sparkline;
using text::Style;
using text::time_text;

namespace {

std::string holder_group_text(const Reserved::Group& group) {
  std::string text = bytes_text(group.bytes) + " " + group.holder;
  if (group.allocations > 1) text += " (" + plural(group.allocations, "allocation", "allocations") + ")";
  if (!group.module.empty()) text += " in " + group.module;
  if (!group.source.empty()) text += ", " + group.source;
  return text;
}

// The allocations that hold partly used segments, if those have enough unused memory.
void add_holes(Page& page, const Reserved& reserved) {
  constexpr int64_t kWorth = 50;  // divisor of the reserved bytes: the least unused bytes to report
  const int64_t least = reserved.reserved ? reserved.reserved->value / kWorth : INT64_MAX;
  if (reserved.holes.empty() || reserved.holes.front().unused.value < least) return;
  page.heading("Unused memory", "in segments that these allocations hold");
  for (const Reserved::Hole& hole : reserved.holes) {
    if (hole.unused.value < least) break;
    const std::string unused = bytes_text(hole.unused) + " in " + plural(hole.segments, "segment", "segments");
    if (hole.groups.size() == 1) {
      page.paragraph("  ", unused + ", held by " + holder_group_text(hole.groups.front()));
      continue;
    }
    page.line("  " + unused + ", held by " +
              plural(hole.groups.size() + hole.groups_left_out.count, "group", "groups") + " of allocations:");
    for (const Reserved::Group& group : hole.groups) page.paragraph("    ", holder_group_text(group));
    if (hole.groups_left_out.count > 0)
      page.line("    " + bytes_text(hole.groups_left_out.bytes) + " and " + std::to_string(hole.groups_left_out.count) +
                " more");
  }
}

void add_out_of_memory(Page& page, const Report& r) {
  if (!r.failure) return;
  page.heading(failure_title(*r.failure));
  page.paragraph("! ", failure_text(*r.failure), Paint::red);
  for (const auto& [command, purpose] : failure_commands(r)) page.line("  " + command + "   " + purpose);
}

void add_title(Page& page, const Report& r) {
  page.line(page.paint(Paint::bold, title_text(r)));
  page.paragraph("", when_text(r));
  if (r.peak.reserved) {
    page.paragraph("", r.options.is_verbose ? reserved_text(*r.peak.reserved) : reserved_short(*r.peak.reserved));
  }
  page.paragraph("", run_text(r), Paint::dim);
  for (const std::string& said : condition_texts(r)) page.paragraph("", said, Paint::yellow);
  if (const std::string hidden = hidden_text(r.processes); !hidden.empty()) page.paragraph("! ", hidden, Paint::yellow);
}

// "train.py:42" of "train.py:42 Net.forward".
std::string line_of(const std::string& source) { return source.substr(0, source.find(' ')); }
std::string line_of(const AllocationGroup& group) { return line_of(group.source); }

// "1.5 MiB of it ReluBackward0.result, train.py:16": the largest group of a category, in `width` columns.
std::string largest_of(const Report& r, peak::HolderKind kind, unsigned width) {
  const auto held = std::ranges::find(r.peak.held_by, kind, &advise::Remaining::kind);
  if (held == r.peak.held_by.end()) return "";
  std::string source;
  if (!held->source.file.empty()) {
    source = (held->largest.empty() ? "made at " : ", ") + line_of(source_text(held->source));
  }
  if (held->largest.empty() && source.empty()) return "";
  const std::string largest = bytes_text(held->largest_bytes);
  const std::string part = largest == bytes_text(held->bytes) ? "" : largest + " of it ";
  const unsigned taken = columns(part) + columns(source);
  if (taken + columns(held->largest) <= width) return part + held->largest + source;
  return part + fit_path(held->largest, width > columns(part) ? width - columns(part) : 1);
}

// "hf.py:23 calls modeling_bert.py:335": the user's line and the library's line of the largest group of a
// category with a tenth of the peak. Empty: the user's line is the only one.
std::string lines_of(const Report& r, const peak::Category& category) {
  constexpr int64_t kWorth = 10;
  const auto held = std::ranges::find(r.peak.held_by, category.kind, &advise::Remaining::kind);
  if (held == r.peak.held_by.end() || held->library.file.empty()) return "";
  if (category.bytes.value * kWorth < r.peak.bytes.value) return "";
  return line_of(source_text(held->source)) + " calls " + line_of(source_text(held->library));
}

void add_categories(Page& page, const Report& r) {
  unsigned width = 20;
  for (const peak::Category& c : r.peak.by_category) width = std::max(width, columns(label(c.kind)));
  const unsigned taken = width + 32;
  const bool has_largest = page.width() >= 90;
  const unsigned bar_cells = has_largest ? 12 : std::min(40U, page.width() > taken ? page.width() - taken : 0);
  page.heading("What was alive", has_largest ? "with the largest group of each" : "");
  for (const peak::Category& c : r.peak.by_category) {
    if (percent_text(c.bytes, r.peak.bytes) == "0.0 %") continue;  // JSON has it
    const double part =
        static_cast<double>(c.bytes.value) / static_cast<double>(std::max<int64_t>(1, r.peak.bytes.value));
    const unsigned room = page.width() - std::min(page.width(), width + 26 + bar_cells);
    const std::string largest = has_largest ? largest_of(r, c.kind, room) : "";
    page.line("  " + pad_right(label(c.kind), width) + pad_left(bytes_text(c.bytes), 11) +
              pad_left(percent_text(c.bytes, r.peak.bytes), 9) + "  " +
              page.paint(paint_of(c.kind),
                         largest.empty() ? bar(part, bar_cells) : pad_right(bar(part, bar_cells), bar_cells)) +
              (largest.empty() ? "" : "  " + page.paint(Paint::dim, fit_words(largest, room))));
    const std::string lines = has_largest ? lines_of(r, c) : "";
    if (!lines.empty()) page.line(std::string(width + 26 + bar_cells, ' ') + page.paint(Paint::dim, fit(lines, room)));
  }
}

// As many columns as the widest of the first rows needs, and no more than `most`.
template <class Of>
unsigned column(const std::vector<AllocationGroup>& groups, size_t shown, unsigned most, Of of) {
  unsigned width = 0;
  for (size_t i = 0; i < shown; ++i) width = std::max(width, columns(of(groups[i])));
  return std::min(width, most);
}

// The user's line that several of the first rows share, with different lines of libraries: it calls a framework that
// runs the whole training. Empty: no such line.
std::string common_call(const std::vector<AllocationGroup>& groups, size_t shown) {
  std::map<std::string, std::set<std::string>> libraries;  // by the user's line
  for (size_t i = 0; i < shown; ++i) {
    if (!groups[i].library.empty()) libraries[line_of(groups[i])].insert(groups[i].library);
  }
  const auto most = std::ranges::max_element(libraries, {}, [](const auto& one) { return one.second.size(); });
  return most == libraries.end() || most->second.size() < 2 ? "" : most->first;
}

// A narrow terminal has no room for shapes, and a narrower one has no room for source lines.
void add_groups(Page& page, const Report& r) {
  const auto& groups = r.peak.groups;
  const size_t shown = std::min(groups.size(), page.rows());
  constexpr unsigned kNumbers = 2 + 11 + 2 + 7;
  const bool has_layout = page.width() >= 90, has_source = page.width() >= 70 && r.options.by != peak::By::source;
  const std::string call = has_source ? common_call(groups, shown) : "";
  const auto place = [&](const AllocationGroup& g) {
    return line_of(g) == call && !g.library.empty() ? line_of(g.library) : line_of(g);
  };
  page.heading(std::string("Largest by ") + by_name(r.options.by),
               plural(groups.size() + r.peak.groups_left_out.count, "group", "groups") +
                   (has_layout ? "; shape and line are those of the biggest allocation" : "") +
                   (call.empty() ? "" : ", below " + call));
  const unsigned layout_width =
      has_layout ? column(groups, shown, 32, [](const AllocationGroup& g) { return g.layout; }) : 0;
  const unsigned source_width = has_source ? column(groups, shown, 30, place) : 0;
  const unsigned taken =
      kNumbers + (layout_width > 0 ? layout_width + 2 : 0) + (source_width > 0 ? source_width + 2 : 0);
  const unsigned key_width = column(groups, shown, page.width() > taken + 12 ? page.width() - taken : 12,
                                    [](const AllocationGroup& g) { return group_text(g.key); });
  const auto row = [&](const AllocationGroup& g, Paint paint) {
    std::string line =
        "  " + pad_left(bytes_text(g.bytes), 11) + "  " + pad_right(fit_path(group_text(g.key), key_width), key_width);
    if (layout_width > 0) line += "  " + pad_right(fit_words(g.layout, layout_width), layout_width);
    line += pad_left("x" + count_text(g.allocations), 7);
    if (source_width > 0 && !g.source.empty()) line += "  " + fit_path(place(g), source_width);
    page.line(page.paint(paint, line));
  };
  for (size_t i = 0; i < shown; ++i) row(groups[i], Paint::plain);
  Left rest = r.peak.groups_left_out;
  uint64_t allocations = r.peak.live_allocations;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i < shown) {
      allocations -= groups[i].allocations;
    } else {
      ++rest.count;
      rest.bytes += groups[i].bytes;
    }
  }
  if (rest.count > 0) row({"and " + count_text(rest.count) + " more", rest.bytes, allocations, "", ""}, Paint::dim);
}

void add_variables(Page& page, const Report& r) {
  if (const std::string unknown = variables_text(r); !unknown.empty()) {
    page.line("");
    page.paragraph("", unknown);
  }
  if (!r.peak.variables || r.peak.variables->empty()) return;
  const std::vector<Variable>& variables = *r.peak.variables;
  page.heading("Variables that have the other live tensors", plural(variables.size(), "variable", "variables"));
  const size_t shown = std::min(variables.size(), page.rows());
  Left rest;
  for (size_t i = shown; i < variables.size(); ++i) {
    rest.count += 1;
    rest.bytes += variables[i].bytes;
  }
  constexpr unsigned kNumbers = 2 + 11 + 2 + 9;
  for (size_t i = 0; i < shown; ++i) {
    const Variable& v = variables[i];
    page.line("  " + pad_left(bytes_text(v.bytes), 11) + pad_left("x" + count_text(v.allocations), 7) + "  " +
              fit_words(v.name.empty() ? "(no variable found)" : v.name, page.width() - kNumbers));
  }
  if (rest.count > 0) {
    page.line(page.paint(Paint::dim, "  " + pad_left(bytes_text(rest.bytes), 11) + std::string(9, ' ') + "and " +
                                         count_text(rest.count) + " more"));
  }
}

void add_growth(Page& page, const Report& r) {
  if (const std::string grows = growth_text(r); !grows.empty()) page.paragraph("", grows, Paint::red);
}

void add_host_memory(Page& page, const Report& r) {
  if (const std::string differs = host_memory_text(r); !differs.empty()) page.paragraph("", differs, Paint::yellow);
}

void add_external(Page& page, const Report& r) {
  const std::vector<std::string> sentences = external_sentences(r);
  if (sentences.empty()) return;
  page.heading("Outside of PyTorch's allocator");
  if (const auto& external = r.peak.external_memory; external && !external->libraries.empty()) {
    page.line("  " + bytes_text(external->at_peak) + " then, " + bytes_text(external->peak) + " at most, " +
              time_text(external->peak_time) + " after the start. By library: then, and the most of each");
    const size_t shown = std::min(external->libraries.size(), page.rows());
    for (size_t i = 0; i < shown; ++i) {
      const peak::ExternalLibrary& one = external->libraries[i];
      page.line("  " + pad_right(fit(library_name(one.library), 34), 34) + pad_left(bytes_text(one.at_peak), 12) +
                pad_left(bytes_text(one.peak), 12) + pad_left("x" + count_text(one.allocations), 9));
      if (one.first) page.line(page.paint(Paint::dim, "    " + fit(place_text(*one.first), page.width() - 4)));
    }
    if (shown < external->libraries.size()) {
      page.line(page.paint(Paint::dim, "  and " + count_text(external->libraries.size() - shown) + " more"));
    }
  }
  for (const std::string& sentence : sentences) page.paragraph("  ", sentence);
}

// "a backward of MulBackward0"
std::string imported_phase(const Allocation::Imported& of) {
  if (of.phase == "optimizer") return "an optimizer step";
  return "a " + of.phase + (of.node.empty() ? "" : " of " + of.node);
}

std::string operator_text(const Allocation& a) {
  std::string text = a.op.empty() ? "(no operator)" : a.op;
  if (a.imported && !a.imported->phase.empty()) text += " in " + imported_phase(*a.imported);
  return text;
}

// The columns of the second line of an allocation.
struct Origins {
  unsigned op = 0, module = 0;
  bool has_function = true;  // the source has the function, not only the line
};

std::string source_of(const Allocation& a, bool has_function) { return has_function ? a.source : line_of(a.source); }

// "float32 [8, 64], since step 3"
std::string shape_text(const Report& r, const Allocation& a) {
  if (a.step == r.peak.step) return a.layout;
  return a.layout + (a.layout.empty() ? "since " : ", since ") + since_text(r, a.step);
}

// Leaves out the functions first, then the begin of the modules, then of the operators.
Origins fitting(const AllocationLines& all, unsigned room) {
  constexpr unsigned kGaps = 4, kLeastModule = 16, kLongOperator = 24;
  Origins out;
  unsigned whole = 0, line = 0;
  for (const AllocationLine& one : all.lines) {
    out.op = std::max(out.op, columns(operator_text(*one.first)));
    out.module = std::max(out.module, columns(one.module));
    whole = std::max(whole, columns(one.first->source));
    line = std::max(line, columns(line_of(one.first->source)));
  }
  out.has_function = out.op + out.module + whole + kGaps <= room;
  if (out.has_function) return out;
  const unsigned left = room > kGaps + line ? room - kGaps - line : 0;
  if (out.op + out.module > left) out.op = std::min(out.op, std::max(kLongOperator, left / 3));
  out.module = std::min(out.module, left > out.op + kLeastModule ? left - out.op : kLeastModule);
  return out;
}

void add_allocations(Page& page, const Report& r) {
  const AllocationLines all = biggest(r, page.rows());
  if (all.lines.empty()) return;
  page.heading("The biggest allocations", count_text(all.allocations) + " of " + count_text(r.peak.live_allocations) +
                                              (all.parent.empty() ? "" : "; modules below " + all.parent));
  unsigned times = 0;
  for (const AllocationLine& one : all.lines) {
    if (one.allocations > 1) times = std::max(times, columns(count_text(one.allocations)) + 3);
  }
  const unsigned indent = 15 + times, room = page.width() > indent + 12 ? page.width() - indent : 12;
  const Origins widths = fitting(all, room);
  for (const AllocationLine& one : all.lines) {
    const Allocation& a = *one.first;
    const std::string shape = shape_text(r, a);
    const unsigned layout = shape.empty() ? 0 : columns(shape) + 2;
    const bool same_line = columns(one.holder) + layout <= room;
    const std::string count = one.allocations > 1 ? "x" + count_text(one.allocations) : "";
    page.line("  " + page.paint(Paint::bold, pad_left(bytes_text(a.bytes), 11)) + "  " + pad_right(count, times) +
              page.paint(paint_of(a.category), fit_words(one.holder, room)) +
              (layout > 0 && same_line ? "  " + shape : ""));
    if (layout > 0 && !same_line) page.line(std::string(indent, ' ') + shape);
    std::string from = pad_right(fit_path(operator_text(a), widths.op), widths.op);
    if (widths.module > 0) from += "  " + pad_right(fit_path(one.module, widths.module), widths.module);
    from += "  " + source_of(a, widths.has_function);
    from.erase(from.find_last_not_of(' ') + 1);
    page.line(std::string(indent, ' ') + page.paint(Paint::dim, fit_words(from, room)));
  }
}

std::string between(Bytes low, Bytes high) {
  return bytes_text(low) == bytes_text(high) ? bytes_text(low) : bytes_text(low) + " to " + bytes_text(high);
}

std::string between(uint64_t low, uint64_t high) {
  return low == high ? count_text(low) : count_text(low) + " to " + count_text(high);
}

void add_steps(Page& page, const Report& r) {
  if (r.steps.size() < 2) return;
  std::vector<int64_t> peaks;
  for (const Step& step : r.steps) peaks.push_back(step.peak.value);
  const std::span<const Step> whole = whole_steps(r);
  const auto peak = std::ranges::minmax(whole, {}, &Step::peak);
  const auto count = std::ranges::minmax(whole, {}, &Step::allocations);
  const auto allocated = std::ranges::minmax(whole, {}, &Step::allocated);
  page.heading("Steps", count_text(whole.size()) + ", the peak of each from left to right");
  page.line("  " + page.paint(Paint::cyan, sparkline(peaks, page.width() - 4)));
  page.paragraph("  ", "Peaks of " + between(peak.min.peak, peak.max.peak) + ", the highest in step " +
                           std::to_string(std::ranges::max_element(whole, {}, &Step::peak)->index) + ". A step makes " +
                           between(count.min.allocations, count.max.allocations) + " allocations, " +
                           between(allocated.min.allocated, allocated.max.allocated) + " in all." +
                           (r.steps.back().complete ? "" : " The last bar is what came after the last step."));
}

// PyTorch's own ranges: the optimizers' steps, which the table of steps has, and the batches of data loaders.
bool is_of_pytorch(std::string_view range) {
  return range.starts_with("Optimizer.") || range.starts_with("enumerate(DataLoader)#");
}

void add_ranges(Page& page, const Report& r) {
  struct Sum {
    uint64_t times = 0;
    Bytes peak{}, rise{};
    uint64_t allocations = 0;
  };
  std::map<std::string, Sum> sums;
  for (const Range& range : r.ranges) {
    if (is_of_pytorch(range.name)) continue;
    Sum& sum = sums[range.name];
    ++sum.times;
    sum.peak = std::max(sum.peak, range.peak);
    sum.rise = std::max(sum.rise, range.peak - range.begin_live);
    sum.allocations = std::max(sum.allocations, range.allocations);
  }
  if (sums.empty()) return;
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second.rise > b.second.rise; });
  page.heading("Ranges", "record_function: times, the most that was alive, its rise in the range, allocations");
  const size_t shown = std::min(sorted.size(), page.rows());
  unsigned width = 8;
  for (size_t i = 0; i < shown; ++i) width = std::max(width, columns(sorted[i].first));
  width = std::min(width, page.width() - 44);
  for (size_t i = 0; i < shown; ++i) {
    const auto& [name, sum] = sorted[i];
    page.line("  " + pad_right(fit(name, width), width) + pad_left("x" + count_text(sum.times), 8) +
              pad_left(bytes_text(sum.peak), 12) + pad_left("+" + bytes_text(sum.rise), 12) +
              pad_left(count_text(sum.allocations), 10));
  }
  if (shown < sorted.size()) page.line(page.paint(Paint::dim, "  and " + count_text(sorted.size() - shown) + " more"));
}

std::string blocks_text(const DeviceFacts& device) {
  if (!device.blocks) return "";
  const auto& segments = device.blocks->segments;
  return "; allocated " + bytes_text(device.blocks->allocated_peak) +
         (segments ? ", reserved " + bytes_text(segments->reserved_peak) : "");
}

void add_processes(Page& page, const Report& r) {
  size_t devices = 0;
  for (const ProcessFacts& process : r.processes) devices += process.devices.size();
  if (r.processes.size() < 2 && devices < 2) return;
  page.heading(r.processes.size() < 2 ? "Devices" : "Processes",
               "peaks; the one that this report is about is marked: --device, --process choose another");
  for (const ProcessFacts& process : r.processes) {
    const bool has_failed = process.exit_code.value_or(0) != 0;
    const std::string ending = !process.finished ? "did not end by itself"
                               : has_failed      ? "ended with exit code " + std::to_string(*process.exit_code)
                                                 : std::string();
    for (const DeviceFacts& device : process.devices) {
      const bool chosen = process.pid == r.peak.pid && device.device == r.peak.device;
      const std::string name = process.rank >= 0 ? "rank " + std::to_string(process.rank) : "";
      page.line(page.paint(chosen ? Paint::bold : Paint::plain,
                           std::string(chosen ? "> " : "  ") + pad_right(name, 9) + "pid " +
                               pad_right(std::to_string(process.pid), 10) + pad_right(device.device, 8) +
                               pad_left(bytes_text(device.peak), 12)) +
                "  at " + time_text(device.peak_time) + blocks_text(device) +
                (ending.empty() ? "" : "  " + page.paint(Paint::yellow, ending)));
    }
    if (process.devices.empty()) page.line("  pid " + std::to_string(process.pid) + " allocated nothing");
  }
}

// Shardings of the process that the report describes.
void add_shardings(Page& page, const Report& r) {
  const auto process = std::ranges::find(r.processes, r.peak.pid, &ProcessFacts::pid);
  if (process == r.processes.end() || process->shardings.empty()) return;
  page.heading("Sharded parameters", "bytes of this process while they are not gathered");
  for (const peak::Sharding& one : process->shardings) {
    const std::string place = one.coordinate.empty() ? "not in it" : "here " + one.coordinate;
    page.paragraph(std::string(13, ' '), bytes_text(one.here) + " of " + bytes_text(one.all) + ", " +
                                             plural(one.parameters.size(), "parameter", "parameters") + ": " +
                                             one.placements + " on mesh " + one.mesh + " (" + place + ")");
  }
}

void add_saves(Page& page, const Report& r) {
  const peak::SaveTotals& all = r.saves.all;
  if (all.count == 0) return;
  page.heading("Saved for backward, over the whole recording");
  page.paragraph("  ", plural(all.count, "tensor", "tensors") + ", " + bytes_text(all.logical) +
                           " as autograd sees them, in " + bytes_text(all.storage) + " of storage.");
}

void add_losses(Page& page, const Report& r) {
  if (r.recording.lost.empty()) return;
  page.heading(r.recording.complete ? "Not recorded" : "This recording is not complete");
  for (const Lost& lost : r.recording.lost) {
    const std::string whose = r.processes.size() > 1 && lost.pid != 0 ? " (pid " + std::to_string(lost.pid) + ")" : "";
    page.paragraph(lost.is_data ? "! " : "  ", lost.what + whose, lost.is_data ? Paint::yellow : Paint::plain);
  }
}

void add_next(Page& page, const Report& r) {
  const std::string command = "tapelens report " + r.recording.file;
  std::vector<std::pair<std::string, std::string>> next;
  using peak::By;
  if (r.advice && !r.advice->findings.empty()) {
    next.emplace_back("tapelens advise " + r.recording.file, "each finding, with its evidence and how to fix it");
  }
  if (r.options.by != By::source) next.emplace_back(command + " --by source", "the lines that made these bytes");
  const bool has_more = r.recording.imported_from.empty();  // a snapshot knows neither modules nor fields
  if (has_more && r.options.by != By::module) next.emplace_back(command + " --by module", "the modules that made them");
  if (has_more && r.options.by != By::field)
    next.emplace_back(command + " --by field", "the fields of nodes that keep them");
  if (r.processes.size() > 1) {
    for (const ProcessFacts& process : r.processes) {
      if (process.pid == r.peak.pid || process.devices.empty()) continue;
      next.emplace_back(command + " --process " + std::to_string(process.pid), "the same for another process");
      break;
    }
  }
  if (r.options.at.kind == At::Kind::peak && r.steps.size() > 1) {
    const uint32_t other = r.steps[r.steps.size() > 2 ? r.steps.size() - 2 : 0].index;
    if (other != r.peak.step) next.emplace_back(command + " --at step:" + std::to_string(other), "another step's peak");
  }
  if (r.options.at.kind != At::Kind::peak) next.emplace_back(command, "the peak of the whole recording");
  next.emplace_back(command + " --format json", "everything, for a program to read");
  page.heading("Next");
  unsigned width = 0;
  for (const auto& [what, why] : next) width = std::max(width, columns(what));
  for (const auto& [what, why] : next) {
    const bool fits = width + columns(why) + 4 <= page.width();
    page.line("  " + (fits ? pad_right(what, width) + "  " + page.paint(Paint::dim, why) : what));
  }
}

}  // namespace

std::string text(const Report& report, const Style& style) {
  Page page(style);
  add_title(page, report);
  add_growth(page, report);
  add_host_memory(page, report);
  add_out_of_memory(page, report);
  add_categories(page, report);
  if (report.peak.reserved) add_holes(page, *report.peak.reserved);
  add_external(page, report);
  if (report.modules.empty()) add_groups(page, report);
  add_modules(page, report.modules);
  add_shardings(page, report);
  add_variables(page, report);
  add_findings(page, report);
  add_allocations(page, report);
  add_rewritten(page, report.rewritten);
  add_steps(page, report);
  add_ranges(page, report);
  add_processes(page, report);
  add_saves(page, report);
  add_losses(page, report);
  add_next(page, report);
  return page.take();
}

constinit extern const Format kText{
    .name = "text",
    .report = [](const Report& r, const Rendering& how) { return text(r, how.style); },
    .advice = [](const Report& r, const Rendering& how) { return advice_text(r, how.style, how.selection); },
    .joins_equal = true};

}  // namespace tapelens::report
