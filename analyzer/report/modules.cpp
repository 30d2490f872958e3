#include "analyzer/report/modules.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "analyzer/model/steps.h"
#include "analyzer/peak/keys.h"
#include "analyzer/report/categories.h"
#include "analyzer/report/detail.h"
#include "analyzer/text/format.h"
#include "analyzer/text/names.h"

namespace tapelens::report {

using text::bytes_text;
using text::columns;

namespace {

using model::Interval;
using model::Phase;

// The most bytes first, then the natural order of names.
bool comes_first(const ModuleRow& a, const ModuleRow& b) {
  return a.bytes != b.bytes ? a.bytes > b.bytes : text::natural_less(a.module, b.module);
}

ModuleTable table_of(const peak::Analysis& analysis, const peak::PeakSet& set, const Options& options) {
  ModuleTable out;
  out.bytes = set.bytes;
  out.when = set.when;
  out.step = step_index_at(analysis.steps(), out.when.time);
  out.phase = analysis.phases().at(out.when.time);
  out.by_category = categories(set);
  peak::Keys keys(analysis.process(), analysis.text(), analysis.steps(), peak::By::module);
  std::map<uint64_t, ModuleRow> by_key;
  for (const peak::Member& member : set.members) {
    const peak::Holder& holder = peak::main_holder(set.holders_of(member));
    ModuleRow one;
    one.bytes = one.largest_bytes = member.bytes;
    one.allocations = 1;
    one.largest = member.allocation;
    one.by_kind[static_cast<size_t>(holder.kind)] = member.bytes;
    by_key[keys.key(member.allocation, holder)].add(one);
  }
  std::vector<uint64_t> all;
  for (const auto& [key, row] : by_key) all.push_back(key);
  std::map<std::string, ModuleRow> by_name;
  for (const auto& [key, name] : keys.names(all)) {
    by_name[std::string(module_at(name, options.depth))].add(by_key.at(key));
  }
  for (auto& [name, row] : by_name) {
    row.module = name;
    out.rows.push_back(std::move(row));
  }
  std::ranges::sort(out.rows, comes_first);
  const size_t top = options.keeps_equal ? SIZE_MAX : options.top.value_or(SIZE_MAX);
  for (; out.rows.size() > top; out.rows.pop_back()) {
    out.rest.add(out.rows.back());
    ++out.rows_left_out;
  }
  return out;
}

// The interval of the report, without omitted older steps, for which the holders of memory are unknown.
Interval looked_at(const peak::Analysis& analysis, const At& at) {
  const Interval whole{analysis.since(), model::kNever};
  if (at.kind != At::Kind::step) return whole;
  for (const model::Step& step : analysis.steps()) {
    if (step.index == at.step) return {std::max(step.when.begin, whole.begin), step.when.end};
  }
  return whole;
}

}  // namespace

std::string_view module_at(std::string_view path, std::optional<unsigned> depth) {
  if (!depth || path.starts_with('(')) return path;
  size_t end = path.find('.');
  for (unsigned level = 0; level < *depth && end != std::string_view::npos; ++level) end = path.find('.', end + 1);
  return path.substr(0, end);
}

std::vector<ModuleTable> describe_modules(const peak::DeviceAnalysis& device, const peak::PeakSet& set,
                                          const Options& options) {
  const peak::Analysis& analysis = device.of();
  std::vector<ModuleTable> tables;
  if (options.at.kind == At::Kind::peak || options.at.kind == At::Kind::step) {
    const Interval all = looked_at(analysis, options.at);
    const Phase chosen_phase = analysis.phases().at(set.when.time);
    std::map<Phase, peak::Timeline::Extreme> most;
    for (const model::Bands::Band& part : bands(analysis.process(), analysis.steps(), analysis.phases()).phases) {
      const Interval when{std::max(part.when.begin, all.begin), std::min(part.when.end, all.end)};
      if (when.end <= when.begin) continue;
      const peak::Timeline::Extreme here = device.timeline().largest(when);
      const auto [at, is_first] = most.try_emplace(part.phase, here);
      if (!is_first && here.bytes > at->second.bytes) at->second = here;
    }
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer}) {
      const auto at = most.find(phase);
      if (at == most.end() || at->second.bytes == Bytes{}) continue;
      // A phase's peak may be at its begin, and then equal the end of the phase before.
      const bool is_chosen = chosen_phase == phase && at->second.when.last_allocation == set.when.last_allocation &&
                             at->second.when.last_free == set.when.last_free;
      tables.push_back(table_of(
          analysis, is_chosen ? set : peak_set(analysis.process(), analysis.text(), device.device(), at->second.when),
          options));
      tables.back().phase = phase;
      tables.back().is_chosen = is_chosen;
    }
  }
  if (std::ranges::none_of(tables, &ModuleTable::is_chosen)) {
    tables.insert(tables.begin(), table_of(analysis, set, options));
    tables.front().is_chosen = true;
  }
  return tables;
}

