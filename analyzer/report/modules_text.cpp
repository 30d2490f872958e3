// The tables of modules for people: text, Markdown, JSON.
#include <algorithm>

#include "analyzer/report/json.h"
#include "analyzer/report/sections.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::bytes_text;
using text::cell;
using text::code;
using text::count_text;
using text::Json;
using text::pad_left;
using text::pad_right;
using text::Page;
using text::Paint;

namespace {

using Kinds = std::vector<peak::HolderKind>;

Bytes of(const ModuleRow& row, peak::HolderKind kind) { return row.by_kind[static_cast<size_t>(kind)]; }

// The columns with the most bytes, as many as fit, in their order.
Kinds fitting(const std::vector<ModuleTable>& tables, const Kinds& kinds, size_t most) {
  if (kinds.size() <= most) return kinds;
  std::vector<std::pair<int64_t, peak::HolderKind>> by_bytes;
  for (const peak::HolderKind kind : kinds) {
    int64_t largest = 0;
    for (const ModuleTable& table : tables) {
      int64_t sum = of(table.rest, kind).value;
      for (const ModuleRow& row : table.rows) sum += of(row, kind).value;
      largest = std::max(largest, sum);
    }
    by_bytes.emplace_back(largest, kind);
  }
  std::ranges::stable_sort(by_bytes, std::ranges::greater(), [](const auto& one) { return one.first; });
  by_bytes.resize(most - 1);  // one column is for the rest
  Kinds out;
  for (const peak::HolderKind kind : kinds) {
    if (std::ranges::find(by_bytes, kind, [](const auto& one) { return one.second; }) != by_bytes.end()) {
      out.push_back(kind);
    }
  }
  return out;
}

constexpr unsigned kWidestName = 1000;

std::string remark_of(const ModuleTable& table, const ModuleLines& lines, size_t tables) {
  std::string remark = table.is_chosen && tables > 1 ? "the peak" : "";
  if (!lines.parent.empty()) remark += (remark.empty() ? "modules below " : "; modules below ") + lines.parent;
  return remark;
}

std::string rest_text(const ModuleLines& lines) { return "and " + count_text(lines.rest.modules) + " more"; }

std::string cell_text(Bytes bytes) { return bytes == Bytes{} ? "-" : bytes_text(bytes); }

}  // namespace

void add_modules(Page& page, const std::vector<ModuleTable>& tables) {
  constexpr unsigned kNarrowestName = 22;
  const unsigned figure = column_width("all");
  const auto width_of = [](peak::HolderKind kind) { return column_width(heading(kind)); };
  const Kinds all = columns_of(tables);
  std::vector<ModuleLines> shown;
  unsigned width = kNarrowestName;
  for (const ModuleTable& table : tables) {
    shown.push_back(lines_of(table, page.rows()));
    for (const auto& line : shown.back().lines) width = std::max(width, text::columns(name_text(line, kWidestName)));
  }
  // Names are worth more than figures of small categories, which share a column.
  const unsigned least = std::clamp(width, kNarrowestName, std::max(kNarrowestName, page.width() * 2 / 5));
  unsigned beside = 2 + least;  // width beside the figures, and extra width of wide columns
  for (const peak::HolderKind kind : all) beside += width_of(kind) - figure;
  const unsigned fit_in = page.width() > beside ? (page.width() - beside) / figure : 0;
  const size_t room = std::max(3U, fit_in) - 1;  // without the sum
  const Kinds kinds = fitting(tables, all, room);
  const bool has_rest = kinds.size() < all.size();
  unsigned taken = 2 + figure + (has_rest ? figure : 0);
  for (const peak::HolderKind kind : kinds) taken += width_of(kind);
  width = std::min(width, page.width() > taken + least ? page.width() - taken : least);
  for (size_t i = 0; i < tables.size(); ++i) {
    const ModuleTable& table = tables[i];
    const ModuleLines& lines = shown[i];
    page.heading(title_text(table), remark_of(table, lines, tables.size()));
    std::string head = "  " + pad_right("module", width) + pad_left("all", figure);
    for (const peak::HolderKind kind : kinds) head += pad_left(heading(kind), width_of(kind));
    if (has_rest) head += pad_left("the rest", figure);
    page.line(page.paint(Paint::dim, head));
    const auto line = [&](const ModuleRow& row, const std::string& name, Paint paint) {
      std::string text = "  " + pad_right(name, width) + pad_left(bytes_text(row.bytes), figure);
      Bytes rest = row.bytes;
      for (const peak::HolderKind kind : kinds) {
        text += pad_left(cell_text(of(row, kind)), width_of(kind));
        rest = rest - of(row, kind);
      }
      if (has_rest) text += pad_left(cell_text(rest), figure);
      page.line(page.paint(paint, text));
    };
    for (const auto& one : lines.lines) line(one.row, name_text(one, width), Paint::plain);
    if (lines.rest.modules > 0) line(lines.rest.row, rest_text(lines), Paint::plain);
    line(lines.all, "all", Paint::bold);
  }
}

std::string modules_markdown(const std::vector<ModuleTable>& tables, size_t rows) {
  const Kinds kinds = columns_of(tables);
  std::string out;
  for (const ModuleTable& table : tables) {
    const ModuleLines lines = lines_of(table, rows);
    out += "\n**" + cell(title_text(table)) + "**\n\n| module" +
           (lines.parent.empty() ? "" : " below " + code(lines.parent)) + " | all |";
    for (const peak::HolderKind kind : kinds) out += " " + cell(heading(kind)) + " |";
    out += "\n|:--|--:|";
    for (size_t i = 0; i < kinds.size(); ++i) out += "--:|";
    out += "\n";
    const auto line = [&](const ModuleRow& row, const std::string& name) {
      out += "| " + name + " | " + bytes_text(row.bytes) + " |";
      for (const peak::HolderKind kind : kinds) out += " " + cell_text(of(row, kind)) + " |";
      out += "\n";
    };
    for (const auto& one : lines.lines) {
      line(one.row, code(one.row.module) + (one.modules > 1 ? " x" + count_text(one.modules) : ""));
    }
    if (lines.rest.modules > 0) line(lines.rest.row, rest_text(lines));
    line(lines.all, "all");
  }
  return out;
}

Json modules_json(const std::vector<ModuleTable>& tables) {
  Json out = Json::array();
  for (const ModuleTable& table : tables) {
    Json rows = Json::array();
    for (const ModuleRow& row : table.rows) {
      Json by_category = Json::array();
      for (size_t kind = 0; kind < peak::kHolderKinds; ++kind) {
        if (row.by_kind[kind] == Bytes{}) continue;
        by_category.push_back(
            {{"name", category_name(static_cast<peak::HolderKind>(kind))}, {"bytes", row.by_kind[kind].value}});
      }
      rows.push_back({{"module", row.module},
                      {"bytes", row.bytes.value},
                      {"allocations", row.allocations},
                      {"by_category", std::move(by_category)}});
    }
    out.push_back({{"phase", phase_name(table.phase)},
                   {"is_peak", table.is_chosen},
                   {"bytes", table.bytes.value},
                   {"time_ns", table.when.time.ns},
                   {"step", table.step},
                   {"rows", std::move(rows)},
                   {"rows_left_out", {{"count", table.rows_left_out}, {"bytes", table.rest.bytes.value}}}});
  }
  return out;
}

}  // namespace tapelens::report
