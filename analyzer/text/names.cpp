#include "analyzer/text/names.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "analyzer/text/format.h"

namespace tapelens::text {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes the digits at the begin of the text, and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// A component that is a number without leading zeros, which a range can express.
bool is_index(std::string_view part) {
  return !part.empty() && part.size() <= 9 && std::ranges::all_of(part, is_digit) &&
         (part.size() == 1 || part[0] != '0');
}

// "{0-3}", "{0,2-5}" of ascending numbers.
std::string range_text(const std::vector<uint32_t>& numbers) {
  std::string out = "{";
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (first > 0) out += ',';
    out += std::to_string(numbers[first]);
    if (last > first) out += (last == first + 1 ? ',' : '-') + std::to_string(numbers[last]);
    first = last + 1;
  }
  return out + "}";
}

// "Attention" in "ScaledDotProductAttention", "attn" in "self_attn".
bool begins_word(std::string_view text, size_t at) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const char before = text[at - 1];
  return (is_upper(text[at]) && before != '.' && !is_upper(before)) || before == '_';
}

struct Merged {
  std::vector<std::string> parts;
  std::vector<size_t> rows;
};

// Merges rows that differ only in the number at `place`. Keeps the order of the first rows.
std::vector<Merged> merged_at(size_t place, std::vector<Merged> rows, std::span<const NamedRow> named) {
  using Others = std::pair<size_t, std::vector<std::string>>;  // the kind, and the path without this number
  std::map<Others, std::map<uint32_t, size_t>> by_others;      // to the number, to the place in `rows`
  for (size_t i = 0; i < rows.size(); ++i) {
    if (place >= rows[i].parts.size() || !is_index(rows[i].parts[place])) continue;
    Others others{named[rows[i].rows.front()].kind, rows[i].parts};
    const auto number = static_cast<uint32_t>(std::stoul(std::exchange(others.second[place], "*")));
    by_others[std::move(others)].try_emplace(number, i);
  }
  std::vector<bool> is_gone(rows.size());
  for (const auto& [others, of_number] : by_others) {
    if (of_number.size() < 2) continue;
    std::vector<uint32_t> numbers;
    std::vector<size_t> all;
    size_t first = rows.size();
    for (const auto& [number, at] : of_number) {
      numbers.push_back(number);
      std::ranges::copy(rows[at].rows, std::back_inserter(all));
      is_gone[at] = true;
      first = std::min(first, at);
    }
    is_gone[first] = false;
    rows[first].rows = std::move(all);
    rows[first].parts[place] = range_text(numbers);
  }
  std::vector<Merged> out;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!is_gone[i]) out.push_back(std::move(rows[i]));
  }
  return out;
}

// Splits at the numbers that are a component of a dotted name. Odd places are these numbers.
std::vector<std::string_view> split_at_indices(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    if (!is_digit(text[at])) {
      ++at;
      continue;
    }
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    const char before = at == 0 ? ' ' : text[at - 1], after = end == text.size() ? ' ' : text[end];
    const bool is_component = (before == '.' && (after == '.' || after == ',' || after == ' ')) ||
                              (before == ' ' && after == '.' && end + 1 < text.size() && !is_digit(text[end + 1]));
    if (is_component && is_index(text.substr(at, end - at))) {
      parts.push_back(text.substr(begin, at - begin));
      parts.push_back(text.substr(at, end - at));
      begin = end;
    }
    at = end;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = take_number(a), y = take_number(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a.front() != b.front()) return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front());
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // they differ at most in leading zeros
}

bool is_path(std::string_view name) { return !name.empty() && name.front() != '('; }

