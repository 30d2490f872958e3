// The document around the results of Tapelens's SARIF files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/text/json.h"

namespace tapelens::text {

// A path of the repository, as a URI.
std::string percent_encoded(std::string_view path);
// A line of a file of the repository. `function` may be empty.
Json sarif_location(const std::string& uri, uint32_t line, const std::string& function);
Json sarif_notification(const std::string& text, const char* level);  // "note", "warning", "error"
// Arrays of rules, results and notifications.
std::string sarif_document(std::string_view version, Json rules, Json results, Json notifications);

}  // namespace tapelens::text
