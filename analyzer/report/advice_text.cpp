// What `tapelens advise` says on a terminal: what the peak would be, then what to do, entry by entry in the order in
// which to do it, what is left then, and the commands to type.
#include <algorithm>
#include <array>
#include <filesystem>

#include "analyzer/model/compiled.h"
#include "analyzer/report/estimates.h"
#include "analyzer/report/findings.h"
#include "analyzer/report/format.h"
#include "analyzer/report/losses.h"
#include "analyzer/report/next_commands.h"
#include "analyzer/report/value_reads.h"

namespace tapelens::report {

namespace {

using advise::Advice;
using advise::Entry;
using advise::Finding;
using Kind = advise::Entry::Kind;

constexpr unsigned kAdviceIndent = 10, kColumn = 12, kWideColumn = 20;  // of what is below a title; of a figure

struct Section {
  Kind first, last;
  const char* title;
  size_t most;  // entries, unless all are asked for
};
constexpr std::array kSections = {
    Section{Kind::error, Kind::code, "Do this first", 4},
    Section{Kind::consider, Kind::consider, "Then consider (code changes)", 3},
    Section{Kind::automatic, Kind::automatic, "Automatic, no code change", 1},
    Section{Kind::trade, Kind::trade, "Trade compute for memory (alternatives, each alone)", 1},
};
constexpr const char* kSmall = "Less than 1 % of the peak each, or nothing";

std::string figures(const std::string& after, const std::string& change) {
  return pad_left(after, kColumn) + pad_left(change, columns(change) < kColumn ? kColumn : kWideColumn);
}

// As many words as fit; they are taken from the text.
std::string first_line(std::string_view& text, unsigned width) {
  size_t end = 0;
  while (end < text.size()) {
    const size_t space = std::min(text.find(' ', end + 1), text.size());
    if (end > 0 && columns(text.substr(0, space)) > width) break;
    end = space;
  }
  std::string line(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void add_title(Page& page, const Advice& advice, const Entry& entry, size_t number) {
  const Paint paint = paint_of(advice.findings[entry.findings.front()].severity);
  const std::string title = entry_title(advice, entry);
  const std::string values = figures(bytes_text(entry.peak_after), change_text(advice, entry));
  const unsigned room = page.width() - kAdviceIndent - static_cast<unsigned>(columns(values));
  std::string_view rest = title;
  const std::string line = first_line(rest, room);
  page.line(pad_left(std::to_string(number), 2) + " " + page.paint(paint, pad_right(weight_text(advice, entry), 7)) +
            page.paint(Paint::bold, pad_right(line, room)) +
            page.paint(entry.change() > Bytes{} ? Paint::green : Paint::plain, values));
  if (!rest.empty()) page.paragraph(std::string(kAdviceIndent, ' '), rest, Paint::bold);
}

// As much of it as there is room for: what a statement begins with says more than what it ends in.
std::string begin_of(std::string_view text, unsigned room) {
  if (columns(text) <= room) return std::string(text);
  size_t end = 0;
  for (unsigned taken = 0; end < text.size(); ++end) {
    const bool starts_character = (static_cast<unsigned char>(text[end]) & 0xc0U) != 0x80U;
    if (starts_character && ++taken == room) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

bool is_code(const Entry& entry) { return entry.kind <= Kind::consider; }

// The user's line that all entries are found at, where they differ in the library's: a call of a framework that does
// everything. Null: they differ.
const Finding* common_call(const Advice& advice) {
  const Finding* first = nullptr;
  size_t entries = 0;
  bool differ = false;
  for (const Entry& entry : advice.entries) {
    const Finding& f = advice.findings[entry.findings.front()];
    if (!is_code(entry) || entry.is_small) continue;
    ++entries;
    if (f.library.file.empty() || f.source.file.empty()) return nullptr;
    if (first == nullptr) first = &f;
    if (f.source.file != first->source.file || f.source.line != first->source.line) return nullptr;
    differ |= f.library.line != first->library.line || f.library.file != first->library.file;
  }
  return entries > 1 && differ ? first : nullptr;
}

// The line to edit, and what stands there; where one call has them all, the library's line.
void add_source(Page& page, const Advice& advice, const Finding& f) {
  if (common_call(advice) != nullptr) {
    page.line(std::string(kAdviceIndent, ' ') + page.paint(Paint::cyan, source_text(f.library)));
    return;
  }
  std::string text = source_text(f);
  if (text.empty()) text = place_text(f);
  if (text.empty()) return;
  const unsigned room = page.width() - kAdviceIndent;
  if (!f.statement.empty()) {
    if (columns(text) + 3 + columns(f.statement) > room) text = source_text(f.source);
    text += "   " + f.statement;
  }
  page.line(std::string(kAdviceIndent, ' ') + page.paint(Paint::cyan, begin_of(text, room)));
}

void add_code(Page& page, const Report& r, const Entry& entry, bool is_short) {
  const std::string left(kAdviceIndent, ' ');
  const Finding& f = r.advice->findings[entry.findings.front()];
  add_source(page, *r.advice, f);
  if (!is_short) page.paragraph(left, f.message);
  if (!is_short && !f.is_proved) {
    page.paragraph(left, "The recording cannot prove this: check before you change anything.");
  }
  page.paragraph(left + "fix  ", f.fix.text + (f.fix.edits.empty() ? "" : " (has a patch)"));
  if (entry.findings.size() > 1) {
    page.line(page.paint(Paint::dim, left + "the same line holds " +
                                         plural(entry.findings.size() - 1, "more group", "more groups") +
                                         " of tensors"));
  }
}

void add_automatic(Page& page, const Report& r, const Entry& entry) {
  constexpr size_t kShown = 3;
  const Advice& advice = *r.advice;
  const std::string left(kAdviceIndent, ' ');
  const size_t shown = std::min(entry.findings.size(), kShown);
  for (size_t i = 0; i < shown; ++i) {
    const Finding& f = advice.findings[entry.findings[i]];
    const std::string field = f.node + (f.field.empty() ? "" : "." + f.field);
    const std::string what = (field.empty() ? f.title : field) + (f.module.empty() ? "" : " in " + f.module);
    const std::string source = source_text(f.source);
    page.line(left + page.paint(Paint::dim, pad_left(bytes_text(f.bytes), 10) + "  " +
                                                fit(what + (source.empty() ? "" : ", " + source),
                                                    page.width() - kAdviceIndent - 12)));
  }
  if (shown < entry.findings.size()) {
    page.line(left + page.paint(Paint::dim, "and " + count_text(entry.findings.size() - shown) + " more"));
  }
  page.paragraph(left + "run  ", run_command(r, entry), Paint::cyan);
}

void add_trade(Page& page, const Report& r, const Entry& entry) {
  const Finding& f = r.advice->findings[entry.findings.front()];
  page.paragraph(std::string(kAdviceIndent, ' '), f.fix.text, Paint::dim);
}

void add_entry(Page& page, const Report& r, const Entry& entry, size_t number) {
  add_title(page, *r.advice, entry, number);
  switch (entry.kind) {
    case Kind::error:
    case Kind::code:
      return add_code(page, r, entry, false);
    case Kind::consider:
      return add_code(page, r, entry, true);
    case Kind::automatic:
      return add_automatic(page, r, entry);
    case Kind::trade:
      return add_trade(page, r, entry);
  }
}

// With all that is known of each finding.
void add_whole_entry(Page& page, const Report& r, const Entry& entry, size_t number) {
  add_title(page, *r.advice, entry, number);
  if (entry.kind == Kind::automatic) page.paragraph(std::string(kAdviceIndent, ' ') + "run  ", run_command(r, entry));
  for (size_t i = 0; i < entry.findings.size(); ++i) {
    const Finding& f = r.advice->findings[entry.findings[i]];
    const bool is_only = entry.findings.size() == 1;
    add_finding(page, f, std::to_string(number) + (is_only ? "" : "." + std::to_string(i + 1)));
  }
}

bool is_shown(const Entry& entry, const Extent& extent) { return extent.all || !entry.is_small; }

// Numbers of the entries that are too small: those that are shown have a gap there.
std::vector<size_t> not_shown(const Advice& advice, const Extent& extent) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < advice.entries.size(); ++i) {
    if (!is_shown(advice.entries[i], extent)) numbers.push_back(i + 1);
  }
  return numbers;
}

// "2, 5 to 7"
std::string numbers_text(const std::vector<size_t>& numbers) {
  std::string text;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[first]);
    if (last > first) text += (last == first + 1 ? ", " : " to ") + std::to_string(numbers[last]);
    first = last + 1;
  }
  return text;
}

size_t add_small(Page& page, const Report& r) {
  size_t shown = 0;
  for (size_t i = 0; i < r.advice->entries.size(); ++i) {
    const Entry& entry = r.advice->entries[i];
    if (!entry.is_small) continue;
    if (shown++ == 0) {
      page.line("");
      page.line(page.paint(Paint::bold, kSmall));
    }
    add_whole_entry(page, r, entry, i + 1);
  }
  return shown;
}

// The columns' names stand beside the first title.
void add_sections(Page& page, const Report& r, const Extent& extent) {
  const Advice& advice = *r.advice;
  size_t left_out = 0, total = 0;
  bool is_first = true;
  for (const Section& section : kSections) {
    size_t shown = 0;
    for (size_t i = 0; i < advice.entries.size(); ++i) {
      const Entry& entry = advice.entries[i];
      if (entry.is_small || entry.kind < section.first || entry.kind > section.last) continue;
      if (total == page.rows() || (!extent.all && shown == section.most)) {
        ++left_out;
        continue;
      }
      if (shown++ == 0) {
        const bool has_room = columns(section.title) + 2 * kColumn < page.width();
        page.line("");
        page.line(page.paint(Paint::bold, has_room && is_first ? pad_right(section.title, page.width() - 2 * kColumn)
                                                               : std::string(section.title)) +
                  (has_room && is_first ? page.paint(Paint::dim, figures("peak after", "change")) : ""));
        is_first = false;
      }
      ++total;
      if (extent.all) {
        add_whole_entry(page, r, entry, i + 1);
      } else {
        add_entry(page, r, entry, i + 1);
      }
    }
  }
  if (extent.all) total += add_small(page, r);
  std::string more = left_out > 0 ? plural(left_out, "more entry", "more entries") : "";
  if (const std::vector<size_t> small = not_shown(advice, extent); !small.empty()) {
    more += (more.empty() ? "" : "; ") + std::string(small.size() == 1 ? "entry " : "entries ") + numbers_text(small) +
            (small.size() == 1 ? ", which lowers" : ", which lower") + " the peak by less than 1 %, or not at all";
  }
  if (more.empty()) return;
  if (total == 0) page.line("");
  page.paragraph("", (total == 0 ? "" : "and ") + more + ": --all", Paint::dim);
}

void add_remaining(Page& page, const Report& r, const Extent& extent) {
  constexpr size_t kShown = 4;
  constexpr int64_t kWorth = 10;  // one of so many of the bytes of that peak
  const Advice& advice = *r.advice;
  if (advice.predicted || advice.left.empty()) return;
  size_t shown = 0;
  Bytes rest = advice.peak_after_all;
  for (const advise::Remaining& left : advice.left) {
    if (!extent.all && (shown == kShown || left.bytes.value < advice.peak_after_all.value / kWorth)) continue;
    if (shown++ == 0) {
      page.heading(advice.findings.empty() ? "What holds the peak"
                                           : "Not covered by any check, alive at the peak then");
    }
    const std::string first = "  " + pad_left(bytes_text(left.bytes), 10) + "  ";
    const std::string what = remaining_text(left), remedy = remedy_text(left);
    if (!remedy.empty() && columns(first) + columns(what) + 2 + columns(remedy) <= page.width()) {
      page.line(first + what + "; " + page.paint(Paint::dim, remedy));
    } else {
      page.paragraph(first, what);
      if (!remedy.empty()) page.paragraph(std::string(14, ' '), remedy, Paint::dim);
    }
    rest = rest - left.bytes;
  }
  if (shown > 0 && rest > Bytes{}) {
    page.line("  " + pad_left(bytes_text(rest), 10) + "  " + page.paint(Paint::dim, "everything else"));
  }
}

// "94.2 MiB (-45.8 %)"
std::string then_text(Bytes before, Bytes after) {
  return bytes_text(after) + (after < before ? " (-" + percent_text(before - after, before) + ")" : "");
}

// Where nothing lowers the peak: what of it no check can judge, so that this is no proof that it has to be.
std::string unchecked_text(const Advice& advice) {
  using peak::HolderKind;
  if (advice.checks.empty() || advice.predicted || advice.peak_after_all < advice.peak_before) return "";
  Bytes unchecked;
  std::string kinds;
  for (const advise::Remaining& left : advice.left) {
    switch (left.kind) {
      case HolderKind::parameter:
      case HolderKind::buffer:
      case HolderKind::optimizer_state:
      case HolderKind::program:
      case HolderKind::communication:
      case HolderKind::packed:
      case HolderKind::unknown:
        break;
      default:
        continue;
    }
    unchecked += left.bytes;
    kinds += (kinds.empty() ? "" : ", ") + std::string(label(left.kind));
  }
  if (unchecked.value * 5 < advice.peak_before.value) return "";
  return percent_text(unchecked, advice.peak_before) + " of it is in use, or of a kind that no check judges: " + kinds +
         ".";
}

std::string headline(const Report& r) {
  const Advice& advice = *r.advice;
  std::string where = " on " + r.peak.device;
  if (r.processes.size() > 1) {
    where += r.peak.rank >= 0 ? " of rank " + std::to_string(r.peak.rank) : " of process " + std::to_string(r.peak.pid);
  }
  const Bytes peak = advice.peak_before;
  const std::string now = "Peak " + bytes_text(peak) + where;
  if (const auto& with = advice.predicted) {
    const std::string applied = " with " + with->name + " applied";
    if (with->peak_after == peak && with->peak_at_most == peak) return now + ", no less" + applied;
    return now + ", " + bounds_text(with->peak_after, with->peak_at_most) + applied + " (" +
           bounds_text(peak, with->peak_after, with->peak_at_most) + ")";
  }
  return now + outlook_text(advice);
}

}  // namespace

const char* section_title(const Entry& entry) {
  if (entry.is_small) return kSmall;
  return std::ranges::find_if(kSections, [&](const Section& section) { return entry.kind <= section.last; })->title;
}

std::string weight_text(const Advice& advice, const Entry& entry) {
  const check::Severity severity = advice.findings[entry.findings.front()].severity;
  if (severity == check::Severity::error) return "ERROR";
  const int64_t peak = std::max<int64_t>(advice.peak_before.value, 1);
  const int64_t percent = (100 * entry.change().value + peak / 2) / peak;
  return percent > 0 ? "-" + std::to_string(percent) + " %" : severity_name(severity);
}

std::string change_text(const Advice& advice, const Entry& entry) {
  const Bytes change = entry.change();
  Bytes growth;
  for (const uint32_t at : entry.findings) growth += advice.findings[at].growth;
  if (growth > Bytes{}) return "+" + bytes_text(growth) + " a step";
  if (entry.kind == Kind::error && change == Bytes{}) return "grows";
  if (change == Bytes{}) return "0 B";
  return change > Bytes{} ? "-" + bytes_text(change) : "+" + bytes_text(Bytes{-change.value});
}

std::string entry_title(const Advice& advice, const Entry& entry) {
  const Finding& first = advice.findings[entry.findings.front()];
  if (entry.kind != Kind::automatic) return first.title;
  return plural(entry.findings.size(), "group of saved tensors", "groups of saved tensors") +
         " can be dropped, or held in fewer bytes";
}

std::string outlook_text(const Advice& advice) {
  const Bytes peak = advice.peak_before;
  size_t changes = 0, errors = 0;  // errors: that do not lower this peak
  bool has_more = false, is_all_automatic = true;
  Bytes after = peak;
  for (const Entry& entry : advice.entries) {
    if (entry.kind == Kind::trade || entry.is_small) continue;
    is_all_automatic &= entry.kind == Kind::automatic;
    if (entry.kind <= Kind::code) {
      ++(entry.kind == Kind::error && entry.change() <= Bytes{} ? errors : changes);
      after = entry.peak_after;
    } else {
      has_more = true;
    }
  }
  const std::string wrong = errors > 0 ? ". " + plural(errors, "error", "errors") + " to fix first" : "";
  if (advice.peak_after_all >= peak) {
    return advice.findings.empty() ? "" : wrong.empty() ? ". No check found what lowers it." : wrong + ".";
  }
  if (changes > 0) {
    const std::string first =
        wrong + ". " + plural(changes, "code change", "code changes") + " -> " + then_text(peak, after);
    if (!has_more || advice.peak_after_all >= after) return first + ".";
    return first + "; everything below -> " + then_text(peak, advice.peak_after_all) + ".";
  }
  return wrong + (is_all_automatic && has_more ? ". Without a code change -> " : ". Everything below -> ") +
         then_text(peak, advice.peak_after_all) + ".";
}

std::string changed_text(const Advice& advice) {
  std::string files;
  for (const std::string& file : advice.changed) {
    files += (files.empty() ? "" : ", ") + std::filesystem::path(file).filename().string();
  }
  if (files.empty()) return "";
  return files + " changed since the recording: lines may be off, and there is no patch" +
         (advice.changed.size() == 1 ? " of it" : " of them");
}

std::string remaining_text(const advise::Remaining& left) {
  std::string text = label(left.kind), largest = left.largest;
  const auto add = [&](std::string_view before, const std::string& words) {
    if (!words.empty()) largest += (largest.empty() ? "" : std::string(before)) + words;
  };
  add(" ", left.module.empty() ? "" : "in " + left.module);
  add(", ", source_text(left.source));
  if (largest.empty()) return text;
  return text + ": " + (left.largest_bytes < left.bytes ? bytes_text(left.largest_bytes) + " of it " : "") + largest;
}

std::string remedy_text(const advise::Remaining& left) {
  using peak::HolderKind;
  const auto has = [&](std::string_view part) { return left.largest.find(part) != std::string::npos; };
  switch (left.kind) {
    case HolderKind::save:
      if (model::names_compiled(left.largest)) {
        return "saved by a compiled function: tapelens budget measures lower activation memory budgets";
      }
      return "try a smaller micro-batch, autocast to bfloat16, or activation checkpointing";
    case HolderKind::op:
      if (has("conv")) return "workspace of a convolution: try channels_last, or a smaller patch or micro-batch";
      if (has("softmax") || has("cross_entropy") || has("nll")) return "try the loss in chunks of rows, or a fused one";
      return "try a smaller micro-batch, or the operator on parts of its input";
    case HolderKind::parameter:
    case HolderKind::buffer:
      return "try bfloat16 weights, sharding (FSDP2), or adapters (LoRA)";
    case HolderKind::gradient:
      return "try gradients in bfloat16, sharding (FSDP2), or optimizer steps inside the backward";
    case HolderKind::optimizer_state:
      return "try an optimizer with 8-bit or factored state, or sharding (FSDP2)";
    case HolderKind::program:
      return "something in the program still refers to it: del it, or leave its scope, before the peak";
    case HolderKind::packed:
      return "try hooks that pack into less, or onto another device";
    case HolderKind::checkpointing:
      return "try a policy that keeps fewer results";
    case HolderKind::context:
      return "pass tensors to ctx.save_for_backward instead of keeping them on ctx";
    case HolderKind::communication:
      return "try smaller buckets (bucket_cap_mb, gradient_as_bucket_view), or more and smaller units of FSDP2";
    case HolderKind::recomputed:
    case HolderKind::allocator:
    case HolderKind::unknown:
      break;
  }
  return "";
}

std::string advice_text(const Report& r, const Style& style, const Extent& extent) {
  const Advice& advice = *r.advice;
  Page page(style);
  if (extent.entry > 0) {
    add_whole_entry(page, r, advice.entries[extent.entry - 1], extent.entry);
    return page.take();
  }
  if (const std::string reserved = reserved_headline(r); !reserved.empty()) page.paragraph("", reserved, Paint::bold);
  page.paragraph("", headline(r), Paint::bold);
  if (const auto& predicted = advice.predicted; predicted && predicted->saved_before > Bytes{}) {
    page.paragraph("", "When a backward begins, " + bytes_text(predicted->saved_before) + " are kept for it, " +
                           bounds_text(predicted->saved_after, predicted->saved_at_most) + " then");
  }
  // A script may be in it.
  std::string facts =
      r.recording.imported_from.empty() ? fit(r.recording.command, 2 * page.width()) : r.recording.imported_from;
  if (!r.recording.torch_version.empty()) {
    facts += (facts.empty() ? "PyTorch " : ", PyTorch ") + r.recording.torch_version;
  }
  page.paragraph("", facts, Paint::dim);
  for (const std::string& more :
       {simulated_text(r.recording), imported_text(r.recording), estimates_text(r), value_reads_text(r)}) {
    if (!more.empty()) page.paragraph("", more, Paint::yellow);
  }
  if (const std::string changed = changed_text(advice); !changed.empty()) page.paragraph("! ", changed, Paint::yellow);
  if (const Finding* call = common_call(advice)) {
    page.paragraph("All code changes are for  ",
                   source_text(call->source) + (call->statement.empty() ? "" : "   " + call->statement), Paint::cyan);
  }
  if (const std::string unchecked = unchecked_text(advice); !unchecked.empty()) page.paragraph("", unchecked);
  if (advice.findings.empty()) {
    page.line("");
    page.paragraph("", advice.checks.empty() ? "No check ran." : "No findings.", Paint::bold);
    std::string checks;
    for (const std::string& check : advice.checks) checks += (checks.empty() ? "" : ", ") + check;
    if (!checks.empty()) page.paragraph("Checked: ", checks, Paint::dim);
  }
  add_sections(page, r, extent);
  add_remaining(page, r, extent);
  add_allocator(page, r);
  add_gaps(page, r);
  add_next_commands(page, r);
  return page.take();
}

void add_findings(Page& page, const Report& r) {
  if (!r.advice) return;
  const Advice& advice = *r.advice;
  if (advice.findings.empty()) {
    page.heading("Findings");
    page.paragraph("  ", "None, of " + plural(advice.checks.size(), "check", "checks") + ".");
    return;
  }
  constexpr size_t kShown = 3;
  page.heading("What to do", "the peak after each: tapelens advise has the rest");
  if (const std::string changed = changed_text(advice); !changed.empty()) page.paragraph("! ", changed, Paint::yellow);
  size_t shown = 0;
  for (size_t i = 0; i < advice.entries.size() && shown < kShown; ++i) {
    const Entry& entry = advice.entries[i];
    if (entry.is_small || entry.kind == Kind::trade) continue;
    ++shown;
    add_title(page, advice, entry, i + 1);
    if (entry.kind == Kind::automatic) {
      page.paragraph(std::string(kAdviceIndent, ' '), run_command(r, entry), Paint::dim);
    } else {
      add_source(page, advice, advice.findings[entry.findings.front()]);
    }
  }
  if (shown == 0) page.paragraph("  ", "Nothing that lowers the peak by 1 %.");
}

void add_gaps(Page& page, const Report& r) {
  if (const std::string text = not_looked_text(*r.advice); !text.empty()) {
    page.heading("Checks that did not look");
    page.paragraph("  ", text);
  }
  if (!r.advice->refused.empty()) {
    page.heading("Checks that failed");
    for (const std::string& refused : r.advice->refused) page.paragraph("! ", refused, Paint::yellow);
  }
  for (const Lost& lost : r.recording.lost) {
    if (!lost.is_data) continue;
    page.line("");
    page.paragraph("! ", "This recording is not complete: " + lost.what, Paint::yellow);
  }
}

}  // namespace tapelens::report
