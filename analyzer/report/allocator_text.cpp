// The reserved bytes that a device's allocator would have under other conditions, for a terminal.
#include "analyzer/report/advice_text.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/fitting.h"
#include "analyzer/report/sections.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::bytes_text;
using text::Page;
using text::Paint;
using text::percent_text;

namespace {

using advise::AllocatorAdvice;
using advise::Fits;
using advise::Way;

std::string change_text(Bytes before, Bytes after) {
  if (after < before) return "-" + percent_text(before - after, before);
  return "+" + percent_text(after - before, before);
}

void add_ways(Page& page, const Report& r, const Fits& fits) {
  page.heading("To fit into " + bytes_text(fits.card));
  for (const std::string& sentence : fits_texts(fits)) page.paragraph("  ", sentence);
  for (const Way& way : fits.ways) {
    page.paragraph("  - ", way_text(r, way) + ": " + bytes_text(way.reserved_peak) + " reserved at most" +
                               (way.rewrites.empty() ? "" : ", as predicted"));
    for (const std::string& command : way_commands(r, way)) page.line(page.paint(Paint::dim, "    " + command));
  }
  if (const std::string unknown = unknown_rest_text(fits); !unknown.empty()) {
    page.paragraph("  ", unknown, Paint::yellow);
  }
  if (const auto commands = whole_run_commands(r, fits); !commands.empty()) {
    page.paragraph("  ", "To find changes that make the whole run fit, record it on a simulated GPU with more memory:");
    for (const std::string& command : commands) page.line(page.paint(Paint::dim, "    " + command));
  }
  if (const std::string command = run_fit_command(r, fits); !command.empty()) {
    page.paragraph("  ", "To run the unchanged program in " + bytes_text(fits.card) +
                             ", with the cheapest rewrites that are enough and the same bits:");
    page.line(page.paint(Paint::dim, "    " + command));
  }
}

}  // namespace

std::string reserved_headline(const Report& r) {
  constexpr double kFar = 1.5, kWorth = 0.8;
  if (!r.advice || !r.advice->allocator || !r.advice->allocator->is_known()) return "";
  const AllocatorAdvice& a = *r.advice->allocator;
  const advise::SettingTried* better = a.better();
  const auto reserved = static_cast<double>(a.reserved_before.value);
  if (better == nullptr || reserved < kFar * static_cast<double>(r.advice->peak_before.value)) return "";
  if (static_cast<double>(better->reserved_peak.value) > kWorth * reserved) return "";
  return r.peak.device + " reserves " + bytes_text(a.reserved_before) + ", far more than its peak. With " +
         allocator_environment(better->settings) + ": " + bytes_text(better->reserved_peak) + " (" +
         change_text(a.reserved_before, better->reserved_peak) + ").";
}

void add_allocator(Page& page, const Report& r) {
  if (!r.advice || !r.advice->allocator) return;
  const AllocatorAdvice& a = *r.advice->allocator;
  page.heading("What " + r.peak.device + " reserves", bytes_text(a.reserved_before) + " at most");
  if (!a.is_known()) {
    page.paragraph(
        "  ",
        "Reserved bytes under other conditions are not known: a replay of the recorded requests differs from the "
        "recording (" +
            a.differs + ").");
    return;
  }
  if (const std::string all = fixed_text(*r.advice); !all.empty() && a.reserved_after_all != a.reserved_before) {
    page.paragraph("  ", "With " + all + " fixed: " + bytes_text(a.reserved_after_all) + " (" +
                             change_text(a.reserved_before, a.reserved_after_all) + ")");
  }
  if (const advise::SettingTried* better = a.better()) {
    page.paragraph("  ", "With " + allocator_environment(better->settings) + ": " + bytes_text(better->reserved_peak) +
                             " (" + change_text(a.reserved_before, better->reserved_peak) + ")");
  } else {
    page.paragraph("  ", "No setting of PYTORCH_CUDA_ALLOC_CONF that was tried lowers it by a hundredth.", Paint::dim);
  }
  if (a.fits) add_ways(page, r, *a.fits);
}

}  // namespace tapelens::report
