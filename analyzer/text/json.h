// The JSON of every command, and a parser for JSON files that may be hostile.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tapelens::text {

using Json = nlohmann::ordered_json;
inline constexpr int kSchemaVersion = 1;

// The document of a file. Strings come from programs and need not be UTF-8.
std::string dumped(const Json& value);

// Limit on nested objects and arrays. Files of Tapelens have at most 8 levels.
inline constexpr int kDeepestJson = 64;

// Like Json::parse, but also throws a Json::exception for deeper nesting. Calls `visit` for each value that is neither
// an object nor an array. `visit` may throw a Json::exception too.
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

// ---- the document around the results of Tapelens's SARIF files

// A path of the repository, as a URI.
std::string percent_encoded(std::string_view path);
// A line of a file of the repository. `function` may be empty.
Json sarif_location(const std::string& uri, uint32_t line, const std::string& function);
Json sarif_notification(const std::string& text, const char* level);  // "note", "warning", "error"
// Arrays of rules, results and notifications.
std::string sarif_document(std::string_view version, Json rules, Json results, Json notifications);

}  // namespace tapelens::text
