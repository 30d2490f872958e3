// Names of modules and lines as the rows of a table show them: short, in natural order, and different in each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::text {

// Compares runs of digits as numbers: "blocks.2" comes before "blocks.10". Only equal texts are equivalent.
bool natural_less(std::string_view a, std::string_view b);

// A name without a place in the tree of modules: "(outside of modules)", or empty.
bool is_path(std::string_view name);

// The longest dotted path that begins all paths: "Model.layers" of "Model.layers.0" and "Model.layers.1.fc". Ignores
// other names. Empty: the paths have no common begin of at least 12 characters, or fewer than two different paths
// exist.
std::string common_path(std::span<const std::string_view> names);

// The part of a path below `parent`; "(itself)" for the parent. Other names stay unchanged.
std::string below(std::string_view name, std::string_view parent);

// Shortens a path to `width` columns: leaves out components from the left, "….attention.self". If less than half of the
// width is left then, it leaves out words of an identifier instead: "…AttentionBackward0.key". Of a single long word it
// keeps the begin.
std::string fit_path(std::string_view path, unsigned width);

// Shortens text to `width` columns: leaves out words from the end. Keeps the begin of a single long word.
std::string fit_words(std::string_view text, unsigned width);

// A path, and a number that is equal for equal rows.
struct NamedRow {
  std::string_view name;
  size_t kind = 0;
};
// Rows of one kind whose paths differ only in numbers: "encoder.layer.{0-3}.attention.self", "blocks.{0,2-5}.fc".
struct EqualRows {
  std::string name;
  std::vector<size_t> rows;  // indices, in natural order of the names
};
// Each row is in one element, in the order of the first rows. Several numbers of a path become braces only if the rows
// have every combination of them.
std::vector<EqualRows> equal_rows(std::span<const NamedRow> rows);

// Indices in the names of parameters: "gradient of layer.*.weight" for "gradient of layer.3.weight".
std::string without_indices(std::string_view text);
// One text for texts that differ only in such indices: "gradient of layer.{0-3}.weight". `texts` is not empty.
std::string with_indices(std::span<const std::string> texts);

}  // namespace tapelens::text
