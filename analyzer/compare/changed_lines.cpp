#include "analyzer/compare/changed_lines.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace tapelens::compare {

namespace {

using Kind = ChangedLine::Kind;

// Limits the search for the shortest edit list. Beyond it, one hunk covers all lines between the common ends.
constexpr size_t kMostEdits = 1000;

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trimmed(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1);
}

size_t indent(std::string_view line) { return std::min(line.find_first_not_of(" \t"), line.size()); }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Lines [a, a_end) of the old version became [b, b_end) of the new one.
struct Hunk {
  size_t a, a_end, b, b_end;
};

// The hunks of the shortest edit list (Myers).
std::vector<Hunk> hunks(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  size_t same_front = 0, same_back = 0;
  while (same_front < std::min(a.size(), b.size()) && a[same_front] == b[same_front]) ++same_front;
  while (same_back < std::min(a.size(), b.size()) - same_front &&
         a[a.size() - 1 - same_back] == b[b.size() - 1 - same_back]) {
    ++same_back;
  }
  const auto n = static_cast<int64_t>(a.size() - same_front - same_back);
  const auto m = static_cast<int64_t>(b.size() - same_front - same_back);
  if (n == 0 && m == 0) return {};
  const auto most = static_cast<int64_t>(std::min<size_t>(static_cast<size_t>(n + m), kMostEdits));
  // By the number of edits, then by diagonal: the row reached in the old version.
  std::vector<std::vector<int64_t>> reached;
  std::vector<int64_t> far(static_cast<size_t>(2 * most + 3), 0);
  const auto at = [&](std::vector<int64_t>& v, int64_t k) -> int64_t& { return v[static_cast<size_t>(k + most + 1)]; };
  bool found = false;
  for (int64_t edits = 0; edits <= most && !found; ++edits) {
    reached.push_back(far);
    for (int64_t k = -edits; k <= edits; k += 2) {
      const bool is_down = k == -edits || (k != edits && at(far, k - 1) < at(far, k + 1));
      int64_t x = is_down ? at(far, k + 1) : at(far, k - 1) + 1;
      while (x < n && x - k < m && x - k >= 0 &&
             a[same_front + static_cast<size_t>(x)] == b[same_front + static_cast<size_t>(x - k)]) {
        ++x;
      }
      at(far, k) = x;
      found = found || (x >= n && x - k >= m);
      if (found) break;
    }
  }
  const auto of_front = static_cast<int64_t>(same_front);
  if (!found) return {{same_front, a.size() - same_back, same_front, b.size() - same_back}};
  // Walks from the end back. Each edit is one line, and edits that touch are one hunk.
  std::vector<Hunk> out;
  int64_t x = n, y = m;
  for (auto edits = static_cast<int64_t>(reached.size()) - 1; edits > 0; --edits) {
    std::vector<int64_t>& v = reached[static_cast<size_t>(edits)];
    const int64_t k = x - y;
    const bool is_down = k == -edits || (k != edits && at(v, k - 1) < at(v, k + 1));
    const int64_t before_k = is_down ? k + 1 : k - 1;
    const int64_t before_x = at(v, before_k), before_y = before_x - before_k;
    const Hunk one{
        static_cast<size_t>(before_x + of_front), static_cast<size_t>(before_x + of_front) + (is_down ? 0 : 1),
        static_cast<size_t>(before_y + of_front), static_cast<size_t>(before_y + of_front) + (is_down ? 1 : 0)};
    if (!out.empty() && out.back().a == one.a_end && out.back().b == one.b_end) {
      out.back().a = one.a;
      out.back().b = one.b;
    } else {
      out.push_back(one);
    }
    x = before_x;
    y = before_y;
  }
  std::ranges::reverse(out);
  return out;
}

// Names that a file binds: assignments, definitions, parameters, loop variables.
std::set<std::string_view> bound_names(const std::vector<std::string_view>& lines) {
  std::set<std::string_view> out;
  for (const std::string_view whole : lines) {
    const std::string_view line = trimmed(whole);
    const bool is_definition = line.starts_with("def ") || line.starts_with("class ") || line.starts_with("async def ");
    const size_t equals = line.find('=');
    const bool is_assignment = equals != std::string_view::npos && line.substr(equals, 2) != "==" &&
                               line.substr(0, equals).find('(') == std::string_view::npos;
    const bool is_loop = line.starts_with("for ");
    const size_t as = line.find(" as ");
    std::string_view binding;
    if (is_definition) binding = line;
    if (is_assignment) binding = line.substr(0, equals);
    if (is_loop) binding = line.substr(4, std::min(line.find(" in "), line.size()) - 4);
    if (as != std::string_view::npos && binding.empty()) binding = line.substr(as + 4);
    for (const std::string_view name : names_in(binding)) out.insert(name);
  }
  return out;
}

