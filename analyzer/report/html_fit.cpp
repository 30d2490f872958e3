// The part of a page about memory against added time: html/fit.js draws it.
#include <algorithm>

#include "analyzer/plan/curve.h"
#include "analyzer/plan/plan_text.h"
#include "analyzer/report/html.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::report {
namespace {

using text::Json;

constexpr size_t kMostLayers = 3;    // in one row
constexpr unsigned kColumns = 1000;  // for a command

std::string shown(const std::string& text) { return text::fit(text::printable(text), kColumns); }

Json layers_json(const std::vector<plan::Layer>& layers) {
  Json rows = Json::array();
  for (size_t i = 0; i < std::min(layers.size(), kMostLayers); ++i) rows.push_back(shown(plan::layer_text(layers[i])));
  if (layers.size() > kMostLayers) rows.push_back("and " + std::to_string(layers.size() - kMostLayers) + " more");
  return rows;
}

}  // namespace

Json fit_data(const Report& r) {
  if (!r.fit.is_worth()) return nullptr;
  Json points = Json::array();
  for (const plan::CurvePoint& point : r.fit.points) {
    points.push_back(
        {{"name", plan::name_of(point.choice)},
         {"bytes", point.bytes.value},
         {"added", point.added},
         {"added_text", plan::added_text(r.fit, point)},
         {"layers", layers_json(point.layers)},
         {"command",
          point.choice.level.empty() ? Json(nullptr) : Json(shown(plan::fit_command(point, r.recording.command)))}});
  }
  return {{"memory", r.fit.is_reserved ? "reserved memory" : "peak"},
          {"time", r.fit.is_estimated ? "added compute, estimated" : "added time"},
          {"note", std::string(plan::kCurveNote)},
          {"points", std::move(points)}};
}

}  // namespace tapelens::report