std::string common_path(std::span<const std::string_view> names) {
  std::string_view first;
  size_t length = 0;
  bool differ = false;
  for (const std::string_view name : names) {
    if (!is_path(name)) continue;
    if (first.empty()) {
      first = name;
      length = name.size();
      continue;
    }
    differ |= name != first;
    size_t same = 0;
    while (same < std::min(length, name.size()) && name[same] == first[same]) ++same;
    const auto ends = [&](std::string_view path) { return same == path.size() || path[same] == '.'; };
    if (!ends(first) || !ends(name)) {
      const size_t dot = first.substr(0, same).rfind('.');
      same = dot == std::string_view::npos ? 0 : dot;
    }
    length = same;
  }
  constexpr size_t kWorth = 12;
  return differ && length >= kWorth ? std::string(first.substr(0, length)) : "";
}

std::string below(std::string_view name, std::string_view parent) {
  if (parent.empty() || !is_path(name) || !name.starts_with(parent)) return std::string(name);
  if (name.size() == parent.size()) return "(itself)";
  return std::string(name[parent.size()] == '.' ? name.substr(parent.size() + 1) : name);
}

std::string fit_path(std::string_view path, unsigned width) {
  if (columns(path) <= width) return std::string(path);
  const auto fits = [&](size_t at) { return columns(path.substr(at)) + 1 <= width; };
  size_t dot = path.find('.');
  while (dot != std::string_view::npos && !fits(dot)) dot = path.find('.', dot + 1);
  const bool is_short = dot == std::string_view::npos || 2 * columns(path.substr(dot)) < width;
  if (!is_short) return "…" + std::string(path.substr(dot));
  for (size_t at = 1; at < std::min(dot, path.size()); ++at) {
    if (begins_word(path, at) && fits(at)) return "…" + std::string(path.substr(at));
  }
  if (dot != std::string_view::npos) return "…" + std::string(path.substr(dot));
  return fit_words(path.substr(path.rfind('.') + 1), width);
}

std::string fit_words(std::string_view text, unsigned width) {
  if (columns(text) <= width) return std::string(text);
  if (width < 3) return fit(text, width);
  size_t end = 0, last_space = 0;
  for (unsigned taken = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0U) != 0x80U;
    if (begins && taken == width - 1) break;
    if (text[end] == ' ' && taken + 2 <= width) last_space = end;
    taken += begins ? 1 : 0;
  }
  return last_space > 0 ? std::string(text.substr(0, last_space)) + " …" : std::string(text.substr(0, end)) + "…";
}

std::vector<EqualRows> equal_rows(std::span<const NamedRow> rows) {
  std::vector<Merged> merged;
  size_t most = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    Merged& one = merged.emplace_back();
    one.rows.push_back(i);
    if (!is_path(rows[i].name)) {
      one.parts.emplace_back(rows[i].name);
      continue;
    }
    for (const std::string_view part : components(rows[i].name)) one.parts.emplace_back(part);
    most = std::max(most, one.parts.size());
  }
  for (size_t place = most; place-- > 0;) merged = merged_at(place, std::move(merged), rows);
  std::vector<EqualRows> out;
  for (Merged& one : merged) {
    EqualRows& equal = out.emplace_back();
    equal.rows = std::move(one.rows);
    for (const std::string& part : one.parts) equal.name += (equal.name.empty() ? "" : ".") + part;
  }
  return out;
}

std::string without_indices(std::string_view text) {
  std::string out;
  const std::vector<std::string_view> parts = split_at_indices(text);
  for (size_t i = 0; i < parts.size(); ++i) out += i % 2 == 0 ? parts[i] : "*";
  return out;
}

std::string with_indices(std::span<const std::string> texts) {
  const std::vector<std::string_view> first = split_at_indices(texts.front());
  std::vector<std::set<uint32_t>> numbers(first.size());
  for (const std::string& text : texts) {
    const std::vector<std::string_view> parts = split_at_indices(text);
    for (size_t i = 1; i < std::min(parts.size(), first.size()); i += 2) {
      numbers[i].insert(static_cast<uint32_t>(std::stoul(std::string(parts[i]))));
    }
  }
  std::string out;
  for (size_t i = 0; i < first.size(); ++i) {
    out += numbers[i].size() < 2 ? std::string(first[i]) : range_text({numbers[i].begin(), numbers[i].end()});
  }
  return out;
}

}  // namespace tapelens::text
