// A verdict as SARIF 2.1.0: each failed item is a result at the line that it names.
#include "analyzer/compare/renderings.h"
#include "analyzer/text/json.h"

namespace tapelens::compare {

namespace {

using text::Json;

struct Rule {
  const char *id, *title;
};
constexpr Rule kRules[] = {{"memory-budget", "a figure of memory is above its budget"},
                           {"memory-regression", "a figure of memory is above that of the baseline"},
                           {"new-finding", "memory that the baseline did not waste"}};

}  // namespace

std::string verdict_sarif(const GateResult& verdict, const Rendering& how) {
  Json rules = Json::array(), results = Json::array(), notifications = Json::array();
  for (const Rule& rule : kRules) {
    rules.push_back({{"id", rule.id},
                     {"name", rule.id},
                     {"shortDescription", {{"text", rule.title}}},
                     {"defaultConfiguration", {{"level", "error"}}},
                     {"properties", {{"tags", {"memory", "performance"}}}}});
  }
  for (const Item& item : verdict.items) {
    if (item.passed) continue;
    const auto rule = static_cast<size_t>(item.kind);
    const std::string uri = text::percent_encoded(check::in_repository(item.cause.where.file, how.tree));
    std::string message = figure_text(item) + ".";
    if (!item.cause.statement.empty()) message += " " + item.cause.statement + ".";
    if (!item.cause.why.empty()) message += " (" + item.cause.why + ")";
    for (const ComparedRow& row : item.grown) message += "\n" + row_text(row);
    if (uri.empty()) {  // GitHub refuses a file that contains a result without a location
      notifications.push_back(text::sarif_notification(failed_text(item), "error"));
      continue;
    }
    results.push_back(
        {{"ruleId", kRules[rule].id},
         {"ruleIndex", rule},
         {"level", "error"},
         {"message", {{"text", message}}},
         {"locations", Json::array({text::sarif_location(uri, item.cause.where.line, item.cause.where.function)})},
         {"partialFingerprints", {{"tapelensCheck/v1", std::string(kRules[rule].id) + " " + item.name}}},
         {"properties",
          {{"before", item.before ? Json(*item.before) : Json(nullptr)},
           {"after", item.after},
           {"most", item.most},
           {"module", item.module},
           {"field", item.field}}}});
  }
  for (const std::string& remark : verdict.remarks) {
    notifications.push_back(text::sarif_notification(remark, "note"));
  }
  return text::sarif_document(how.version, std::move(rules), std::move(results), std::move(notifications));
}

}  // namespace tapelens::compare
