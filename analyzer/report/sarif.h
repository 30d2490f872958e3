// Common parts of Tapelens's SARIF files: GitHub's form of file names, and the document around the results.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/check/sources.h"
#include "analyzer/report/json.h"

namespace tapelens::report {

// A file as the repository names it, as a URI; empty if it is not of the repository.
std::string sarif_uri(const std::string& file, const check::SourceTree& tree);
// A path of the repository, as a URI.
std::string percent_encoded(std::string_view path);
Json sarif_location(const std::string& uri, uint32_t line, const std::string& function);
Json sarif_notification(const std::string& text, const char* level);  // "note", "warning", "error"
// Arrays of rules, results and notifications.
std::string sarif_document(std::string_view version, Json rules, Json results, Json notifications);

}  // namespace tapelens::report
