// Parses JSON files that may be hostile.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace tapelens::report {

// Objects and arrays within one another. Files of Tapelens have at most 8 levels.
inline constexpr int kDeepestJson = 64;

// As Json::parse, and throws a Json::exception as that does: also of deeper nesting. `visit` is called with each value
// that is neither an object nor an array, and may throw one too.
template <class Json, class Visit>
Json parse_bounded(std::string_view text, Visit visit) {
  using Event = typename Json::parse_event_t;
  return Json::parse(text.begin(), text.end(), [&visit](int depth, Event event, Json& value) {
    if (depth >= kDeepestJson && (event == Event::object_start || event == Event::array_start))
      throw Json::out_of_range::create(408, "more than 64 objects and arrays within one another", &value);
    if (event == Event::value) visit(value);
    return true;
  });
}
template <class Json>
Json parse_bounded(std::string_view text) {
  return parse_bounded<Json>(text, [](const Json&) {});
}

}  // namespace tapelens::report
