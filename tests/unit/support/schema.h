// Checks a JSON value against the part of JSON Schema that docs/report.schema.json uses. The end-to-end tests validate
// real reports with a full validator. This check keeps schema and code consistent without Python.
#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace tapelens::testing {

inline bool has_type(const nlohmann::json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "null") return value.is_null();
  return false;
}

// The first error, or "" without errors. Unknown keywords are errors of the schema.
inline std::string against_schema(const nlohmann::json& root, const nlohmann::json& schema, const nlohmann::json& value,
                                  const std::string& where) {
  for (const auto& [keyword, rule] : schema.items()) {
    std::string wrong;
    if (keyword == "$ref") {
      wrong =
          against_schema(root, root.at(nlohmann::json::json_pointer(rule.get<std::string>().substr(1))), value, where);
    } else if (keyword == "type") {
      bool any = rule.is_string() && has_type(value, rule);
      if (rule.is_array()) {
        for (const auto& type : rule) any = any || has_type(value, type);
      }
      if (!any) wrong = where + " is not " + rule.dump();
    } else if (keyword == "required") {
      for (const auto& key : rule) {
        if (value.is_object() && !value.contains(key.get<std::string>())) wrong = where + " lacks " + key.dump();
      }
    } else if (keyword == "properties") {
      for (const auto& [key, inner] : rule.items()) {
        if (wrong.empty() && value.contains(key)) wrong = against_schema(root, inner, value[key], where + "." + key);
      }
    } else if (keyword == "additionalProperties") {
      for (const auto& [key, inner] : value.items()) {
        if (!schema.at("properties").contains(key)) wrong = where + " has " + key;
      }
    } else if (keyword == "items") {
      for (size_t i = 0; i < value.size() && wrong.empty(); ++i) {
        wrong = against_schema(root, rule, value[i], where + "[" + std::to_string(i) + "]");
      }
    } else if (keyword == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end()) wrong = where + " is " + value.dump();
    } else if (keyword == "const") {
      if (value != rule) wrong = where + " is " + value.dump();
    } else if (keyword == "minimum") {
      if (value.is_number() && value < rule) wrong = where + " is " + value.dump();
    } else if (keyword == "maximum") {
      if (value.is_number() && value > rule) wrong = where + " is " + value.dump();
    } else if (keyword == "minItems") {
      if (value.size() < rule.get<size_t>()) wrong = where + " has too few";
    } else if (keyword == "pattern") {
      if (!std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>())))
        wrong = where + " is " + value.dump();
    } else if (keyword != "description" && keyword != "title" && !keyword.starts_with("$")) {
      wrong = "the schema uses " + keyword;
    }
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace tapelens::testing
