
#include <nlohmann/json.hpp>

#include "analyzer/compile_budget/renderings.h"
#include "analyzer/text/json.h"

namespace tapelens::compile_budget {
namespace {

using text::Json;

Json name_of(Stop stop) {
  switch (stop) {
    case Stop::none:
      break;
    case Stop::nothing_compiled:
      return "nothing_compiled";
    case Stop::set_by_program:
      return "set_by_program";
    case Stop::cannot_be_set:
      return "cannot_be_set";
    case Stop::first_failed:
      return "first_failed";
    case Stop::interrupted:
      return "interrupted";
  }
  return nullptr;
}

Json budget_json(const Point* point) { return point == nullptr ? Json(nullptr) : Json(point->budget); }

Json point_json(const Sweep& sweep, const Point& point) {
  const Measurement& measured = point.measured;
  const bool is_known = is_measured(point);
  const auto known = [&](auto value) { return is_known ? Json(value) : Json(nullptr); };
  const auto time = [&](int64_t ns) { return is_known && ns > 0 ? Json(ns) : Json(nullptr); };
  return {{"budget", point.budget},
          {"outcome", experiment::outcome_name(point.outcome)},
          {"peak_bytes", known(measured.peak.value)},
          {"change_bytes", is_known ? Json((measured.peak - base(sweep)->measured.peak).value) : Json(nullptr)},
          {"lowers_peak", known(&point != base(sweep) && no_lower_than(sweep, point) == nullptr)},
          {"no_lower_than", budget_json(no_lower_than(sweep, point))},
          {"phase", known(model::phase_name(measured.phase))},
          {"peak_step", known(measured.peak_step)},
          {"later_peak_bytes", known(measured.later_peak.value)},
          {"step_ns", time(measured.step_ns)},
          {"shortest_step_ns", time(measured.least_step_ns)},
          {"longest_step_ns", time(measured.most_step_ns)},
          {"step_change_is_noise", known(base(sweep) != nullptr && is_time_noise(sweep, point))},
          {"kept_bytes", known(measured.kept.bytes.value)},
          {"saves", known(measured.kept.saves)},
          {"graphs", known(measured.kept.graphs)},
          {"budgets_in_effect", measured.in_effect},
          {"steps", measured.steps},
          {"ended_by_tapelens", point.was_ended},
          {"exit_code", point.was_ended ? Json(nullptr) : Json(point.exit_code)},
          {"why", why_text(point)},
          {"last_words", point.last_words},
          {"duration_ns", point.duration_ns}};
}

}  // namespace

std::string budget_json(const Sweep& sweep) {
  Json points = Json::array();
  for (const Point& point : sweep.points) points.push_back(point_json(sweep, point));
  const Point* with = base(sweep);
  return text::dumped({{"schema_version", text::kSchemaVersion},
                       {"command", sweep.command},
                       {"steps", sweep.steps},
                       {"stopped", name_of(sweep.stop)},
                       {"device", with == nullptr ? Json(nullptr) : Json(with->measured.device)},
                       {"compared_with", budget_json(with)},
                       {"knee", budget_json(knee(sweep))},
                       {"lowest", budget_json(lowest(sweep))},
                       {"answer", answer_text(sweep)},
                       {"remarks", remarks(sweep)},
                       {"points", std::move(points)}});
}

}  // namespace tapelens::compile_budget
