// What a device's allocator would have reserved, for a terminal.
#include "analyzer/report/escape.h"
#include "analyzer/report/findings.h"
#include "analyzer/report/format.h"

namespace tapelens::report {

namespace {

using advise::AllocatorAdvice;
using advise::Fits;
using advise::Way;

std::string environment(const std::string& settings) { return "PYTORCH_CUDA_ALLOC_CONF=" + shell_quote(settings); }

std::string change_text(Bytes before, Bytes after) {
  if (after < before) return "-" + percent_text(before - after, before);
  return "+" + percent_text(after - before, before);
}

// "findings 1, 4 and 5 fixed"
std::string fixed(const Way& way) {
  if (way.findings.empty()) return "";
  std::string text = way.findings.size() == 1 ? "finding " : "findings ";
  for (size_t i = 0; i < way.findings.size(); ++i) {
    text += i == 0 ? "" : i + 1 == way.findings.size() ? " and " : ", ";
    text += std::to_string(way.findings[i] + 1);
  }
  return text + " fixed";
}

void add_ways(Page& page, const Report& r, const Fits& fits) {
  page.heading("To fit into " + bytes_text(fits.card));
  if (!fits.failed) {
    page.paragraph("  ", "It fits as it is.");
  } else {
    page.paragraph("  ", time_text(fits.failed->time) + " after the start there is no memory for a block of " +
                             bytes_text(fits.failed->bytes) + ": " + bytes_text(fits.failed->reserved) +
                             " are reserved, and no cached block is large enough.");
    if (fits.ways.empty()) {
      page.paragraph("  ", "No set of findings and no setting that was tried is enough.");
    } else {
      page.paragraph("  ", "Each of these is enough:");
    }
  }
  for (const Way& way : fits.ways) {
    std::string text = fixed(way);
    if (!way.settings.empty()) text += (text.empty() ? "" : ", and ") + environment(way.settings);
    page.paragraph("  - ", text + ": " + bytes_text(way.reserved_peak) + " reserved at most");
    if (way.findings.empty() && !r.recording.command.empty()) {
      page.line(page.paint(Paint::dim, "    " + environment(way.settings) + " " + r.recording.command));
    }
  }
  if (fits.ends_out_of_memory) {
    page.paragraph("  ",
                   "The recorded run itself was out of memory: this holds up to that request. What the program"
                   " would have asked for after it is not known.",
                   Paint::yellow);
  }
}

}  // namespace

void add_allocator(Page& page, const Report& r) {
  if (!r.advice || !r.advice->allocator) return;
  const AllocatorAdvice& a = *r.advice->allocator;
  page.heading("What " + r.peak.device + " reserves", bytes_text(a.reserved_before) + " at most");
  if (!a.is_known()) {
    page.paragraph("  ",
                   "What it would have reserved otherwise cannot be said: a replay of the recorded requests does"
                   " not do what was recorded (" +
                       a.differs + ").");
    return;
  }
  if (const std::string all = fixed_text(*r.advice); !all.empty() && a.reserved_after_all != a.reserved_before) {
    page.paragraph("  ", "With " + all + " fixed: " + bytes_text(a.reserved_after_all) + " (" +
                             change_text(a.reserved_before, a.reserved_after_all) + ")");
  }
  if (const advise::SettingTried* better = a.better()) {
    page.paragraph("  ", "With " + environment(better->settings) + ": " + bytes_text(better->reserved_peak) + " (" +
                             change_text(a.reserved_before, better->reserved_peak) + ")");
  } else {
    page.paragraph("  ", "No setting of PYTORCH_CUDA_ALLOC_CONF that was tried lowers it by a hundredth.", Paint::dim);
  }
  if (a.fits) add_ways(page, r, *a.fits);
}

}  // namespace tapelens::report
