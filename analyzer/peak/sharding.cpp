#include "analyzer/peak/sharding.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "analyzer/peak/analysis.h"

namespace tapelens::peak {
namespace {

enum Part : uint8_t { kMesh, kCoordinate, kPlacements, kHere, kAll, kName, kParts };

constexpr model::Bytes kMost{int64_t{1} << 50};  // larger than all parameters of any model: the value is damaged

// "dp=2\tdp=1\tShard(dim=0)\t1024\t2048\tlayers.0.weight"
std::optional<std::array<std::string_view, kParts>> parts_of(std::string_view told) {
  std::array<std::string_view, kParts> parts;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const size_t end = told.find('\t');
    if (end == std::string_view::npos) return std::nullopt;
    parts[i] = told.substr(0, end);
    told.remove_prefix(end + 1);
  }
  parts.back() = told;
  return parts;
}

std::optional<int64_t> bytes_of(std::string_view text) {
  int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size() || bytes < 0 || bytes > kMost.value) return std::nullopt;
  return bytes;
}

}  // namespace

std::vector<Sharding> shardings(const Analysis& analysis) {
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, Sharding> found;
  for (const std::string_view told : analysis.all_information("sharding")) {
    const auto parts = parts_of(told);
    if (!parts) continue;
    const auto here = bytes_of((*parts)[kHere]), all = bytes_of((*parts)[kAll]);
    if (!here || !all) continue;
    Sharding& one = found[{(*parts)[kMesh], (*parts)[kCoordinate], (*parts)[kPlacements]}];
    if (one.all > kMost || one.here > kMost) continue;
    one.parameters.emplace_back((*parts)[kName]);
    one.here += model::Bytes{*here};
    one.all += model::Bytes{*all};
  }
  std::vector<Sharding> out;
  for (auto& [key, one] : found) {
    std::tie(one.mesh, one.coordinate, one.placements) = key;
    out.push_back(std::move(one));
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &Sharding::here);
  return out;
}

std::string mesh_coordinate(const Analysis& analysis) {
  std::string most;
  int64_t dimensions = -1;
  for (const Sharding& one : shardings(analysis)) {
    const int64_t count = std::ranges::count(one.placements, '(');  // a pair for each dimension
    if (count <= dimensions) continue;
    dimensions = count;
    most = one.coordinate;
  }
  return most;
}

}  // namespace tapelens::peak
