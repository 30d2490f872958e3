// A comparison as one HTML page: the modules of both runs as an icicle, coloured by growth, and the changed groups.
// report/html/ has its skeleton, style and script.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "analyzer/compare/module_tree.h"
#include "analyzer/compare/renderings.h"
#include "analyzer/report/html/page.h"
#include "analyzer/report/html/parts.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "analyzer/text/json.h"

namespace tapelens::compare {

namespace {

using text::Json;

// Limits on a page. It counts what they leave out.
constexpr size_t kMostNodes = 4000;  // all devices together
constexpr size_t kMostDevices = 16;
constexpr size_t kMostRows = 200;                  // each table, or all tables of one kind
constexpr unsigned kName = 160, kSentence = 1000;  // columns

std::string shown(std::string_view text, unsigned columns = kSentence) {
  return text::fit(text::printable(text), columns);
}

std::string color_text(uint32_t color) {
  char out[8];
  std::snprintf(out, sizeof out, "#%06x", color);
  return out;
}

Json growths_json() {
  Json out = Json::array();
  for (size_t i = 0; i < kGrowths; ++i) {
    out.push_back({{"label", label(static_cast<Growth>(i))},
                   {"light", color_text(kGrowthOnLight[i])},
                   {"dark", color_text(kGrowthOnDark[i])}});
  }
  return out;
}

// The widest nodes of the tree. One more child of a node has the rest of its bytes.
class DrawnNodes {
 public:
  DrawnNodes(const ModuleTree& tree, size_t most) : tree_(tree), place_(tree.size(), SIZE_MAX) {
    std::vector<uint32_t> all(tree.size());
    std::iota(all.begin(), all.end(), 0U);
    // Stable: a parent is at least as wide as its children and has a lower id, so it is chosen before them.
    std::ranges::stable_sort(all, std::ranges::greater(), [&](uint32_t id) { return tree.node(id).width; });
    if (all.size() > most) all.resize(most);
    std::ranges::sort(all);
    for (size_t i = 0; i < all.size(); ++i) place_[all[i]] = i;
    for (const uint32_t id : all) add(tree.node(id), id);
    for (const uint32_t id : all) add_rest(id);
  }
  Json take() { return std::move(rows_); }
  size_t left_out() const { return left_out_; }

 private:
  void add(const ModuleTree::Node& node, uint32_t id) {
    rows_.push_back({id == ModuleTree::kRoot ? Json(nullptr) : Json(place_[node.parent]), shown(node.name, kName),
                     shown(node.before, kName), node.is_module, node.layers, node.a.value, node.b.value,
                     node.width.value, static_cast<int>(node.growth()), node.allocations_a, node.allocations_b});
  }

  void add_rest(uint32_t id) {
    ModuleTree::Node rest;
    rest.is_module = false;
    rest.parent = id;
    size_t count = 0;
    for (const uint32_t child : tree_.node(id).children) {
      if (place_[child] != SIZE_MAX) continue;
      const ModuleTree::Node& one = tree_.node(child);
      rest.a += one.a;
      rest.b += one.b;
      rest.width += one.width;
      rest.allocations_a += one.allocations_a;
      rest.allocations_b += one.allocations_b;
      ++count;
    }
    if (count == 0) return;
    left_out_ += count;
    rest.name = text::plural(count, "smaller one", "smaller ones");
    add(rest, UINT32_MAX);
  }

