// The findings of the checks, on each device of each process.
#include "analyzer/check/patch.h"
#include "analyzer/tables/table.h"

namespace tapelens::tables {

namespace {

using Row = OfDevice<FindingRow>;

Table findings() {
  auto t = declare_rows<Row>(
      "findings", [](const Part& p) -> auto& { return p.findings(); });
  const auto of = [](auto advise::Finding::*member) {
    return [member](const Part&, const Row& row) { return row.row.finding.*member; };
  };
  const auto count = [](auto advise::Finding::*member) {
    return [member](const Part&, const Row& row) { return static_cast<int64_t>(row.row.finding.*member); };
  };
  t.column("device", [](const Part& p, const Row& row) { return p.text().device_name[row.device]; });
  t.column("finding", of(&advise::Finding::id));
  t.column("check", of(&advise::Finding::check));
  t.column("severity", [](const Part&, const Row& row) {
    return std::string_view(check::severity_name(row.row.finding.severity));
  });
  t.column("confidence", [](const Part&, const Row& row) {
    return std::string_view(row.row.finding.is_proved ? "proved" : "likely");
  });
  t.column("alternative", of(&advise::Finding::is_alternative));
  t.text("title", of(&advise::Finding::title));
  t.text("message", of(&advise::Finding::message));
  t.column("bytes", of(&advise::Finding::bytes));
  t.column("occurrences", count(&advise::Finding::occurrences));
  t.column("sites", count(&advise::Finding::sites));
  t.column("step_count", of(&advise::Finding::step_count));
  t.column("peak_before_bytes", of(&advise::Finding::peak_before));
  t.column("peak_after_bytes", of(&advise::Finding::peak_after));
  t.column("retained_at_peak_with_all_bytes", of(&advise::Finding::retained_at_peak_with_all));
  t.column("in_peak_after_all", of(&advise::Finding::is_in_all));
  t.column("entry", [](const Part&, const Row& row) { return row.row.entry; });
  t.column("node_type", of(&advise::Finding::node));
  t.column("field", of(&advise::Finding::field));
  t.column("operator_name", of(&advise::Finding::op));
  t.column("module", of(&advise::Finding::module));
  t.column("file", [](const Part&, const Row& row) { return std::string_view(row.row.finding.source.file); });
  t.column("line", [](const Part&, const Row& row) {
    const uint32_t line = row.row.finding.source.line;
    return line == 0 ? std::nullopt : std::optional(line);
  });
  t.column("function", [](const Part&, const Row& row) { return std::string_view(row.row.finding.source.function); });
  t.text("statement", of(&advise::Finding::statement));
  t.column("fix", [](const Part&, const Row& row) { return std::string_view(fix_name(row.row.finding.fix.kind)); });
  t.column("rewrite", [](const Part&, const Row& row) { return std::string_view(row.row.finding.fix.rewrite); });
  t.text("patch", [](const Part&, const Row& row) { return check::unified_diff(row.row.finding.fix.edits); });
  t.text("fix_text", [](const Part&, const Row& row) { return std::string_view(row.row.finding.fix.text); });
  return t.table();
}

}  // namespace

std::vector<Table> finding_tables() { return {findings()}; }

}  // namespace tapelens::tables
