#include "analyzer/fit/fit_json.h"

#include <nlohmann/json.hpp>

#include "analyzer/fit/fit_text.h"
#include "analyzer/report/json.h"

namespace tapelens::fit {
namespace {

using report::Json;

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::fits:
      return "fits";
    case Outcome::does_not_fit:
      return "does_not_fit";
    case Outcome::failed:
      return "failed";
    case Outcome::cut_off:
      break;
  }
  return "cut_off";
}

Json size_json(uint64_t size) { return size == 0 ? Json(nullptr) : Json(size); }
Json size_json(const Point* point) { return point == nullptr ? Json(nullptr) : size_json(point->size); }

Json point_json(const Point& point, Bytes memory) {
  const bool is_known = point.outcome == Outcome::fits || point.outcome == Outcome::does_not_fit;
  return {{"size", size_json(point.size)},
          {"outcome", name_of(point.outcome)},
          {"fits", is_known ? Json(point.outcome == Outcome::fits) : Json(nullptr)},
          {"allocated_bytes", point.allocated.value},
          {"reserved_bytes", point.reserved.value},
          {"headroom_bytes", point.outcome == Outcome::fits ? Json((memory - point.reserved).value) : Json(nullptr)},
          {"steps", point.steps},
          {"fewest_steps", point.fewest_steps},
          {"ended_by_tapelens", point.was_ended},
          {"exit_code", point.was_ended ? Json(nullptr) : Json(point.exit_code)},
          {"went_on", point.went_on},
          {"peak_still_grew", point.grew},
          {"why", point.why},
          {"last_words", point.last_words},
          {"was_rewritten", point.was_rewritten},
          {"rewritten", point.rewritten},
          {"duration_ns", point.duration_ns}};
}

Json series_json(const Series& series, uint64_t steps) {
  Json points = Json::array();
  for (const Point& point : series.points) points.push_back(point_json(point, series.setting.memory));
  return {{"gpu", series.setting.gpu},
          {"name", series.setting.name},
          {"memory_bytes", series.setting.memory.value},
          {"apply", series.setting.apply.empty() ? Json(nullptr) : Json(series.setting.apply)},
          {"any_fits", largest(series) != nullptr},
          {"largest", size_json(largest(series))},
          {"smallest_too_large", size_json(too_large(series))},
          {"settled", is_settled(series)},
          {"answer", answer_text(series)},
          {"remarks", remarks(series, steps)},
          {"points", std::move(points)}};
}

}  // namespace

std::string fit_json(const Fit& fit) {
  Json series = Json::array();
  for (const Series& one : fit.series) series.push_back(series_json(one, fit.steps));
  return report::dumped({{"schema_version", report::kSchemaVersion},
                         {"command", fit.command},
                         {"steps", fit.steps},
                         {"interrupted", fit.was_interrupted},
                         {"series", std::move(series)}});
}

}  // namespace tapelens::fit
