// Findings for a terminal: what the peak would be without them, then one block each, what helps most first.
#include <algorithm>

#include "analyzer/report/estimates.h"
#include "analyzer/report/findings.h"
#include "analyzer/report/format.h"
#include "analyzer/report/losses.h"
#include "analyzer/report/value_reads.h"

namespace tapelens::report {

namespace {

using advise::Advice;
using advise::Finding;
using check::Severity;

constexpr size_t kShortFindings = 3;  // in a report
constexpr unsigned kIndent = 4;

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

// "94.2 MiB with all findings fixed (-45.8 %)"
std::string outlook_text(const Advice& advice) {
  if (advice.predicted) {
    const std::string applied = " with " + advice.predicted->name + " applied";
    const advise::Prediction& with = *advice.predicted;
    if (with.peak_after == advice.peak_before && with.peak_at_most == advice.peak_before) return "no less" + applied;
    return bounds_text(with.peak_after, with.peak_at_most) + applied + " (" +
           bounds_text(advice.peak_before, with.peak_after, with.peak_at_most) + ")";
  }
  const std::string fixed = fixed_text(advice);
  if (fixed.empty()) return "";
  if (advice.peak_after_all == advice.peak_before) return "no less with " + fixed + " fixed";
  return bytes_text(advice.peak_after_all) + " with " + fixed + " fixed (-" +
         percent_text(advice.peak_before - advice.peak_after_all, advice.peak_before) + ")";
}

std::string source_line(const Finding& f) {
  const std::string source = source_text(f.source), place = place_text(f);
  return source + (source.empty() || place.empty() ? "" : ", ") + place;
}

// Line by line, as it is: it is to be read, and copied.
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

void add_block(Page& page, const Finding& f, size_t number) {
  const std::string left(kIndent, ' ');
  const std::string rank = std::to_string(number) + ". ", severity(severity_name(f.severity));
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
  if (!f.is_proved) page.paragraph(left, "The recording cannot prove this: have a look before you change anything.");
  page.paragraph(left + "fix: ", f.fix.text);
  add_patch(page, unified_diff(f.fix.edits));
  // One that changes nothing need not be proved to a person at such length: JSON has it all.
  if (f.retained_at_peak() > Bytes{} || f.severity != Severity::info) {
    for (const std::string& note : f.notes) page.paragraph(left + "- ", note, Paint::dim);
    constexpr size_t kShown = 3;
    for (size_t i = 0; i < std::min(f.evidence.size(), kShown); ++i) {
      page.paragraph(left + "- ", evidence_text(f.evidence[i]), Paint::dim);
    }
    const uint64_t more = f.evidence_left_out + (f.evidence.size() > kShown ? f.evidence.size() - kShown : 0);
    if (more > 0)
      page.line(
          page.paint(Paint::dim, left + "- and " + plural(more, "more that looks", "more that look") + " different"));
  }
  page.line(page.paint(Paint::dim, left + f.check + "  " + f.id));
}

// "saved for backward 40.1 MiB, gradients 20.0 MiB"
std::string left_text(const Advice& advice) {
  std::vector<peak::Category> left = advice.left;
  std::erase_if(left, [](const peak::Category& category) { return category.bytes <= Bytes{}; });
  std::ranges::stable_sort(left, std::ranges::greater(), &peak::Category::bytes);
  std::string text;
  Bytes rest = advice.peak_after_all;
  for (const peak::Category& category : left) {
    text += (text.empty() ? "" : ", ") + std::string(label(category.kind)) + " " + bytes_text(category.bytes);
    rest = rest - category.bytes;
  }
  if (rest > Bytes{}) text += (text.empty() ? "" : ", ") + bytes_text(rest) + " that is there instead";
  return text;
}

std::string checks_text(const Advice& advice) {
  std::string all;
  for (const std::string& check : advice.checks) all += (all.empty() ? "" : ", ") + check;
  return all;
}

std::string subject(const Report& r) {
  std::string text = "on " + r.peak.device;
  if (r.processes.size() > 1) {
    text += r.peak.rank >= 0 ? " of rank " + std::to_string(r.peak.rank) : " of process " + std::to_string(r.peak.pid);
  }
  return text;
}

void add_refused(Page& page, const Advice& advice) {
  if (advice.refused.empty()) return;
  page.heading("Checks that failed");
  for (const std::string& refused : advice.refused) page.paragraph("! ", refused, Paint::yellow);
}

}  // namespace

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
    return "alone it does not move the peak, since others keep the same memory: with all findings fixed the peak is " +
           bytes_text(f.retained_at_peak_with_all) + " lower for it";
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
  std::string text = bytes_text(e.bytes) + (e.count > 1 ? " x" + count_text(e.count) : "");
  if (!e.node.empty()) text += "  " + e.node + (e.field.empty() ? "" : "." + e.field);
  if (!e.layout.empty()) text += "  " + e.layout;
  if (!e.op.empty()) text += ", made by " + e.op;
  for (size_t i = 0; i < e.kept_by.size(); ++i) {
    text += i == 0 ? ", kept by " : i + 1 == e.kept_by.size() ? " and " : ", ";
    text += e.kept_by[i] == "program" ? "the program" : e.kept_by[i];
  }
  return text;
}

