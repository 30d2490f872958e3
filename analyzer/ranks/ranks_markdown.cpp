#include <algorithm>

#include "analyzer/ranks/renderings.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::ranks {

using text::bytes_text;
using text::cell;
using text::code;
using text::count_text;

namespace {

std::string more(size_t all, size_t shown) { return shown < all ? "\nand " + count_text(all - shown) + " more\n" : ""; }

}  // namespace

std::string ranks_markdown(const Job& job, const text::Style& style) {
  const size_t rows = style.rows;
  std::string out = "### Memory of " + count_of_ranks(job) + "\n\nPeak on " + code(job.device_type) + ": " +
                    cell(peak_text(job)) + ". " + code(job.command) + ", PyTorch " + code(job.torch_version) + "\n";
  if (!job.simulated_gpu.empty()) out += "\n> **Simulated:** " + cell(job.simulated_gpu) + "\n";
  if (job.larger_of_two) out += "\n" + cell(two_ranks_text(job)) + "\n";
  if (!job.ended_badly.empty()) out += "\n**Did not end well**\n\n";
  for (size_t i = 0; i < std::min(rows, job.ended_badly.size()); ++i) {
    out += "- " + cell(name_on_host(job.ended_badly[i].first) + ": " + job.ended_badly[i].second) + "\n";
  }
  out += more(job.ended_badly.size(), std::min(rows, job.ended_badly.size()));
  if (const std::string missing = missing_text(job); !missing.empty()) out += "\n" + cell(missing) + "\n";
  if (!job.outliers.empty()) out += "\n**Ranks that stand out**\n\n";
  for (size_t i = 0; i < std::min(rows, job.outliers.size()); ++i) {
    const Outlier& one = job.outliers[i];
    out += "- " + cell(name_on_host(job.ranks[one.rank]) + ": " + outlier_text(job, one)) + "\n";
    for (const Reason& reason : one.reasons) {
      out += std::string("  - ") + kByNames[static_cast<size_t>(reason.by)] + ": " + cell(reason_text(reason)) + "\n";
    }
  }
  out += more(job.outliers.size(), std::min(rows, job.outliers.size()));
  if (!job.larger_of_two) out += "\n| at the peak of a rank | least | median | most |\n|:--|--:|--:|--:|\n";
  for (const CategoryRange& range : job.categories) {
    if (job.larger_of_two) break;
    out += "| " + cell(category_label(range.category)) + " | " + bytes_text(range.least) + " | " +
           bytes_text(range.median) + " | " + bytes_text(range.most) + " |\n";
  }
  if (!job.findings.empty()) out += "\n| finding | ranks | bytes, median | where |\n|:--|:--|--:|:--|\n";
  for (size_t i = 0; i < std::min(rows, job.findings.size()); ++i) {
    const SharedFinding& one = job.findings[i];
    out += "| " + cell(one.finding.title) + " | " + cell(on_ranks_text(job, one)) + " | " + bytes_text(one.median) +
           " | " + code(place_text(one.finding)) + " |\n";
  }
  out += more(job.findings.size(), std::min(rows, job.findings.size()));
  for (size_t i = 0; i < std::min(rows, job.left_out.size()); ++i) {
    out += "\n> Left out: " + code(job.left_out[i].file) + ": " + cell(job.left_out[i].why) + "\n";
  }
  out += more(job.left_out.size(), std::min(rows, job.left_out.size()));
  for (const std::string& remark : remarks_of(job)) out += "\n> " + cell(remark) + "\n";
  return out;
}

}  // namespace tapelens::ranks
