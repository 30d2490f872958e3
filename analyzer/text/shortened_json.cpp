#include "analyzer/text/shortened_json.h"

#include <cstdint>
#include <map>
#include <string>

#include "analyzer/text/escape.h"

namespace tapelens::text {
namespace {

using Counts = std::map<std::string, uint64_t>;

struct Piece {
  Json value;
  size_t bytes = 0;
  Counts left_out;
};

std::string compact(const Json& value) {
  return printable_json(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void add(Counts& counts, const Counts& more) {
  for (const auto& [list, count] : more) counts[list] += count;
}

// The value with each list cut where it exceeds `most` bytes.
Piece cut(const Json& value, const std::string& path, size_t most) {
  if (!value.is_structured()) return {value, compact(value).size(), {}};
  Piece piece{value.is_array() ? Json::array() : Json::object(), 2, {}};
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      Piece part = cut(item, path + "/" + key, most);
      piece.bytes += compact(key).size() + part.bytes + 2;
      add(piece.left_out, part.left_out);
      piece.value[key] = std::move(part.value);
    }
    return piece;
  }
  for (const Json& item : value) {
    Piece part = cut(item, path + "/*", most);
    if (!piece.value.empty() && piece.bytes + part.bytes >= most) {
      piece.left_out[path] += value.size() - piece.value.size();
      break;
    }
    piece.bytes += part.bytes + 1;
    add(piece.left_out, part.left_out);
    piece.value.push_back(std::move(part.value));
  }
  return piece;
}

std::string text_within(const Json& document, size_t most) {
  Piece piece = cut(document, "", most);
  Json left_out = Json::array();
  for (const auto& [list, count] : piece.left_out) left_out.push_back({{"list", list}, {"count", count}});
  piece.value["left_out"] = std::move(left_out);
  return compact(piece.value) + "\n";
}

}  // namespace

std::optional<std::string> shortened(const Json& document, size_t bytes) {
  size_t fits = 0, exceeds = bytes + 1;
  std::string best = text_within(document, 0);
  if (best.size() > bytes) return std::nullopt;
  while (fits + 1 < exceeds) {
    const size_t most = fits + (exceeds - fits) / 2;
    std::string text = text_within(document, most);
    if (text.size() <= bytes) {
      fits = most;
      best = std::move(text);
    } else {
      exceeds = most;
    }
  }
  return best;
}

size_t shortest(const Json& document) { return text_within(document, 0).size(); }

}  // namespace tapelens::text