void add_findings(Page& page, const Report& r) {
  if (!r.advice) return;
  const Advice& advice = *r.advice;
  if (advice.findings.empty()) {
    page.heading("Findings");
    page.paragraph("  ", "None: " + plural(advice.checks.size(), "check", "checks") + " found nothing to fix.");
    return;
  }
  const std::string outlook = outlook_text(advice);
  page.heading("Findings", count_text(advice.findings.size()) + (outlook.empty() ? "" : "; the peak is " + outlook));
  const size_t shown = std::min(advice.findings.size(), kShortFindings);
  for (size_t i = 0; i < shown; ++i) {
    const Finding& f = advice.findings[i];
    const std::string severity = pad_right(severity_name(f.severity), 7);
    page.line("  " + page.paint(paint_of(f.severity), severity) + "  " +
              page.paint(Paint::bold, fit(f.title, page.width() - 11)));
    const std::string source = source_text(f.source);
    page.paragraph(std::string(11, ' '),
                   bytes_text(f.bytes) + "; " + effect_text(f) + (source.empty() ? "" : "; " + source), Paint::dim);
  }
  if (shown < advice.findings.size()) {
    page.line(page.paint(Paint::dim, "  and " + count_text(advice.findings.size() - shown) + " more"));
  }
}

std::string advice_text(const Report& r, const Style& style) {
  const Advice& advice = *r.advice;
  Page page(style);
  const std::string now = "The peak is " + bytes_text(advice.peak_before) + " " + subject(r);
  const std::string outlook = outlook_text(advice);
  page.paragraph("", now + (outlook.empty() ? "" : ", " + outlook), Paint::bold);
  std::string facts = r.recording.command;
  if (!r.recording.torch_version.empty())
    facts += (facts.empty() ? "PyTorch " : ", PyTorch ") + r.recording.torch_version;
  if (const auto& predicted = advice.predicted; predicted && predicted->saved_before > Bytes{}) {
    page.paragraph("", "When a backward begins, " + bytes_text(predicted->saved_before) + " are kept for it, " +
                           bounds_text(predicted->saved_after, predicted->saved_at_most) + " then");
  }
  page.paragraph("", facts, Paint::dim);
  if (const std::string simulated = simulated_text(r.recording); !simulated.empty())
    page.paragraph("", simulated, Paint::yellow);
  for (const std::string& more : {estimates_text(r), value_reads_text(r)}) {
    if (!more.empty()) page.paragraph("", more, Paint::yellow);
  }
  if (advice.peak_after_all < advice.peak_before) page.paragraph("Left then: ", left_text(advice));
  if (advice.findings.empty()) {
    page.line("");
    page.paragraph("", advice.checks.empty() ? "No check ran." : "Nothing found.", Paint::bold);
    if (!advice.checks.empty()) page.paragraph("Checked: ", checks_text(advice), Paint::dim);
  }
  size_t number = 0;
  bool in_alternatives = false;
  for (const Finding& f : advice.findings) {
    if (number == style.rows) {
      const uint64_t more = advice.findings.size() - number;
      page.line("");
      page.line(page.paint(Paint::dim, "and " + plural(more, "finding more", "findings more")));
      break;
    }
    if (f.is_alternative && !in_alternatives) {
      page.heading("What else could be done", "alternatives to one another, not counted in the peak above");
      in_alternatives = true;
    }
    add_block(page, f, ++number);
  }
  add_allocator(page, r);
  add_refused(page, advice);
  for (const Lost& lost : r.recording.lost) {
    if (!lost.is_data) continue;
    page.line("");
    page.paragraph("! ", "This recording is not complete: " + lost.what, Paint::yellow);
  }
  return page.take();
}

}  // namespace tapelens::report
