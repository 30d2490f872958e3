#include "analyzer/allocator/settings.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace tapelens::allocator {
namespace {

constexpr int kFirstPower = 20;                              // 1 MiB
constexpr std::pair<uint32_t, uint32_t> kFirstByAge{2, 12};  // version of PyTorch

// Keys about host memory, about how to allocate from the device, or about the process's limit, which is a parameter of
// CachingAllocator.
bool changes_nothing(std::string_view key) {
  return key.starts_with("pinned_") || key.starts_with("release_lock_on_") || key == "backend" ||
         key == "expandable_segments_handle_type" || key == "per_process_memory_fraction";
}

// Splits the text into words and separators.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  bool in_word = false;
  for (const char c : text) {
    if (c == ',' || c == ':' || c == '[' || c == ']') {
      tokens.emplace_back(1, c);
      in_word = false;
    } else if (c != ' ' && c != '\t' && c != '\n') {
      if (!in_word) tokens.emplace_back();
      tokens.back() += c;
      in_word = true;
    }
  }
  return tokens;
}

bool read(const std::string& word, uint64_t& value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

bool read(const std::string& word, double& value) {
  char* end = nullptr;
  value = std::strtod(word.c_str(), &end);
  return !word.empty() && *end == '\0';
}

bool read_megabytes(const std::string& word, uint64_t& bytes) {
  uint64_t number = 0;
  if (!read(word, number) || number > kNoLimit / kMiB) return false;
  bytes = number * kMiB;
  return true;
}

bool read(const std::string& word, bool& value) {
  value = word == "True";
  return value || word == "False";
}

// "[256:1,512:2,>:4]": up to 256 MiB 1, from 512 on 2, above that 4.
bool read_list(const std::vector<std::string>& words, AllocatorSettings& settings) {
  auto& of = settings.roundup_divisions;
  size_t next = 0;  // first index of `of` that ">" fills
  for (size_t at = 0; at < words.size(); at += 4) {
    uint64_t divisions = 0;
    if (at + 2 >= words.size() || words[at + 1] != ":" || !read(words[at + 2], divisions)) return false;
    if (at + 3 < words.size() && words[at + 3] != ",") return false;
    if (words[at] == ">") {
      std::fill(of.begin() + static_cast<int64_t>(std::min(next, of.size())), of.end(), divisions);
      continue;
    }
    uint64_t megabytes = 0;
    if (!read(words[at], megabytes) || megabytes == 0) return false;
    const auto index = std::min(static_cast<size_t>(std::bit_width(megabytes) - 1), of.size() - 1);
    if (at == 0) std::fill(of.begin(), of.begin() + static_cast<int64_t>(index), divisions);
    of[index] = divisions;
    next = index + 1;
  }
  return !words.empty();
}

bool read_value(const std::string& key, const std::vector<std::string>& value, AllocatorSettings& settings) {
  const bool is_list = value.size() >= 2 && value.front() == "[";
  if (key == "roundup_power2_divisions" && is_list) {
    return read_list({value.begin() + 1, value.end() - 1}, settings);
  }
  if (value.size() != 1) return false;
  const std::string& word = value[0];
  if (key == "expandable_segments") return read(word, settings.expandable_segments);
  if (key == "max_split_size_mb") return read_megabytes(word, settings.max_split_size);
  if (key == "max_non_split_rounding_mb") return read_megabytes(word, settings.max_non_split_rounding);
  if (key == "large_segment_size_mb") return read_megabytes(word, settings.large_segment_size);
  if (key == "garbage_collection_threshold") return read(word, settings.garbage_collection_threshold);
  uint64_t divisions = 0;
  if (key != "roundup_power2_divisions" || !read(word, divisions)) return false;
  settings.roundup_divisions.fill(divisions);
  return true;
}

}  // namespace

uint64_t AllocatorSettings::divisions_of(uint64_t bytes) const {
  const int power = std::bit_width(bytes) - 1;
  const int last = static_cast<int>(roundup_divisions.size()) - 1;
  return roundup_divisions[static_cast<size_t>(std::clamp(power - kFirstPower, 0, last))];
}

std::optional<Order> order_of(std::string_view torch_version) {
  uint32_t major = 0, minor = 0;
  const char* const end = torch_version.data() + torch_version.size();
  const auto [dot, error] = std::from_chars(torch_version.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return std::nullopt;
  return std::pair(major, minor) < kFirstByAge ? Order::by_address : Order::by_age;
}

ParsedSettings parse_settings(std::string_view text) {
  ParsedSettings parsed;
  const std::vector<std::string> tokens = tokens_of(text);
  for (size_t at = 0; at < tokens.size();) {
    // key : value, or key : [ ... ]
    const std::string& key = tokens[at++];
    if (key == ",") continue;
    std::vector<std::string> value;
    if (at < tokens.size() && tokens[at] == ":") {
      bool is_list = false;
      for (++at; at < tokens.size() && (is_list || tokens[at] != ","); ++at) {
        is_list = (is_list || tokens[at] == "[") && tokens[at] != "]";
        value.push_back(tokens[at]);
      }
    }
    if (changes_nothing(key)) continue;
    if (!read_value(key, value, parsed.settings)) parsed.unknown.push_back(key);
  }
  return parsed;
}

}  // namespace tapelens::allocator