  const ModuleTree& tree_;
  std::vector<size_t> place_;  // by node: its row; SIZE_MAX: none
  Json rows_ = Json::array();
  size_t left_out_ = 0;
};

Json cause_json(const Cause& cause) {
  const std::string line = line_text(cause);
  if (line.empty()) return nullptr;
  return {{"line", shown(line)}, {"statement", shown(cause.statement)}, {"why", shown(cause.why)}};
}

Json groups_json(const ComparedDevice& device, By by, size_t most) {
  Json rows = Json::array();
  const std::vector<ComparedGroup> groups = changed_groups(device, by);
  for (size_t i = 0; i < std::min(groups.size(), most); ++i) {
    const ComparedGroup& group = groups[i];
    rows.push_back({shown(group_name(group, by), kName), group.a.value, group.b.value, change_name(group.change())});
  }
  const size_t left_out = groups.size() - rows.size();
  return {{"key", kByNames[static_cast<size_t>(by)]}, {"rows", std::move(rows)}, {"left_out", left_out}};
}

Json device_json(const Comparison& comparison, const ComparedDevice& device, std::span<const By> by, size_t devices) {
  DrawnNodes nodes(module_tree(device), kMostNodes / devices);
  Json groups = Json::array(), figures = Json::array();
  for (const By one : by) {
    Json table = groups_json(device, one, std::max(kMostRows / devices, size_t{10}));
    if (!table["rows"].empty()) groups.push_back(std::move(table));
  }
  for (const Metric metric : {Metric::saved, Metric::reserved, Metric::allocations}) {
    const auto before = value_of(device.a, metric), after = value_of(device.b, metric);
    if (before && after) {
      figures.push_back({{"name", figure_name(metric)}, {"text", change_text(metric, *before, *after)}});
    }
  }
  return {{"name", shown(device.name)},
          {"change", change_text(Metric::peak, device.peak_a.value, device.peak_b.value)},
          {"cause", cause_json(cause_of(comparison, device))},
          {"size", size_text(device)},
          {"figures", std::move(figures)},
          {"nodes", nodes.take()},
          {"nodes_left_out", nodes.left_out()},
          {"groups", std::move(groups)}};
}

Json findings_json(const char* title, const std::vector<KnownFinding>& findings) {
  Json rows = Json::array();
  for (size_t i = 0; i < std::min(findings.size(), kMostRows); ++i) {
    const KnownFinding& f = findings[i];
    rows.push_back({severity_name(f.severity), shown(f.title), f.bytes.value, shown(place_text(f.source))});
  }
  const size_t left_out = findings.size() - rows.size();
  return {{"title", title}, {"rows", std::move(rows)}, {"left_out", left_out}};
}

Json page_data(const Comparison& comparison, std::span<const By> by, const Rendering& how) {
  const size_t count = std::min(comparison.devices.size(), kMostDevices);
  Json devices = Json::array(), findings = Json::array(), runs = Json::array(), remarks = Json::array();
  for (size_t i = 0; i < count; ++i) devices.push_back(device_json(comparison, comparison.devices[i], by, count));
  if (comparison.devices.size() > count) {
    remarks.push_back("The page has the first " + text::plural(count, "device", "devices") + " of " +
                      text::count_text(comparison.devices.size()) + ": tapelens diff --format json has all");
  }
  for (const RunFigures* run : {&comparison.a, &comparison.b}) {
    runs.push_back({{"label", shown(run->label)}, {"file", shown(run->file)}, {"command", shown(run->command)}});
  }
  for (const std::string& remark : comparison.remarks) {
    if (remarks.size() == kMostRows) break;
    remarks.push_back(shown(remark));
  }
  if (comparison.remarks.size() > kMostRows) {
    remarks.push_back("There are more remarks: tapelens diff --format json");
  }
  for (const auto& [title, list] : {std::pair("New findings", &comparison.new_findings),
                                    std::pair("Findings that are gone", &comparison.gone_findings)}) {
    if (!list->empty()) findings.push_back(findings_json(title, *list));
  }
  const ComparedDevice& first = comparison.devices.front();
  return {{"version", how.version},
          {"title",
           shown("Peak of " + first.name + ": " + change_text(Metric::peak, first.peak_a.value, first.peak_b.value))},
          {"runs", std::move(runs)},
          {"remarks", std::move(remarks)},
          {"growths", growths_json()},
          {"devices", std::move(devices)},
          {"findings", std::move(findings)}};
}

}  // namespace

std::string diff_html(const Comparison& comparison, std::span<const By> by, const Rendering& how) {
  namespace parts = report::parts;
  const std::string data =
      text::script_json(page_data(comparison, by, how).dump(-1, ' ', false, Json::error_handler_t::replace));
  const std::string nonce = parts::nonce_of(data);
  const std::string style = std::string(parts::style) + std::string(parts::diff_style);
  const std::string script =
      std::string(parts::shared_script) + std::string(parts::icicle_script) + std::string(parts::diff_script);
  return parts::filled(parts::diff_skeleton,
                       {{"nonce", nonce}, {"style", style}, {"data", data}, {"nonce", nonce}, {"script", script}});
}

}  // namespace tapelens::compare
