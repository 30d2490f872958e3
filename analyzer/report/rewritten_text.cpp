#include <algorithm>

#include "analyzer/report/sections.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "policy/catalog.h"

namespace tapelens::report {

using text::bytes_text;
using text::cell;
using text::code;
using text::columns;
using text::count_text;
using text::Json;
using text::pad_left;
using text::pad_right;
using text::Page;
using text::Paint;
using text::plural;

namespace {

std::string total_times(const peak::RewrittenTotal& total) {
  return "at " + plural(total.sites, "site", "sites") + ", " + plural(total.times, "time", "times");
}

Json total_json(const peak::RewrittenTotal& total) {
  Json json = {{"rewrite", total.rewrite}, {"level", total.level}};
  if (!total.reason.empty()) json["reason"] = total.reason;
  json.update({{"sites", total.sites}, {"times", total.times}, {"bytes", total.bytes.value}});
  if (total.reason.empty()) json["kept_bytes"] = total.kept.value;
  return json;
}

}  // namespace

void add_rewritten(Page& page, const peak::Rewritten& rewritten) {
  if (!rewritten.any()) return;
  page.heading("Rewritten", "the most at one moment, each storage once");
  unsigned width = 0;
  for (const auto* totals : {&rewritten.applied, &rewritten.skipped})
    for (const peak::RewrittenTotal& total : *totals) width = std::max(width, columns(total.rewrite));
  for (const peak::RewrittenTotal& total : rewritten.applied) {
    page.line("  " + pad_right(total.rewrite, width) + pad_left(bytes_text(total.bytes), 11) + " kept as " +
              pad_left(bytes_text(total.kept), 10) + "  " +
              page.paint(Paint::dim, std::string(policy::level_name(total.level)) + ", " + total_times(total)));
  }
  for (const peak::RewrittenTotal& total : rewritten.skipped) {
    page.paragraph("  " + pad_right(total.rewrite, width) + pad_left(bytes_text(total.bytes), 11) + " ",
                   "left as they were " + total_times(total) + ": " + total.reason, Paint::dim);
  }
}

std::string rewritten_table(const peak::Rewritten& rewritten) {
  if (!rewritten.any()) return "";
  std::string out = "\n| rewritten | bytes | kept as | sites | |\n|:--|--:|--:|--:|:--|\n";
  for (const peak::RewrittenTotal& total : rewritten.applied) {
    out += "| " + code(total.rewrite) + " | " + bytes_text(total.bytes) + " | " + bytes_text(total.kept) + " | " +
           count_text(total.sites) + " | " + std::string(policy::level_name(total.level)) + " |\n";
  }
  for (const peak::RewrittenTotal& total : rewritten.skipped) {
    out += "| " + code(total.rewrite) + " | " + bytes_text(total.bytes) + " | not rewritten | " +
           count_text(total.sites) + " | " + cell(total.reason) + " |\n";
  }
  return out;
}

Json rewritten_json(const peak::Rewritten& rewritten, Bytes saved_peak) {
  Json applied = Json::array(), skipped = Json::array(), sites = Json::array();
  for (const peak::RewrittenTotal& total : rewritten.applied) applied.push_back(total_json(total));
  for (const peak::RewrittenTotal& total : rewritten.skipped) skipped.push_back(total_json(total));
  for (const peak::RewrittenSite& site : rewritten.sites) {
    sites.push_back({{"rewrite", site.rewrite},
                     {"level", site.level},
                     {"reason", site.reason},
                     {"module", site.module},
                     {"operator", site.op},
                     {"node", site.node},
                     {"field", site.field},
                     {"source", {{"file", site.file}, {"line", site.line}, {"function", site.function}}},
                     {"times", site.times}});
  }
  return {{"applied", std::move(applied)},        {"skipped", std::move(skipped)},
          {"bytes", rewritten.all.bytes.value},   {"kept_bytes", rewritten.all.kept.value},
          {"saved_peak_bytes", saved_peak.value}, {"sites", std::move(sites)}};
}

}  // namespace tapelens::report
