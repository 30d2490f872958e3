// The texts of one finding, alone and as a block of a page for a terminal.
#include "analyzer/report/findings_text.h"

#include <algorithm>

#include "analyzer/text/format.h"

namespace tapelens::report {

using text::bytes_text;
using text::columns;
using text::count_text;
using text::pad_left;
using text::Page;
using text::Paint;
using text::percent_text;
using text::plural;

namespace {

using advise::Advice;
using advise::Bytes;
using advise::Finding;
using advise::Frame;
using check::Severity;

constexpr unsigned kIndent = 4;

std::string source_line(const Finding& f) {
  const std::string source = source_text(f), place = place_text(f);
  return source + (source.empty() || place.empty() ? "" : ", ") + place;
}

// Adds the lines of the patch without wrapping, so that the user can copy them.
void add_patch(Page& page, std::string_view patch) {
  while (!patch.empty()) {
    const size_t end = std::min(patch.find('\n'), patch.size());
    std::string line(patch.substr(0, end));
    patch.remove_prefix(std::min(end + 1, patch.size()));
    const Paint paint = line.starts_with("+")   ? Paint::green
                        : line.starts_with("-") ? Paint::red
                        : line.starts_with("@") ? Paint::cyan
                                                : Paint::plain;
    page.line(page.paint(paint, std::string(kIndent, ' ') + line));
  }
}

}  // namespace

Paint paint_of(Severity severity) {
  switch (severity) {
    case Severity::error:
      return Paint::red;
    case Severity::warning:
      return Paint::yellow;
    case Severity::info:
      break;
  }
  return Paint::blue;
}

void add_finding(Page& page, const Finding& f, const std::string& number) {
  const std::string left(kIndent, ' ');
  const std::string rank = number + ". ", severity(severity_name(f.severity));
  page.line("");
  if (kIndent + columns(severity) + 2 + columns(f.title) <= page.width()) {
    page.line(page.paint(Paint::bold, pad_left(rank, kIndent)) + page.paint(paint_of(f.severity), severity) + "  " +
              page.paint(Paint::bold, f.title));
  } else {
    page.paragraph(pad_left(rank, kIndent), severity + "  " + f.title, Paint::bold);
  }
  page.paragraph(left, bytes_text(f.bytes) + " " + times_text(f) + "; " + effect_text(f),
                 f.retained_at_peak() > Bytes{} ? Paint::green : Paint::plain);
  if (const std::string line = source_line(f); !line.empty()) page.paragraph(left, line, Paint::cyan);
  page.paragraph(left, f.message);
  if (!f.is_proved) page.paragraph(left, "The recording cannot prove this: check before you change anything.");
  page.paragraph(left + "fix: ", f.fix.text);
  add_patch(page, unified_diff(f.fix.edits));
  for (const std::string& note : f.notes) page.paragraph(left + "- ", note, Paint::dim);
  for (const advise::Evidence& e : f.evidence) page.paragraph(left + "- ", evidence_text(e), Paint::dim);
  if (f.evidence_left_out > 0) {
    page.line(page.paint(
        Paint::dim, left + "- + " + plural(f.evidence_left_out, "other shape or holder", "other shapes or holders")));
  }
  page.line(page.paint(Paint::dim, left + f.check + "  " + f.id));
}

std::string fixed_text(const Advice& advice) {
  uint64_t all = 0, fixed = 0;
  for (const Finding& f : advice.findings) {
    all += f.is_alternative ? 0 : 1;
    fixed += f.is_alternative || !f.is_in_all ? 0 : 1;
  }
  if (all == 0) return "";
  if (fixed < all) return count_text(fixed) + " of " + plural(all, "finding", "findings");
  return all == 1 ? "the finding" : "all findings";
}

size_t entry_number(const Advice& advice, size_t finding) {
  const auto at = std::ranges::find_if(advice.entries, [&](const advise::Entry& entry) {
    return std::ranges::find(entry.findings, finding) != entry.findings.end();
  });
  return static_cast<size_t>(at - advice.entries.begin()) + 1;
}

std::string effect_text(const Finding& f) {
  const Bytes alone = f.peak_before - f.peak_after;
  if (alone > Bytes{} && bytes_text(f.peak_before) == bytes_text(f.peak_after)) {
    return "peak " + bytes_text(alone) + " lower without it";
  }
  if (alone > Bytes{}) {
    const bool is_lost = !f.is_in_all && !f.is_alternative;
    return "peak " + bytes_text(f.peak_before) + " -> " + bytes_text(f.peak_after) + " without it (-" +
           percent_text(alone, f.peak_before) + ")" +
           (is_lost ? "; with the others fixed it would raise the peak" : "");
  }
  if (f.retained_at_peak_with_all > Bytes{}) {
    return "no effect alone (other findings hold the same memory), -" + bytes_text(f.retained_at_peak_with_all) +
           " together with them";
  }
  if (alone < Bytes{}) return "alone it would raise the peak to " + bytes_text(f.peak_after);
  return "does not move the peak";
}

std::string source_text(const Frame& frame) {
  if (frame.file.empty()) return "";
  std::string text = frame.file.substr(frame.file.rfind('/') + 1);
  if (frame.line != 0) text += ":" + std::to_string(frame.line);
  return frame.function.empty() ? text : text + " " + frame.function;
}

std::string source_text(const Finding& f) {
  const std::string source = source_text(f.source), library = source_text(f.library);
  return source + (library.empty() ? "" : ", in " + library);
}

std::string times_text(const Finding& f) {
  std::string text = "at " + plural(std::max<uint64_t>(f.sites, 1), "site", "sites");
  if (f.occurrences > f.sites || f.step_count > 1) {
    text += ", " + plural(f.occurrences, "time", "times") + " in " + plural(f.step_count, "step", "steps");
  }
  return text;
}

std::string place_text(const Finding& f) {
  std::string text = f.node.empty() ? "" : f.node + (f.field.empty() ? "" : "." + f.field);
  if (!f.op.empty()) text += (text.empty() ? "" : " of ") + f.op;
  if (!f.module.empty()) text += (text.empty() ? "in " : " in ") + f.module;
  return text;
}

std::string evidence_text(const advise::Evidence& e) {
  std::string text = e.are_of_one_size ? "" : "at most ";
  text += bytes_text(e.bytes) + (e.count > 1 ? " x" + count_text(e.count) : "");
  if (!e.node.empty()) text += "  " + e.node + (e.field.empty() ? "" : "." + e.field);
  if (!e.layout.empty()) text += "  " + e.layout;
  if (!e.op.empty()) text += ", made by " + e.op;
  for (size_t i = 0; i < e.kept_by.size(); ++i) {
    text += i == 0 ? ", held by " : i + 1 == e.kept_by.size() ? " and " : ", ";
    text += e.kept_by[i] == "program" ? "the program" : e.kept_by[i];
  }
  return text;
}

}  // namespace tapelens::report
