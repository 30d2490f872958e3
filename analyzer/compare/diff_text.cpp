// The changes between two runs as text: the peak first, then its parts.
#include <algorithm>

#include "analyzer/compare/renderings.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "analyzer/text/layout.h"

namespace tapelens::compare {

namespace {

using text::bytes_text;
using text::Paint;

void add_groups(text::Page& page, const ComparedDevice& device, By by) {
  const std::vector<ComparedGroup> groups = changed_groups(device, by);
  if (groups.empty()) return;
  page.heading("By " + std::string(kByNames[static_cast<size_t>(by)]), "A -> B");
  Bytes rest;
  for (size_t i = 0; i < groups.size(); ++i) {
    const ComparedGroup& group = groups[i];
    if (i >= page.rows()) {
      rest += group.difference();
      continue;
    }
    const auto paint = group.difference() > Bytes{} ? Paint::red : Paint::green;
    page.line("  " + page.paint(paint, text::pad_left(signed_text(group.difference()), 11)) + "  " +
              text::pad_right(bytes_text(group.a) + " -> " + bytes_text(group.b), 22) + "  " +
              text::pad_right(change_name(group.change()), 9) + "  " + group_name(group, by));
  }
  if (groups.size() > page.rows()) {
    page.line(page.paint(Paint::dim, "  and " + text::count_text(groups.size() - page.rows()) + " more, " +
                                         signed_text(rest) + " in all (--top lists more)"));
  }
}

}  // namespace

std::string diff_text(const Comparison& comparison, std::span<const By> by, const Rendering& how) {
  text::Page page(how.style);
  for (const ComparedDevice& device : comparison.devices) {
    page.line(page.paint(Paint::bold, "Peak of " + device.name + ": " +
                                          change_text(Metric::peak, device.peak_a.value, device.peak_b.value)));
    const Cause cause = cause_of(comparison, device);
    if (const std::string line = line_text(cause); !line.empty()) {
      page.line("  " + page.paint(Paint::cyan, line) + (cause.statement.empty() ? "" : ": " + cause.statement) + "  (" +
                cause.why + ")");
    }
    for (const Metric metric : {Metric::saved, Metric::reserved, Metric::allocations}) {
      const auto before = value_of(device.a, metric), after = value_of(device.b, metric);
      if (before && after)
        page.line("  " + text::pad_right(figure_name(metric), 20) + change_text(metric, *before, *after));
    }
    if (const std::string size = size_text(device); !size.empty()) page.paragraph("  ", size);
    for (const By one : by) add_groups(page, device, one);
    page.line("");
  }
  for (const auto& [title, findings] : {std::pair("New findings", &comparison.new_findings),
                                        std::pair("Findings that are gone", &comparison.gone_findings)}) {
    if (findings->empty()) continue;
    page.line(page.paint(Paint::bold, title));
    for (size_t i = 0; i < std::min(findings->size(), page.rows()); ++i) {
      const KnownFinding& f = (*findings)[i];
      page.line("  " + std::string(severity_name(f.severity)) + "  " + f.title + "  " + bytes_text(f.bytes) + "  " +
                place_text(f.source));
    }
    if (findings->size() > page.rows()) {
      page.line("  and " + text::count_text(findings->size() - page.rows()) + " more (--top lists more)");
    }
    page.line("");
  }
  for (const std::string& remark : comparison.remarks) page.paragraph("", remark + ".", Paint::dim);
  return page.take();
}

std::string diff_markdown(const Comparison& comparison, std::span<const By> by, const Rendering& how) {
  using text::cell;
  using text::code;
  std::string out;
  for (const ComparedDevice& device : comparison.devices) {
    out += "### Peak of " + cell(device.name) + ": " +
           cell(change_text(Metric::peak, device.peak_a.value, device.peak_b.value)) + "\n\n";
    const Cause cause = cause_of(comparison, device);
    if (const std::string line = line_text(cause); !line.empty()) {
      out +=
          code(line) + (cause.statement.empty() ? "" : " " + code(cause.statement)) + " (" + cell(cause.why) + ")\n\n";
    }
    for (const By one : by) {
      const std::vector<ComparedGroup> groups = changed_groups(device, one);
      if (groups.empty()) continue;
      out += "| change | A | B | | " + std::string(kByNames[static_cast<size_t>(one)]) +
             " |\n| ---: | ---: | ---: | --- | --- |\n";
      for (size_t i = 0; i < std::min(groups.size(), how.style.rows); ++i) {
        const ComparedGroup& group = groups[i];
        out += "| " + signed_text(group.difference()) + " | " + bytes_text(group.a) + " | " + bytes_text(group.b) +
               " | " + change_name(group.change()) + " | " + code(group_name(group, one)) + " |\n";
      }
      if (groups.size() > how.style.rows) {
        out += "\nAnd " + std::to_string(groups.size() - how.style.rows) + " more.\n";
      }
      out += "\n";
    }
  }
  for (const std::string& remark : comparison.remarks) out += "- " + cell(remark) + "\n";
  return out;
}

}  // namespace tapelens::compare
