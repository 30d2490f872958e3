#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "analyzer/compare/renderings.h"
#include "analyzer/report/categories.h"
#include "analyzer/text/format.h"

namespace tapelens::compare {

using text::bytes_text;

std::string signed_text(Bytes bytes) {
  if (bytes == Bytes{}) return "0 B";
  return (bytes < Bytes{} ? "-" : "+") + bytes_text(Bytes{std::abs(bytes.value)});
}

std::string percent_change(int64_t before, int64_t after) {
  if (before == 0) return "";
  char text[32];
  const double share = static_cast<double>(after - before) / static_cast<double>(before);
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * share);
  return text;
}

std::string change_text(Metric metric, int64_t before, int64_t after) {
  const std::string first = value_text(metric, before);
  if (before == after) return first + ", the same";
  const std::string share = percent_change(before, after);
  const std::string change = is_bytes(metric) ? signed_text(Bytes{after - before})
                                              : (before < after ? "+" : "") + std::to_string(after - before);
  return first + " -> " + value_text(metric, after) + " (" + change + (share.empty() ? "" : ", " + share) + ")";
}

std::string figure_name(Metric metric) {
  return metric == Metric::saved         ? "saved peak"
         : metric == Metric::allocations ? "allocations a step"
                                         : metric_name(metric);
}

std::vector<ComparedGroup> changed_groups(const ComparedDevice& device, By by) {
  std::vector<ComparedGroup> groups = grouped(device, by);
  std::erase_if(groups, [](const ComparedGroup& group) { return group.change() == Change::same; });
  return groups;
}

std::string group_name(const ComparedGroup& group, By by) {
  return by == By::field || by == By::category ? report::group_text(group.name) : group.name;
}

std::string size_text(const ComparedDevice& device) {
  if (device.size_ratio == 1) return "";
  const auto scaled = static_cast<int64_t>(static_cast<double>(device.a.saved.value) * device.size_ratio);
  return "At the sizes of B the saved tensors of A would be " + bytes_text(Bytes{scaled}) + "; B has " +
         bytes_text(device.b.saved) + ".";
}

Cause cause_of(const Comparison& comparison, const ComparedDevice& device) {
  return device.peak_b > device.peak_a ? cause_of(comparison, device.grown()) : Cause{};
}

std::string figure_text(const Item& item) {
  if (item.kind == Item::Kind::finding) return item.name + ", " + bytes_text(Bytes{item.after}) + ", " + item.message;
  if (!item.message.empty()) return item.name + ": " + item.message;
  const std::string after = value_text(item.metric, item.after), most = "at most " + value_text(item.metric, item.most);
  if (!item.before) return item.name + ": " + after + " (" + most + ")";
  const int64_t difference = item.after - *item.before;
  const std::string change =
      is_bytes(item.metric) ? signed_text(Bytes{difference}) : (difference > 0 ? "+" : "") + std::to_string(difference);
  const std::string share = percent_change(*item.before, item.after);
  return item.name + " " + value_text(item.metric, *item.before) + " -> " + after + " (" + change +
         (share.empty() ? "" : ", " + share) + "; " + most + ")";
}

std::string line_text(const Cause& cause) {
  if (cause.where.line == 0) return "";
  return cause.where.file.substr(cause.where.file.rfind('/') + 1) + ":" + std::to_string(cause.where.line);
}

std::string failed_text(const Item& item) {
  const std::string line = line_text(item.cause);
  return (line.empty() ? "" : line + ": ") + figure_text(item) +
         (item.cause.statement.empty() ? "" : ": " + item.cause.statement);
}

std::string row_text(const ComparedRow& row) {
  const Row& shown = row.shown();
  return "  " + text::pad_left(signed_text(row.difference()), 11) + "  " +
         text::pad_right(bytes_text(row.before()) + " -> " + bytes_text(row.after()), 22) + "  " +
         text::pad_right(change_name(row.change()), 9) + "  " + report::group_text(holder_text(shown)) + "  " +
         (shown.module.empty() ? shown.op : shown.module) + "  " + place_text(shown.source);
}

}  // namespace tapelens::compare