// The names of a line, and each single character between them.
std::vector<std::string_view> tokens_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < line.size();) {
    size_t end = at + 1;
    if (is_name_start(line[at])) {
      while (end < line.size() && is_name(line[end])) ++end;
    }
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

// Finds renames. A rename replaces a name that only the old file has by a name that only the new file has. Each file
// must bind its name.
class Renames {
 public:
  Renames(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b)
      : bound_a_(bound_names(a)), bound_b_(bound_names(b)) {
    for (const std::string_view line : a)
      std::ranges::for_each(names_in(line), [&](auto name) { all_a_.insert(name); });
    for (const std::string_view line : b)
      std::ranges::for_each(names_in(line), [&](auto name) { all_b_.insert(name); });
  }
  bool explain(std::string_view before, std::string_view after) {
    const auto a = tokens_of(before), b = tokens_of(after);
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      if (!bound_a_.contains(a[i]) || !bound_b_.contains(b[i])) return false;
      if (all_b_.contains(a[i]) || all_a_.contains(b[i])) return false;
      if (to_.try_emplace(a[i], b[i]).first->second != b[i]) return false;
      if (from_.try_emplace(b[i], a[i]).first->second != a[i]) return false;
    }
    return true;
  }

 private:
  std::set<std::string_view> bound_a_, bound_b_, all_a_, all_b_;
  std::map<std::string_view, std::string_view> to_, from_;
};

std::string function_around(const std::vector<std::string_view>& lines, size_t line) {
  if (line >= lines.size()) return "";
  size_t within = indent(lines[line]);
  for (size_t at = line + 1; at-- > 0 && within > 0;) {
    const std::string_view text = trimmed(lines[at]);
    if (text.empty() || (at != line && indent(lines[at]) >= within)) continue;
    if (at != line) within = indent(lines[at]);
    for (const std::string_view keyword : {"async def ", "def "}) {
      if (text.starts_with(keyword) && at != line) return std::string(names_in(text.substr(keyword.size())).front());
    }
  }
  return "";
}

bool is_code(std::string_view line) {
  const std::string_view text = trimmed(line);
  return !text.empty() && !text.starts_with('#');
}

// How often each line occurs among the removed lines, and how often among the new ones.
std::map<std::string_view, std::pair<size_t, size_t>> counted(const std::vector<std::string_view>& a,
                                                              const std::vector<std::string_view>& b,
                                                              const std::vector<Hunk>& all) {
  std::map<std::string_view, std::pair<size_t, size_t>> out;
  for (const Hunk& hunk : all) {
    for (size_t i = hunk.a; i < hunk.a_end; ++i) ++out[trimmed(a[i])].first;
    for (size_t i = hunk.b; i < hunk.b_end; ++i) ++out[trimmed(b[i])].second;
  }
  return out;
}

}  // namespace

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::changed:
      return "changed";
    case Kind::added:
      return "added";
    case Kind::removed:
      return "removed";
    case Kind::moved:
      return "moved";
    case Kind::renamed:
      break;
  }
  return "renamed";
}

std::vector<std::string_view> names_in(std::string_view code) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < code.size();) {
    if (code[at] == '#') break;
    if (!is_name(code[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < code.size() && is_name(code[end])) ++end;
    if (is_name_start(code[at])) out.push_back(code.substr(at, end - at));
    at = end;
  }
  return out;
}

std::vector<ChangedLine> changed_lines(std::string_view before, std::string_view after) {
  const auto a = lines_of(before), b = lines_of(after);
  const std::vector<Hunk> all = hunks(a, b);
  auto counts = counted(a, b, all);
  Renames renames(a, b);
  std::vector<ChangedLine> out;
  // A line that is removed in one place and new in another was moved or indented.
  const auto has_moved = [&](std::string_view line) {
    const auto& [gone, fresh] = counts.at(trimmed(line));
    return gone == fresh;
  };
  for (const Hunk& hunk : all) {
    std::vector<size_t> gone, fresh, moved;
    for (size_t i = hunk.a; i < hunk.a_end; ++i) {
      if (is_code(a[i]) && !has_moved(a[i])) gone.push_back(i);
    }
    for (size_t i = hunk.b; i < hunk.b_end; ++i) {
      if (!is_code(b[i])) continue;
      (has_moved(b[i]) ? moved : fresh).push_back(i);
    }
    const auto add = [&](Kind kind, size_t line, std::string_view text, std::string_view old) {
      out.push_back({kind, static_cast<uint32_t>(line + 1), std::string(trimmed(text)), std::string(trimmed(old)),
                     function_around(b, line)});
    };
    // New lines pair with removed ones in order: each pair is a changed line.
    for (size_t i = 0; i < fresh.size(); ++i) {
      const std::string_view line = b[fresh[i]];
      if (i >= gone.size()) {
        add(Kind::added, fresh[i], line, "");
      } else {
        const bool is_renamed = renames.explain(trimmed(a[gone[i]]), trimmed(line));
        add(is_renamed ? Kind::renamed : Kind::changed, fresh[i], line, a[gone[i]]);
      }
    }
    for (size_t i = fresh.size(); i < gone.size(); ++i) {
      const size_t place =
          std::min(hunk.b_end == hunk.b ? hunk.b : hunk.b + (gone[i] - hunk.a), b.empty() ? 0 : b.size() - 1);
      add(Kind::removed, std::min(place, hunk.b_end == hunk.b ? place : hunk.b_end - 1), a[gone[i]], "");
    }
    for (const size_t line : moved) add(Kind::moved, line, b[line], "");
  }
  return out;
}

}  // namespace tapelens::compare