ModuleLines lines_of(const ModuleTable& table, size_t most) {
  ModuleLines out;
  std::map<std::array<model::Bytes, peak::kHolderKinds>, size_t> kinds;
  std::vector<text::NamedRow> named;
  for (const ModuleRow& row : table.rows) {
    named.push_back({row.module, kinds.try_emplace(row.by_kind, kinds.size()).first->second});
    out.all.add(row);
  }
  out.all.add(table.rest);
  for (text::EqualRows& equal : text::equal_rows(named)) {
    ModuleLines::Line& line = out.lines.emplace_back();
    for (const size_t at : equal.rows) line.row.add(table.rows[at]);
    line.row.module = std::move(equal.name);
    line.modules = equal.rows.size();
  }
  std::ranges::sort(out.lines, comes_first, &ModuleLines::Line::row);
  out.rest = {table.rest, table.rows_left_out};
  for (; out.lines.size() > most; out.lines.pop_back()) {
    out.rest.row.add(out.lines.back().row);
    out.rest.modules += out.lines.back().modules;
  }
  std::vector<std::string_view> names;
  for (const ModuleLines::Line& line : out.lines) names.push_back(line.row.module);
  out.parent = text::common_path(names);
  for (ModuleLines::Line& line : out.lines) line.row.module = text::below(line.row.module, out.parent);
  return out;
}

std::string name_text(const ModuleLines::Line& line, unsigned width) {
  if (line.modules < 2) return text::fit_path(line.row.module, width);
  const std::string times = "  x" + text::count_text(line.modules);
  return text::fit_path(line.row.module, width - std::min(width, columns(times))) + times;
}

std::string module_heading(const ModuleLines& lines) {
  return lines.parent.empty() ? "module" : "module below " + lines.parent;
}

std::vector<peak::HolderKind> columns_of(const std::vector<ModuleTable>& tables) {
  std::vector<peak::HolderKind> kinds;
  for (size_t i = 0; i < peak::kHolderKinds; ++i) {
    const auto has = [&](const ModuleRow& row) { return row.by_kind[i] != Bytes{}; };
    const auto has_any = [&](const ModuleTable& table) {
      return has(table.rest) || std::ranges::any_of(table.rows, has);
    };
    if (std::ranges::any_of(tables, has_any)) kinds.push_back(static_cast<peak::HolderKind>(i));
  }
  const auto place = [](peak::HolderKind kind) {
    if (kind == peak::HolderKind::save) return 1;
    if (kind <= peak::HolderKind::buffer) return 0;      // the roles
    return kind < peak::HolderKind::recomputed ? 1 : 2;  // other memory kept for the backward
  };
  std::ranges::stable_sort(kinds, {}, place);
  return kinds;
}

std::string heading(peak::HolderKind kind) {
  switch (kind) {
    case peak::HolderKind::checkpointing:
      return "checkpoints";
    case peak::HolderKind::context:
      return "on ctx";
    case peak::HolderKind::op:
      return "temporaries";
    case peak::HolderKind::allocator:
      return "freed";
    case peak::HolderKind::unknown:
      return "not known";
    default:
      break;
  }
  const std::string_view words = label(kind);
  return std::string(words.substr(0, words.find(' ')));
}

unsigned column_width(std::string_view heading) { return std::max(12U, columns(heading) + 1); }

std::string title_text(const ModuleTable& table) {
  std::string phase = table.phase == Phase::other ? "outside of phases" : phase_name(table.phase);
  phase.front() = static_cast<char>(toupper(phase.front()));
  return phase + ": " + (table.is_chosen ? "" : "at most ") + bytes_text(table.bytes) + ", in step " +
         std::to_string(table.step);
}

}  // namespace tapelens::report
