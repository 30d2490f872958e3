#include "analyzer/check/patch.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tapelens::check {

namespace {

constexpr uint32_t kContext = 3;  // lines before and after

void add_line(std::string& out, char sign, std::string_view line) {
  out += sign;
  out += line;
  if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
}

// "12,5". A range without lines has the number of the line before it.
std::string range(uint32_t first, uint32_t count) {
  return std::to_string(count == 0 ? first : first + 1) + (count == 1 ? "" : "," + std::to_string(count));
}

// Quotes unusual characters as git does.
std::string quoted(std::string_view prefix, std::string_view path) {
  const std::string name = std::string(prefix) + std::string(path);
  const auto is_special = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7f;
  };
  if (std::ranges::none_of(name, is_special)) return name + (name.find(' ') != std::string::npos ? "\t" : "");
  std::string out = "\"";
  for (const char c : name) {
    if (!is_special(c)) {
      out += c;
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
              static_cast<char>('0' + (byte & 7))};
    }
  }
  return out + '"';
}

}  // namespace

FileEdit file_edit(std::string path, std::span<const std::string_view> lines, std::vector<Edit> edits) {
  std::ranges::stable_sort(edits, {}, &Edit::first);
  FileEdit file{std::move(path), {}, {}};
  for (Edit& edit : edits) {
    for (uint32_t line = edit.first - std::min(edit.first, kContext);
         line < std::min<size_t>(edit.end() + kContext, lines.size()); ++line) {
      file.lines.try_emplace(line, lines[line]);
    }
    if (file.edits.empty() || file.edits.back().end() != edit.first) {
      file.edits.push_back(std::move(edit));
      continue;
    }
    Edit& before = file.edits.back();
    before.removed += edit.removed;
    std::ranges::move(edit.added, std::back_inserter(before.added));
  }
  return file;
}

std::string unified_diff(std::span<const FileEdit> files) {
  std::string diff;
  for (const FileEdit& file : files) diff += unified_diff(file);
  return diff;
}

trace::OutputKind patch_kind() { return trace::marked_kind("patch", "-- \nWritten by tapelens advise\n"); }

std::string unified_diff(const FileEdit& file) {
  const auto& [path, lines, edits] = file;
  const auto are_known = [&lines = lines](uint32_t first, uint32_t end) {
    while (first < end && lines.contains(first)) ++first;
    return first == end;
  };
  std::string out = "--- " + quoted("a/", path) + "\n+++ " + quoted("b/", path) + "\n";
  int64_t shift = 0;  // new line number minus old one
  for (size_t i = 0; i < edits.size();) {
    size_t end = i + 1;
    while (end < edits.size() && edits[end].first <= edits[end - 1].end() + 2 * kContext &&
           are_known(edits[end - 1].end(), edits[end].first)) {
      ++end;
    }
    uint32_t from = edits[i].first, to = edits[end - 1].end();
    while (from > 0 && edits[i].first - from < kContext && lines.contains(from - 1)) --from;
    while (to - edits[end - 1].end() < kContext && lines.contains(to)) ++to;
    std::string body;
    uint32_t added = 0, removed = 0, at = from;
    for (; i < end; ++i) {
      for (; at < edits[i].first; ++at) add_line(body, ' ', lines.at(at));
      for (; at < edits[i].end(); ++at) add_line(body, '-', lines.at(at));
      for (const std::string& line : edits[i].added) add_line(body, '+', line);
      added += static_cast<uint32_t>(edits[i].added.size());
      removed += edits[i].removed;
    }
    for (; at < to; ++at) add_line(body, ' ', lines.at(at));
    const auto new_from = static_cast<uint32_t>(from + shift);
    out += "@@ -" + range(from, to - from) + " +" + range(new_from, to - from - removed + added) + " @@\n" + body;
    shift += int64_t{added} - int64_t{removed};
  }
  return out;
}

}  // namespace tapelens::check
