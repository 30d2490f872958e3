#include <algorithm>
#include <cmath>

#include "analyzer/ranks/renderings.h"
#include "analyzer/report/modules.h"
#include "analyzer/text/format.h"
#include "analyzer/text/layout.h"

namespace tapelens::ranks {

namespace {

using report::column_width;
using text::bytes_text;
using text::count_text;
using text::fit;
using text::pad_left;
using text::pad_right;
using text::Page;
using text::Paint;
using text::plural;

constexpr unsigned kFigure = 12;

void add_title(Page& page, const Job& job) {
  std::string hosts;
  if (job.hosts.size() == 1) hosts = " on " + job.hosts.front();
  if (job.hosts.size() > 1) hosts = " on " + count_text(job.hosts.size()) + " hosts";
  page.line(
      page.paint(Paint::bold, count_of_ranks(job) + hosts + ", peak on " + job.device_type + ": " + peak_text(job)));
  page.paragraph("",
                 job.command + ", PyTorch " + job.torch_version +
                     (job.simulated_gpu.empty() ? "" : ", simulated " + job.simulated_gpu),
                 Paint::dim);
}

void add_ended_badly(Page& page, const Job& job) {
  const size_t shown = std::min(job.ended_badly.size(), page.rows());
  if (shown > 0) {
    page.heading("Did not end well",
                 plural(job.ended_badly.size(), "rank", "ranks") +
                     (job.ended_badly.size() > 1 ? ", the first one by its host's clock first" : ""));
    const uint64_t first = job.ended_badly.front().first.summary.end_ns;
    for (size_t i = 0; i < shown; ++i) {
      const auto& [rank, why] = job.ended_badly[i];
      const uint64_t later = rank.summary.end_ns - first;
      page.paragraph("  ",
                     name_on_host(rank) + ": " + why +
                         (i == 0 ? "" : "; " + text::time_text({static_cast<int64_t>(later)}) + " later"),
                     Paint::red);
    }
    if (shown < job.ended_badly.size()) {
      page.line(page.paint(Paint::dim, "  and " + count_text(job.ended_badly.size() - shown) + " more"));
    }
  }
  if (const std::string missing = missing_text(job); !missing.empty()) {
    page.line("");
    page.paragraph("", missing, Paint::red);
  }
}

void add_outliers(Page& page, const Job& job) {
  if (!job.has_enough) return;
  page.heading("Ranks that stand out", count_text(job.outliers.size()) + " of " + count_text(job.ranks.size()));
  const size_t shown = std::min(job.outliers.size(), page.rows());
  for (size_t i = 0; i < shown; ++i) {
    const Outlier& one = job.outliers[i];
    page.paragraph("  ", name_on_host(job.ranks[one.rank]) + ": " + outlier_text(job, one), Paint::yellow);
    for (const Reason& reason : one.reasons) {
      page.line("      " + pad_right(kByNames[static_cast<size_t>(reason.by)], 10) +
                fit(reason_text(reason), page.width() - 16));
    }
  }
  if (shown < job.outliers.size()) {
    page.line(page.paint(Paint::dim, "  and " + count_text(job.outliers.size() - shown) + " more"));
  }
}

void add_two_ranks(Page& page, const Job& job) {
  if (!job.larger_of_two) return;
  page.line("");
  page.paragraph("", two_ranks_text(job), Paint::yellow);
}

void add_categories(Page& page, const Job& job) {
  if (job.larger_of_two) return;  // a median of two says nothing, and the table of ranks has both
  page.heading("Memory of a rank at its peak");
  page.line(page.paint(Paint::dim, "  " + pad_right("", 26) + pad_left("least", kFigure) + pad_left("median", kFigure) +
                                       pad_left("most", kFigure)));
  for (const CategoryRange& range : job.categories) {
    page.line("  " + pad_right(fit(category_label(range.category), 26), 26) +
              pad_left(bytes_text(range.least), kFigure) + pad_left(bytes_text(range.median), kFigure) +
              pad_left(bytes_text(range.most), kFigure));
  }
}

// A line of one character a point, on a common scale. `is_least`: a character shows the lowest of its points, not the
// highest.
std::string line_of(const std::vector<int64_t>& values, int64_t low, int64_t high, unsigned cells, bool is_least) {
  static constexpr std::array<const char*, 8> kLevels = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t count = std::min<size_t>(values.size(), cells);
  std::string out;
  for (size_t cell = 0; cell < count; ++cell) {
    const size_t begin = cell * values.size() / count, end = std::max(begin + 1, (cell + 1) * values.size() / count);
    int64_t value = values[begin];
    for (size_t i = begin; i < end; ++i) value = is_least ? std::min(value, values[i]) : std::max(value, values[i]);
    const double height = high == low ? 0.5 : static_cast<double>(value - low) / static_cast<double>(high - low);
    out += kLevels[static_cast<size_t>(std::lround(height * 7))];
  }
  return out;
}

void add_envelope(Page& page, const Job& job) {
  const Envelope& e = job.envelope;
  if (e.most.size() < 2 || job.larger_of_two) return;
  const int64_t low = *std::ranges::min_element(e.least), high = *std::ranges::max_element(e.most);
  const std::string points = e.exponent >= 0 ? plural(uint64_t{1} << e.exponent, "point", "points") + " a step"
                                             : "a point is " + count_text(uint64_t{1} << -e.exponent) + " steps";
  page.heading("Memory over the steps", "all ranks at each point; " + points);
  const unsigned cells = page.width() > 30 ? page.width() - 24 : 8;
  const auto line = [&](const char* name, const std::vector<int64_t>& values, bool is_least) {
    const int64_t figure = is_least ? *std::ranges::min_element(values) : *std::ranges::max_element(values);
    page.line("  " + pad_right(name, 8) + page.paint(Paint::cyan, line_of(values, low, high, cells, is_least)) + "  " +
              bytes_text(Bytes{figure}));
  };
  line("most", e.most, false);
  line("median", e.median, false);
  line("least", e.least, true);
}

void add_findings(Page& page, const Job& job) {
  if (job.findings.empty()) return;
  page.heading("Findings", "each once; bytes are the median of the ranks that have it");
  const size_t shown = std::min(job.findings.size(), page.rows());
  for (size_t i = 0; i < shown; ++i) {
    const SharedFinding& one = job.findings[i];
    page.line("  " + page.paint(Paint::bold, pad_left(bytes_text(one.median), 11)) + "  " +
              fit(one.finding.title, page.width() - 15));
    page.paragraph(std::string(15, ' '), on_ranks_text(job, one) + "; " + place_text(one.finding), Paint::dim);
  }
  if (shown < job.findings.size()) {
    page.line(page.paint(Paint::dim, "  and " + count_text(job.findings.size() - shown) + " more"));
  }
}

void add_ranks(Page& page, const Job& job) {
  std::vector<size_t> order(job.ranks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) { return job.ranks[i].device().peak; });
  const size_t shown = std::min(order.size(), page.rows());
  unsigned host = 4, mesh = 0;  // without a device mesh, that column is left out
  for (size_t i = 0; i < shown; ++i) {
    const RankSummary& rank = job.ranks[order[i]].summary;
    host = std::max(host, text::columns(rank.host));
    if (!rank.mesh_coordinate.empty()) mesh = std::max({mesh, 12U, text::columns(rank.mesh_coordinate) + 2});
  }
  host = std::min(host, 20U);
  mesh = std::min(mesh, 24U);
  const unsigned named = host + mesh;
  const unsigned room = page.width() > 40 + named ? page.width() - 28 - named : 12;
  std::vector<unsigned> widths;  // for the categories that fit
  for (unsigned taken = 0; widths.size() < job.categories.size(); taken += widths.back()) {
    const unsigned width = column_width(category_heading(job.categories[widths.size()].category));
    if (taken + width > room) break;
    widths.push_back(width);
  }
  page.heading("Ranks", count_text(shown) + " of " + count_text(job.ranks.size()) + ", the largest peak first");
  std::string head = "  " + pad_left("rank", 7) + "  " + (mesh > 0 ? pad_right("in the mesh", mesh) : "") +
                     pad_right("host", host) + pad_left("peak", kFigure);
  for (size_t i = 0; i < widths.size(); ++i) {
    head += pad_left(category_heading(job.categories[i].category), widths[i]);
  }
  page.line(page.paint(Paint::dim, head + "  end"));
  for (size_t i = 0; i < shown; ++i) {
    const Rank& rank = job.ranks[order[i]];
    const int32_t number = rank.summary.rank;
    std::string line = "  " + pad_left(number >= 0 ? std::to_string(number) : std::to_string(rank.summary.pid), 7) +
                       "  " + (mesh > 0 ? pad_right(fit(rank.summary.mesh_coordinate, mesh - 2), mesh) : "") +
                       pad_right(fit(rank.summary.host, host), host) +
                       pad_left(bytes_text(rank.device().peak), kFigure);
    for (size_t c = 0; c < widths.size(); ++c) {
      const auto& rows = rank.device().by[static_cast<size_t>(By::category)].rows;
      const auto at = std::ranges::find(rows, job.categories[c].category, &Sum::key);
      line += pad_left(at == rows.end() ? "-" : bytes_text(at->bytes), widths[c]);
    }
    page.line(line + "  " + end_text(rank.summary));
  }
}

void add_remarks(Page& page, const Job& job) {
  const std::vector<std::string> remarks = remarks_of(job);
  if (!job.left_out.empty()) {
    page.heading("Left out", plural(job.left_out.size(), "file", "files"));
    const size_t shown = std::min(job.left_out.size(), page.rows());
    for (size_t i = 0; i < shown; ++i) {
      page.paragraph("  ", job.left_out[i].file + ": " + job.left_out[i].why, Paint::yellow);
    }
    if (shown < job.left_out.size()) {
      page.line(page.paint(Paint::dim, "  and " + count_text(job.left_out.size() - shown) + " more"));
    }
  }
  if (!remarks.empty()) page.line("");
  for (const std::string& remark : remarks) page.paragraph("! ", remark, Paint::yellow);
}

}  // namespace

std::string ranks_text(const Job& job, const text::Style& style) {
  Page page(style);
  add_title(page, job);
  add_ended_badly(page, job);
  add_two_ranks(page, job);
  add_outliers(page, job);
  add_categories(page, job);
  add_envelope(page, job);
  add_findings(page, job);
  add_ranks(page, job);
  add_remarks(page, job);
  return page.take();
}

}  // namespace tapelens::ranks
