// Makes pickles opcode by opcode, in protocol 4: pickled(dict({{"a", number(1)}, {"b", list({text("x")})}})).
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapelens::testing {

inline std::string pickled(std::string_view value) { return "\x80\x04" + std::string(value) + "."; }

inline std::string text(std::string_view text) {
  std::string out = "X";
  const auto size = static_cast<uint32_t>(text.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return out + std::string(text);
}

inline std::string number(int64_t value) {
  std::string out = "\x8a\x08";
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return out;
}

inline std::string list(const std::vector<std::string>& items) {
  std::string out = "](";
  for (const std::string& item : items) out += item;
  return items.empty() ? "]" : out + "e";
}

using Pairs = std::vector<std::pair<std::string, std::string>>;  // texts and values

inline std::string dict(const Pairs& pairs) {
  std::string out = "}(";
  for (const auto& [key, value] : pairs) out += text(key) + value;
  return pairs.empty() ? "}" : out + "u";
}

inline std::string pair(int64_t first, int64_t second) { return number(first) + number(second) + "\x86"; }

inline std::string put() { return "\x94"; }
inline std::string get(uint8_t number) { return "h" + std::string(1, static_cast<char>(number)); }

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace tapelens::testing
