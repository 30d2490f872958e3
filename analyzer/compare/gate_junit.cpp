// A verdict as JUnit XML: one test case an item.
#include <utility>

#include "analyzer/compare/renderings.h"
#include "analyzer/text/junit.h"

namespace tapelens::compare {

namespace {

const char* class_of(Item::Kind kind) {
  switch (kind) {
    case Item::Kind::budget:
      return "tapelens.budget";
    case Item::Kind::figure:
      return "tapelens.baseline";
    case Item::Kind::finding:
      break;
  }
  return "tapelens.finding";
}

text::JunitCase case_of(const Item& item, const Rendering& how) {
  text::JunitCase out{.class_name = class_of(item.kind), .name = item.name, .failure = {}};
  if (item.passed) return out;
  text::JunitCase::Failure failure;
  if (item.cause.where.line != 0) {
    const std::string within = check::in_repository(item.cause.where.file, how.tree);
    failure.file = within.empty() ? item.cause.where.file : within;
    failure.line = item.cause.where.line;
  }
  failure.message = failed_text(item);
  failure.details.push_back(item.cause.why);
  for (const ComparedRow& row : item.grown) failure.details.push_back(row_text(row));
  out.failure = std::move(failure);
  return out;
}

}  // namespace

std::string verdict_junit(const GateResult& verdict, const Rendering& how) {
  std::vector<text::JunitCase> cases;
  for (const Item& item : verdict.items) cases.push_back(case_of(item, how));
  return text::junit_document("tapelens check", cases, verdict.remarks);
}

}  // namespace tapelens::compare
