// Reads a unified diff as edits, and applies edits to a file. A hunk must match its place exactly.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "analyzer/check/patch.h"

namespace tapelens::check {

namespace {

using trace::Error;
using trace::Result;

// Lines with their line breaks.
std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    lines.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string_view without_break(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<uint32_t> take_number(std::string_view& text) {
  uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return number;
}

// Decodes the output of `quoted()` in patch.cpp, and of git: "a/\303\244 b.py".
std::optional<std::string> unquoted(std::string_view text) {
  constexpr std::string_view kLetters = "abtnvfr", kMeant = "\a\b\t\n\v\f\r";
  std::string out;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') return out;
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) break;
    const size_t letter = kLetters.find(text[i]);
    if (letter != std::string_view::npos) {
      out += kMeant[letter];
    } else if (text[i] >= '0' && text[i] <= '3') {
      int byte = 0;
      for (int digit = 0; digit < 3; ++digit, ++i) {
        if (i == text.size() || text[i] < '0' || text[i] > '7') return std::nullopt;
        byte = byte * 8 + (text[i] - '0');
      }
      --i;
      out += static_cast<char>(byte);
    } else {
      out += text[i];
    }
  }
  return std::nullopt;
}

// The path of "--- a/src/train.py\t2026-01-01"; "/dev/null" if the file does not exist.
std::optional<std::string> path_of(std::string_view text) {
  std::optional<std::string> path =
      text.starts_with('"') ? unquoted(text)
                            : std::optional<std::string>(text.substr(0, std::min(text.find('\t'), text.size())));
  if (!path || *path == "/dev/null") return path;
  const size_t slash = path->find('/');  // after "a" or "b", or another prefix
  if (slash == std::string::npos) return std::nullopt;
  path->erase(0, slash + 1);
  const auto normal = std::filesystem::path(*path).lexically_normal();
  if (normal.empty() || normal.is_absolute() || *normal.begin() == ".." || normal.generic_string() != *path) {
    return std::nullopt;
  }
  return path;
}

struct Hunk {
  uint32_t first = 0, removed = 0, added = 0;  // old lines from `first` (from 0), and the number of new lines
};
std::optional<Hunk> hunk_of(std::string_view text) {
  if (!take(text, "@@ -")) return std::nullopt;
  Hunk hunk;
  const auto range = [&](uint32_t& begin, uint32_t& count) {
    const auto number = take_number(text);
    const auto lines = take(text, ",") ? take_number(text) : std::optional<uint32_t>(1);
    if (!number || !lines || (*lines > 0 && *number == 0)) return false;
    count = *lines;
    begin = *lines > 0 ? *number - 1 : *number;
    return true;
  };
  uint32_t new_first = 0;
  if (!range(hunk.first, hunk.removed) || !take(text, " +") || !range(new_first, hunk.added) || !take(text, " @@")) {
    return std::nullopt;
  }
  return hunk;
}

class Reader {
 public:
  explicit Reader(std::string_view diff) : lines_(split_lines(diff)) {}

  Result<FileEdits> read() {
    while (at_ < lines_.size() && why_.empty()) {
      const std::string_view line = without_break(lines_[at_]);
      if (line.starts_with("--- ") && at_ + 1 < lines_.size() && lines_[at_ + 1].starts_with("+++ ")) {
        take_file();
      } else if (line.starts_with("@@ ")) {
        why_ = "a hunk of no file";
      } else {
        for (const char* other : {"rename ", "copy ", "GIT binary patch", "Binary files "}) {
          if (line.starts_with(other)) why_ = "only text is changed, and under its name";
        }
        if (why_.empty()) ++at_;  // text between files has no meaning
      }
    }
    if (!why_.empty()) return Error{"line " + std::to_string(at_ + 1) + ": " + why_};
    if (files_.empty()) return Error{"it changes no file"};
    return std::move(files_);
  }

 private:
  void take_file() {
    const auto before = path_of(without_break(lines_[at_]).substr(4)),
               after = path_of(without_break(lines_[at_ + 1]).substr(4));
    if (!before || !after) {
      why_ = "no path below the repository";
      return;
    }
    if (*after == "/dev/null") {
      why_ = "a file is deleted";
      return;
    }
    if (*before != "/dev/null" && *before != *after) {
      why_ = "a file is renamed";
      return;
    }
    if (std::ranges::find(files_, *after, &FileEdit::path) != files_.end()) {
      why_ = *after + " is there twice";
      return;
    }
    files_.push_back({*after, {}, {}});
    at_ += 2;
    while (why_.empty() && at_ < lines_.size() && lines_[at_].starts_with("@@ ")) take_hunk(files_.back());
    if (why_.empty() && files_.back().edits.empty()) why_ = "no hunk of " + files_.back().path;
  }

  void take_hunk(FileEdit& file) {
    const auto hunk = hunk_of(without_break(lines_[at_]));
    if (!hunk || (!file.edits.empty() && hunk->first < file.edits.back().end())) {
      why_ = "no hunk that can be followed";
      return;
    }
    ++at_;
    uint32_t line = hunk->first, removed = 0, added = 0;
    std::string* last = nullptr;
    bool is_open = false;  // an edit continues
    while (at_ < lines_.size() && (removed < hunk->removed || added < hunk->added || lines_[at_].starts_with('\\'))) {
      std::string_view text = lines_[at_];
      const char sign = text.front();
      text.remove_prefix(1);
      if (sign == '\\') {  // "\ No newline at end of file": about the line before
        if (last == nullptr || !last->ends_with('\n')) break;
        last->pop_back();
        ++at_;
        continue;
      }
      if (sign == '\n' || (sign == '\r' && text == "\n")) text = lines_[at_];  // an editor removed the blank
      const bool is_same = sign == ' ' || sign == '\n' || sign == '\r';
      if (!is_same && sign != '-' && sign != '+') break;
      if (!is_same && !is_open) file.edits.push_back({line, 0, {}});
      is_open = !is_same;
      if (sign != '+') {
        last = &file.lines.insert_or_assign(line++, std::string(text)).first->second;
        ++removed;
      }
      if (sign == '-') ++file.edits.back().removed;
      if (sign != '-') ++added;
      if (sign == '+') last = &file.edits.back().added.emplace_back(text);
      ++at_;
    }
    if (removed != hunk->removed || added != hunk->added) why_ = "the hunk has not as many lines as it says";
  }

  std::vector<std::string_view> lines_;
  size_t at_ = 0;
  FileEdits files_;
  std::string why_;  // reason for the failure at `at_`
};

}  // namespace

Result<FileEdits> read_unified_diff(std::string_view diff) { return Reader(diff).read(); }

Result<std::string> applied(const FileEdit& file, std::string_view content) {
  const std::vector<std::string_view> lines = split_lines(content);
  for (const auto& [number, line] : file.lines) {
    if (number >= lines.size() || lines[number] != line) {
      return Error{file.path + ":" + std::to_string(number + 1) + ": the line is not the one that the patch changes"};
    }
  }
  std::string out;
  size_t at = 0;
  for (const Edit& edit : file.edits) {
    if (edit.end() > lines.size()) {
      return Error{file.path + ":" + std::to_string(lines.size()) + ": the file has not so many lines"};
    }
    for (; at < edit.first; ++at) out += lines[at];
    for (const std::string& line : edit.added) out += line;
    at = edit.end();
  }
  for (; at < lines.size(); ++at) out += lines[at];
  return out;
}

}  // namespace tapelens::check
