// `tapelens advise` on a terminal: the peak after the fixes, the entries in the order in which to fix them, the
// remaining holders of the peak, and the next commands.
#include "analyzer/report/advice_text.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "analyzer/report/categories.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/next_commands.h"
#include "analyzer/report/sections.h"
#include "analyzer/report/sentences.h"
#include "analyzer/text/format.h"
#include "analyzer/text/names.h"

namespace tapelens::report {

using text::bounds_text;
using text::bytes_text;
using text::columns;
using text::count_text;
using text::fit;
using text::pad_left;
using text::pad_right;
using text::Page;
using text::Paint;
using text::percent_text;
using text::plural;
using text::Style;

namespace {

using advise::Advice;
using advise::Entry;
using advise::Finding;
using Kind = advise::Entry::Kind;

constexpr unsigned kAdviceIndent = 10, kColumn = 12, kWideColumn = 20;  // indentation below a title; widths of figures

struct Section {
  Kind first, last;
  const char* title;
  size_t most;  // entries, without --all
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

// Removes the words that fit into one line from the text, and returns them.
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

// Cuts a statement to the room. Keeps its begin, which says more than its end.
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

// The first of several code entries at one line of the user, if their library lines differ: the line calls a framework
// that runs the whole training. Null: the entries have different lines.
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

// The line to edit with its code; the library's line if all entries have the same user's line.
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
  size_t of_line = 0;
  for (const uint32_t at : std::span(entry.findings).subspan(1)) {
    const Finding& other = r.advice->findings[at];
    if (other.source.line == f.source.line && other.source.file == f.source.file) {
      ++of_line;
      continue;
    }
    add_source(page, *r.advice, other);
    page.paragraph(left + "fix  ", other.fix.text);
  }
  if (of_line > 0) {
    page.line(page.paint(Paint::dim,
                         left + "the same line holds " + plural(of_line, "more group", "more groups") + " of tensors"));
  }
}

void add_automatic(Page& page, const Report& r, const Entry& entry) {
  constexpr size_t kShown = 3;
  const Advice& advice = *r.advice;
  const std::string left(kAdviceIndent, ' ');
  const size_t shown = std::min(entry.findings.size(), kShown);
  struct Row {
    std::string bytes, what, module, source;
  };
  // One line of the user for all rows calls a framework. Then the lines of the framework tell the rows apart.
  const Finding& first = advice.findings[entry.findings.front()];
  const bool is_framework =
      shown > 1 && std::ranges::all_of(entry.findings, [&](uint32_t at) {
        const Finding& f = advice.findings[at];
        return !f.library.file.empty() && f.source.file == first.source.file && f.source.line == first.source.line;
      });
  std::vector<Row> rows;
  for (size_t i = 0; i < shown; ++i) {
    const Finding& f = advice.findings[entry.findings[i]];
    const std::string field = f.node + (f.field.empty() ? "" : "." + f.field);
    rows.push_back({bytes_text(f.bytes), field.empty() ? f.title : field, f.module,
                    source_text(is_framework ? f.library : f.source)});
  }
  const auto widest = [&](std::string Row::*column) {
    unsigned width = 0;
    for (const Row& row : rows) width = std::max(width, columns(row.*column));
    return width;
  };
  // Without room for all columns, the functions are left out first, then the begins of the modules.
  constexpr unsigned kLeastModule = 12;
  const unsigned room = page.width() - kAdviceIndent - 12;
  unsigned what = widest(&Row::what), module = widest(&Row::module), source = widest(&Row::source);
  const auto left_of = [&](unsigned others) { return room > others ? room - others : 0; };
  if (what + module + source + 4 > room) {
    for (Row& row : rows) row.source = row.source.substr(0, row.source.find(' '));
    source = widest(&Row::source);
    const unsigned rest = left_of(what + source + 4);
    module = std::min(module, rest < kLeastModule ? 0 : rest);
    what = std::min(what, left_of(source + 2));
  }
  for (const Row& row : rows) {
    std::string text = pad_left(row.bytes, 10) + "  " + pad_right(text::fit_path(row.what, what), what);
    if (module > 0) text += "  " + pad_right(text::fit_path(row.module, module), module);
    text += "  " + row.source;
    text.erase(text.find_last_not_of(' ') + 1);
    page.line(left + page.paint(Paint::dim, text));
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

// With all evidence of each finding.
void add_whole_entry(Page& page, const Report& r, const Entry& entry, size_t number) {
  add_title(page, *r.advice, entry, number);
  if (entry.kind == Kind::automatic) page.paragraph(std::string(kAdviceIndent, ' ') + "run  ", run_command(r, entry));
  for (size_t i = 0; i < entry.findings.size(); ++i) {
    const Finding& f = r.advice->findings[entry.findings[i]];
    const bool is_only = entry.findings.size() == 1;
    add_finding(page, f, std::to_string(number) + (is_only ? "" : "." + std::to_string(i + 1)));
  }
}

bool is_shown(const Entry& entry, const EntrySelection& selection) { return selection.all || !entry.is_small; }

// Numbers of the omitted small entries, at which the shown numbers have gaps.
std::vector<size_t> not_shown(const Advice& advice, const EntrySelection& selection) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < advice.entries.size(); ++i) {
    if (!is_shown(advice.entries[i], selection)) numbers.push_back(i + 1);
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

// The first title has the names of the columns beside it.
void add_sections(Page& page, const Report& r, const EntrySelection& selection) {
  const Advice& advice = *r.advice;
  size_t left_out = 0, total = 0;
  bool is_first = true;
  for (const Section& section : kSections) {
    size_t shown = 0;
    for (size_t i = 0; i < advice.entries.size(); ++i) {
      const Entry& entry = advice.entries[i];
      if (entry.is_small || entry.kind < section.first || entry.kind > section.last) continue;
      if (total == page.rows() || (!selection.all && shown == section.most)) {
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
      if (selection.all) {
        add_whole_entry(page, r, entry, i + 1);
      } else {
        add_entry(page, r, entry, i + 1);
      }
    }
  }
  if (selection.all) total += add_small(page, r);
  std::string more = left_out > 0 ? plural(left_out, "more entry", "more entries") : "";
  if (const std::vector<size_t> small = not_shown(advice, selection); !small.empty()) {
    more += (more.empty() ? "" : "; ") + std::string(small.size() == 1 ? "entry " : "entries ") + numbers_text(small) +
            (small.size() == 1 ? ", which lowers" : ", which lower") + " the peak by less than 1 %, or not at all";
  }
  if (more.empty()) return;
  if (total == 0) page.line("");
  page.paragraph("", (total == 0 ? "" : "and ") + more + ": --all", Paint::dim);
}

void add_remaining(Page& page, const Report& r, const EntrySelection& selection) {
  constexpr size_t kShown = 4;
  constexpr int64_t kWorth = 10;  // divisor of the peak after all fixes: the least bytes to show
  const Advice& advice = *r.advice;
  if (advice.predicted || advice.left.empty()) return;
  size_t shown = 0;
  Bytes rest = advice.peak_after_all;
  for (const advise::Remaining& left : advice.left) {
    if (!selection.all && (shown == kShown || left.bytes.value < advice.peak_after_all.value / kWorth)) continue;
    if (shown++ == 0) {
      page.heading(advice.findings.empty() ? "What holds the peak"
                                           : "Not covered by any check, alive at the peak then");
    }
    const std::string first = "  " + pad_left(bytes_text(left.bytes), 10) + "  ";
    const std::string what = remaining_text(left), remedy = remedy_text(left, r.advice->in_use);
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

// If no finding lowers the peak: the part of the peak that no check can judge. That part may still be avoidable.
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

std::string line_text(const Advice& advice, const Finding& finding) {
  if (common_call(advice) != nullptr && !finding.library.file.empty()) return source_text(finding.library);
  const std::string text = source_text(finding);
  return text + (text.empty() || finding.statement.empty() ? "" : "   " + finding.statement);
}

std::string call_text(const Advice& advice) {
  const Finding* call = common_call(advice);
  if (call == nullptr) return "";
  return source_text(call->source) + (call->statement.empty() ? "" : "   " + call->statement);
}

const char* section_title(const Entry& entry) {
  if (entry.is_small) return kSmall;
  return std::ranges::find_if(kSections, [&](const Section& section) { return entry.kind <= section.last; })->title;
}

std::string weight_text(const Advice& advice, const Entry& entry) {
  const check::Severity severity = advice.findings[entry.findings.front()].severity;
  if (severity == check::Severity::error) return "ERROR";
  const int64_t peak = std::max<int64_t>(advice.peak_before.value, 1);
  const int64_t percent = (100 * entry.change().value + peak / 2) / peak;
  if (percent > 0) return "-" + std::to_string(percent) + " %";
  return entry.change() > Bytes{} ? "<1 %" : "0 %";
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
  size_t changes = 0, errors = 0;  // errors: entries that do not lower this peak
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
  return files + " changed since the recording: lines may be off, and no patch changes" +
         (advice.changed.size() == 1 ? " it" : " them");
}

std::string remaining_text(const advise::Remaining& left) {
  std::string text = label(left.kind), largest = left.largest;
  const auto add = [&](std::string_view before, const std::string& words) {
    if (!words.empty()) largest += (largest.empty() ? "" : std::string(before)) + words;
  };
  add(" ", left.module.empty() ? "" : "in " + left.module);
  add(", ", source_text(left.source) + (left.library.file.empty() ? "" : " (calls " + source_text(left.library) + ")"));
  if (largest.empty()) return text;
  return text + ": " + (left.largest_bytes < left.bytes ? bytes_text(left.largest_bytes) + " of it " : "") + largest;
}

std::string advice_text(const Report& r, const Style& style, const EntrySelection& selection) {
  const Advice& advice = *r.advice;
  Page page(style);
  if (selection.entry > 0) {
    add_whole_entry(page, r, advice.entries[selection.entry - 1], selection.entry);
    return page.take();
  }
  if (const std::string reserved = reserved_headline(r); !reserved.empty()) page.paragraph("", reserved, Paint::bold);
  page.paragraph("", headline(r), Paint::bold);
  if (const auto& predicted = advice.predicted; predicted && predicted->saved_before > Bytes{}) {
    page.paragraph("", "When a backward begins, " + bytes_text(predicted->saved_before) + " are kept for it, " +
                           bounds_text(predicted->saved_after, predicted->saved_at_most) + " then");
  }
  // The command may contain a whole script.
  std::string facts =
      r.recording.imported_from.empty() ? fit(r.recording.command, 2 * page.width()) : r.recording.imported_from;
  if (!r.recording.torch_version.empty()) {
    facts += (facts.empty() ? "PyTorch " : ", PyTorch ") + r.recording.torch_version;
  }
  page.paragraph("", facts, Paint::dim);
  for (const std::string& more : condition_texts(r)) page.paragraph("", more, Paint::yellow);
  if (const std::string changed = changed_text(advice); !changed.empty()) page.paragraph("! ", changed, Paint::yellow);
  if (const std::string call = call_text(advice); !call.empty()) {
    page.paragraph("All code changes are for  ", call, Paint::cyan);
  }
  if (const std::string unchecked = unchecked_text(advice); !unchecked.empty()) page.paragraph("", unchecked);
  if (advice.findings.empty()) {
    page.line("");
    page.paragraph("", advice.checks.empty() ? "No check ran." : "No findings.", Paint::bold);
    std::string checks;
    for (const std::string& check : advice.checks) checks += (checks.empty() ? "" : ", ") + check;
    if (!checks.empty()) page.paragraph("Checked: ", checks, Paint::dim);
  }
  add_sections(page, r, selection);
  add_remaining(page, r, selection);
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
