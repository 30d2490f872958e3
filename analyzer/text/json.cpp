#include "analyzer/text/json.h"

#include <algorithm>
#include <utility>

#include "analyzer/text/escape.h"

namespace tapelens::text {
namespace {

constexpr const char* kSchema = "https://json.schemastore.org/sarif-2.1.0.json";

}  // namespace

std::string percent_encoded(std::string_view path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
        std::string_view("-._~/!$&'()*+,;=@").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

Json sarif_location(const std::string& uri, uint32_t line, const std::string& function) {
  Json out = {{"physicalLocation",
               {{"artifactLocation", {{"uri", uri}, {"uriBaseId", "%SRCROOT%"}}},
                {"region", {{"startLine", std::max(line, 1U)}}}}}};
  if (!function.empty()) out["logicalLocations"] = Json::array({{{"fullyQualifiedName", function}}});
  return out;
}

Json sarif_notification(const std::string& text, const char* level) {
  return {{"level", level}, {"message", {{"text", text}}}};
}

std::string sarif_document(std::string_view version, Json rules, Json results, Json notifications) {
  Json invocation = {{"executionSuccessful", true}};
  if (!notifications.empty()) invocation["toolExecutionNotifications"] = std::move(notifications);
  Json run = {{"tool", {{"driver", {{"name", "Tapelens"}, {"semanticVersion", version}, {"rules", std::move(rules)}}}}},
              {"originalUriBaseIds", {{"%SRCROOT%", {{"description", {{"text", "The root of the repository."}}}}}}},
              {"columnKind", "unicodeCodePoints"},
              {"invocations", Json::array({std::move(invocation)})},
              {"results", std::move(results)}};
  return dumped({{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}});
}

std::string dumped(const Json& value) {
  return printable_json(value.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace tapelens::text
