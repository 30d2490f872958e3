#include "analyzer/fit/fit_json.h"

#include <nlohmann/json.hpp>

#include "analyzer/fit/fit_text.h"
#include "analyzer/text/json.h"

namespace tapelens::fit {
namespace {

using text::Json;

const char* name_of(Outcome outcome) {
  if (outcome == Outcome::measured) return "fits";
  return outcome == Outcome::out_of_memory ? "does_not_fit" : experiment::outcome_name(outcome);
}

Json size_json(uint64_t size) { return size == 0 ? Json(nullptr) : Json(size); }
Json size_json(const Point* point) { return point == nullptr ? Json(nullptr) : size_json(point->size); }

Json point_json(const Point& point, Bytes memory) {
  const experiment::Measurement& measured = point.measured;
  const bool fits = point.outcome == Outcome::measured;
  return {{"size", size_json(point.size)},
          {"outcome", name_of(point.outcome)},
          {"fits", point.is_unknown() ? Json(nullptr) : Json(fits)},
          {"allocated_bytes", measured.allocated.value},
          {"reserved_bytes", measured.reserved.value},
          {"headroom_bytes", fits ? Json((memory - measured.reserved).value) : Json(nullptr)},
          {"steps", measured.optimizer_steps},
          {"fewest_steps", measured.fewest_optimizer_steps},
          {"ended_by_tapelens", point.was_ended},
          {"exit_code", point.was_ended ? Json(nullptr) : Json(point.exit_code)},
          {"went_on", point.went_on},
          {"peak_still_grew", measured.grew},
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
  return text::dumped({{"schema_version", text::kSchemaVersion},
                       {"command", fit.command},
                       {"steps", fit.steps},
                       {"interrupted", fit.was_interrupted},
                       {"series", std::move(series)}});
}

}  // namespace tapelens::fit
