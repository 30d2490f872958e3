// A verdict and a comparison as JSON.
#include "analyzer/compare/module_tree.h"
#include "analyzer/compare/renderings.h"
#include "analyzer/report/json.h"
#include "analyzer/text/json.h"

namespace tapelens::compare {

namespace {

using text::Json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json row_json(const ComparedRow& row) {
  const Row& shown = row.shown();
  return {{"change", change_name(row.change())},
          {"before_bytes", row.before().value},
          {"after_bytes", row.after().value},
          {"before_allocations", row.a ? row.a->allocations : 0},
          {"after_allocations", row.b ? row.b->allocations : 0},
          {"category", category_name(shown.kind)},
          {"held_by", holder_text(shown)},
          {"operator", shown.op},
          {"module", shown.module},
          {"source", report::frame_json(shown.source)},
          {"statement", shown.statement}};
}

Json rows_json(const std::vector<ComparedRow>& rows) {
  Json out = Json::array();
  for (const ComparedRow& row : rows) out.push_back(row_json(row));
  return out;
}

// The nodes of the tree, each after its parent; the first one is the whole.
Json modules_json(const ModuleTree& tree) {
  Json out = Json::array();
  for (uint32_t id = 0; id < tree.size(); ++id) {
    const ModuleTree::Node& node = tree.node(id);
    out.push_back({{"parent", id == ModuleTree::kRoot ? Json(nullptr) : Json(node.parent)},
                   {"name", node.name},
                   {"before_name", node.before.empty() ? Json(nullptr) : Json(node.before)},
                   {"kind", node.is_module ? "module" : "holder"},
                   {"layers", node.layers},
                   {"before_bytes", node.a.value},
                   {"after_bytes", node.b.value},
                   {"before_allocations", node.allocations_a},
                   {"after_allocations", node.allocations_b}});
  }
  return out;
}

const char* kind_name(Item::Kind kind) {
  switch (kind) {
    case Item::Kind::budget:
      return "budget";
    case Item::Kind::figure:
      return "figure";
    case Item::Kind::finding:
      break;
  }
  return "finding";
}

Json findings_json(const std::vector<KnownFinding>& findings) {
  Json out = Json::array();
  for (const KnownFinding& f : findings) {
    out.push_back({{"id", f.id},
                   {"check", f.check},
                   {"severity", severity_name(f.severity)},
                   {"title", f.title},
                   {"module", f.module},
                   {"source", report::frame_json(f.source)},
                   {"bytes", f.bytes.value},
                   {"peak_lower_by_bytes", f.gain.value}});
  }
  return out;
}

Json changes_json(const Comparison& comparison) {
  Json out = Json::array();
  for (const ChangedFile& file : comparison.changes) {
    for (const ChangedLine& line : file.lines) {
      out.push_back({{"file", file.file},
                     {"line", line.line},
                     {"change", compare::kind_name(line.kind)},
                     {"text", line.text},
                     {"before", line.old_text}});
    }
  }
  return out;
}

}  // namespace

std::string verdict_json(const GateResult& verdict, const Rendering& how) {
  Json items = Json::array();
  for (const Item& item : verdict.items) {
    items.push_back({{"kind", kind_name(item.kind)},
                     {"name", item.name},
                     {"device", item.device},
                     {"passed", item.passed},
                     {"unit", item.kind == Item::Kind::finding || is_bytes(item.metric) ? "bytes" : "allocations"},
                     {"before", or_null(item.before)},
                     {"after", item.after},
                     {"most", item.most},
                     {"message", item.message},
                     {"module", item.module},
                     {"field", item.field},
                     {"source", item.cause.where.line == 0 ? Json(nullptr) : report::frame_json(item.cause.where)},
                     {"statement", item.cause.statement},
                     {"why", item.cause.why},
                     {"increased", rows_json(item.grown)}});
  }
  return text::dumped({{"schema_version", text::kSchemaVersion},
                       {"version", std::string(how.version)},
                       {"passed", verdict.passed()},
                       {"complete", verdict.is_complete},
                       {"has_baseline", verdict.has_baseline},
                       {"checks", std::move(items)},
                       {"remarks", verdict.remarks}});
}

std::string diff_json(const Comparison& comparison, std::span<const By> by, const Rendering& how) {
  Json devices = Json::array();
  for (const ComparedDevice& device : comparison.devices) {
    Json figures = Json::object();
    for (const Metric metric : {Metric::peak, Metric::saved, Metric::reserved, Metric::allocations}) {
      figures[metric_name(metric)] = {{"before", or_null(value_of(device.a, metric))},
                                      {"after", or_null(value_of(device.b, metric))}};
    }
    Json groups = Json::object();
    for (const By one : by) {
      Json list = Json::array();
      for (const ComparedGroup& group : grouped(device, one)) {
        list.push_back({{"name", group.name},
                        {"change", change_name(group.change())},
                        {"before_bytes", group.a.value},
                        {"after_bytes", group.b.value},
                        {"before_allocations", group.allocations_a},
                        {"after_allocations", group.allocations_b}});
      }
      groups[kByNames[static_cast<size_t>(one)]] = std::move(list);
    }
    devices.push_back({{"device", device.name},
                       {"compared_peak", {{"before", device.peak_a.value}, {"after", device.peak_b.value}}},
                       {"figures", std::move(figures)},
                       {"size_ratio", device.size_ratio},
                       {"groups", std::move(groups)},
                       {"modules", modules_json(module_tree(device))},
                       {"rows", rows_json(device.rows)}});
  }
  return text::dumped({{"schema_version", text::kSchemaVersion},
                       {"version", std::string(how.version)},
                       {"devices", std::move(devices)},
                       {"new_findings", findings_json(comparison.new_findings)},
                       {"gone_findings", findings_json(comparison.gone_findings)},
                       {"changed_lines", changes_json(comparison)},
                       {"remarks", comparison.remarks}});
}

}  // namespace tapelens::compare
