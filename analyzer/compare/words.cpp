#include <cstdio>
#include <cstdlib>

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
