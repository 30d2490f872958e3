#include "analyzer/report/patches.h"

#include <algorithm>
#include <charconv>

namespace tapelens::report {

namespace {

using check::Edit;

std::string_view take_line(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end);
  return line;
}

// "--- a/src/train.py", as git quotes it.
std::optional<std::string> path_of(std::string_view line, std::string_view prefix) {
  if (!line.starts_with(prefix)) return std::nullopt;
  line.remove_prefix(prefix.size());
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  std::string path;
  if (line.starts_with('"')) {
    for (size_t i = 1; i < line.size() && line[i] != '"'; ++i) {
      if (line[i] != '\\') {
        path += line[i];
      } else if (i + 3 < line.size() && line[i + 1] >= '0' && line[i + 1] <= '3') {
        path += static_cast<char>((line[i + 1] - '0') * 64 + (line[i + 2] - '0') * 8 + (line[i + 3] - '0'));
        i += 3;
      } else if (i + 1 < line.size()) {
        path += line[++i];
      }
    }
  } else {
    path = line.substr(0, line.find('\t'));
  }
  if (path.size() < 3 || path[1] != '/') return std::nullopt;
  return path.substr(2);
}

// "@@ -12,5 +12,6 @@": the first old line, from 0, and how many there are.
bool take_range(std::string_view line, uint32_t& first, uint32_t& count) {
  if (!line.starts_with("@@ -")) return false;
  const char* const end = line.data() + line.size();
  auto [at, error] = std::from_chars(line.data() + 4, end, first);
  if (error != std::errc()) return false;
  count = 1;
  if (at < end && *at == ',') {
    const auto [after, wrong] = std::from_chars(at + 1, end, count);
    if (wrong != std::errc()) return false;
  }
  if (count > 0) {
    if (first == 0) return false;
    --first;
  }
  return true;
}

bool take_hunk(std::string_view& rest, uint32_t at, uint32_t old_lines, FilePatch& file) {
  const uint32_t end = at + old_lines;
  Edit* edit = nullptr;
  std::string* last = nullptr;
  while (!rest.empty() && (at < end || rest.front() == '+' || rest.front() == '\\')) {
    const std::string_view line = take_line(rest);
    const std::string text(line.substr(1));
    switch (line.front()) {
      case ' ':
      case '\n':
        last = &(file.lines[at++] = line.front() == ' ' ? text : "\n");
        edit = nullptr;
        break;
      case '-':
      case '+':
        if (edit == nullptr) edit = &file.edits.emplace_back(Edit{at, 0, {}});
        if (line.front() == '-') {
          last = &(file.lines[at++] = text);
          ++edit->removed;
        } else {
          last = &edit->added.emplace_back(text);
        }
        break;
      case '\\':
        if (last != nullptr && last->ends_with('\n')) last->pop_back();
        break;
      default:
        return false;
    }
  }
  return at == end;
}

bool overlap(const Edit& a, const Edit& b) {
  if (a.removed == 0 && b.removed == 0) return a.first == b.first;
  const auto is_within = [](const Edit& x, const Edit& y) {
    return x.first >= y.first && x.first < y.first + y.removed;
  };
  return is_within(a, b) || is_within(b, a);
}

bool is_same(const Edit& a, const Edit& b) {
  return a.first == b.first && a.removed == b.removed && a.added == b.added;
}

// Whether all of its edits fit with those that are there; what is there already is no edit any more.
bool fits(std::vector<FilePatch>& patch, const std::map<std::string, FilePatch>& files) {
  for (FilePatch& file : patch) {
    const auto there = files.find(file.path);
    if (there == files.end()) continue;
    for (const auto& [number, line] : file.lines) {
      const auto known = there->second.lines.find(number);
      if (known != there->second.lines.end() && known->second != line) return false;
    }
    std::erase_if(file.edits, [&](const Edit& edit) {
      return std::ranges::any_of(there->second.edits, [&](const Edit& other) { return is_same(edit, other); });
    });
    for (const Edit& edit : file.edits) {
      if (std::ranges::any_of(there->second.edits, [&](const Edit& other) { return overlap(edit, other); }))
        return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<FilePatch>> read_patch(std::string_view diff) {
  std::vector<FilePatch> files;
  while (!diff.empty()) {
    const std::string_view line = take_line(diff);
    if (line.starts_with("--- ")) {
      const auto path = path_of(line, "--- ");
      if (!path || diff.empty() || path_of(take_line(diff), "+++ ") != path) return std::nullopt;
      files.push_back({*path, {}, {}});
    } else if (line.starts_with("@@")) {
      uint32_t first = 0, count = 0;
      if (files.empty() || !take_range(line, first, count) || !take_hunk(diff, first, count, files.back())) {
        return std::nullopt;
      }
    }
  }
  return files;
}

Patch all_patches(const advise::Advice& advice) {
  Patch all;
  std::map<std::string, FilePatch> files;
  for (const advise::Finding& finding : advice.findings) {
    if (finding.fix.patch.empty()) continue;
    auto patch = read_patch(finding.fix.patch);
    if (!patch || !fits(*patch, files)) {
      all.left_out.push_back("the patch of finding " + finding.id + " (" + finding.title + ") is left out: " +
                             (patch ? "it changes the same lines as another" : "it is no unified diff"));
      continue;
    }
    for (FilePatch& file : *patch) {
      FilePatch& there = files.try_emplace(file.path, FilePatch{file.path, {}, {}}).first->second;
      there.lines.merge(file.lines);
      there.edits.insert(there.edits.end(), file.edits.begin(), file.edits.end());
    }
  }
  for (const auto& [path, file] : files) all.diff += unified_diff(path, file.lines, file.edits);
  return all;
}

}  // namespace tapelens::report
