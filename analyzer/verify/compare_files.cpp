// Compares the files that two runs leave: their gradients and their standard output.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyzer/verify/compare.h"

namespace tapelens::verify {
namespace {

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

// Reads the file of profiler/record/float64.py: for each gradient a line of JSON, then its numbers.
class Values {
 public:
  explicit Values(const std::string& path) : file_(fopen(path.c_str(), "re")) {}

  struct Head {
    std::string name;
    uint64_t count = 0;  // 0: not an ordinary tensor on the CPU
    bool has_float64 = false;
  };
  // False at the end and on invalid input; on invalid input, at_end() is false too.
  bool next(Head& head) {
    std::string line;
    for (int c; file_ != nullptr && line.size() < kLongestLine && (c = getc(file_.get())) != EOF && c != '\n';)
      line += static_cast<char>(c);
    at_end_ = line == "end";
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("name") || !json["name"].is_string() || !json.contains("count") ||
        !json["count"].is_number_unsigned() || !json.contains("float64") || !json["float64"].is_boolean()) {
      return false;
    }
    head = {json["name"], json["count"], json["float64"]};
    return true;
  }
  bool at_end() const { return at_end_; }
  // Reads the next `count` numbers; false if the file has fewer.
  bool read(double* numbers, size_t count) { return fread(numbers, sizeof *numbers, count, file_.get()) == count; }
  bool skip(uint64_t count) { return fseeko(file_.get(), static_cast<off_t>(count * sizeof(double)), SEEK_CUR) == 0; }
  off_t place() const { return ftello(file_.get()); }
  bool go(off_t place) { return fseeko(file_.get(), place, SEEK_SET) == 0; }

 private:
  static constexpr size_t kLongestLine = 65536;
  File file_;
  bool at_end_ = false;
};

double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }

// Compares one gradient of the bare run, followed by its float64 values, with that of the rewritten run. False if a
// file ends early.
bool compare(Values& bare, Values& rewritten, uint64_t count, GradientError& error) {
  constexpr size_t kAtOnce = 8192;
  std::vector<double> mine(kAtOnce), theirs(kAtOnce), exact(kAtOnce);
  double largest = 0;
  const off_t numbers = bare.place();
  for (uint64_t done = 0; done < count;) {
    const size_t now = static_cast<size_t>(std::min<uint64_t>(kAtOnce, count - done));
    const auto at = [&](uint64_t number) { return numbers + static_cast<off_t>(number * sizeof(double)); };
    if (!bare.go(at(done)) || !bare.read(mine.data(), now) || !bare.go(at(count + done)) ||
        !bare.read(exact.data(), now) || !rewritten.read(theirs.data(), now)) {
      return false;
    }
    for (size_t i = 0; i < now; ++i) {
      error.difference = larger(error.difference, std::abs(mine[i] - theirs[i]));
      error.bare = larger(error.bare, std::abs(mine[i] - exact[i]));
      error.rewritten = larger(error.rewritten, std::abs(theirs[i] - exact[i]));
      largest = larger(largest, std::abs(exact[i]));
    }
    done += now;
  }
  if (largest > 0) {
    for (double* figure : {&error.difference, &error.bare, &error.rewritten}) *figure /= largest;
  }
  return true;
}

Rounding unknown(const std::string& why) {
  Rounding rounding;
  rounding.unknown = why;
  return rounding;
}

// Reads lines in pieces, because a line may be longer than memory.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(fopen(path.c_str(), "re")) {}
  // At most `most` bytes of the rest of the line, including its end; empty at the end of the file.
  std::string piece(size_t most = 65536) {
    std::string text;
    for (int c; file_ != nullptr && text.size() < most && (c = getc(file_.get())) != EOF;) {
      text += static_cast<char>(c);
      if (c == '\n') break;
    }
    return text;
  }

 private:
  File file_;
};

// Quotes the line, so that an empty line is visible.
std::string quoted(const std::string& line) {
  constexpr size_t kMost = 120;
  if (line.empty()) return "";
  const std::string text = line.substr(0, line.find('\n'));
  return '"' + (text.size() > kMost ? text.substr(0, kMost) + "..." : text) + '"';
}

}  // namespace

Rounding compare_values(const std::string& bare_path, const std::string& rewritten_path) {
  Values bare(bare_path), rewritten(rewritten_path);
  Rounding rounding;
  Values::Head mine, theirs;
  for (;;) {
    const bool has_mine = bare.next(mine), has_theirs = rewritten.next(theirs);
    if (!has_mine || !has_theirs) break;
    // A file has fewer numbers than bytes, so a larger count is invalid.
    if (mine.name != theirs.name || mine.count != theirs.count || mine.count > uint64_t{1} << 48) {
      return unknown("the runs have different gradients");
    }
    if (!mine.has_float64) {
      if (!bare.skip(mine.count) || !rewritten.skip(mine.count)) return unknown("the gradients cannot be read");
      ++rounding.left_out;
      continue;
    }
    GradientError error{mine.name};
    if (!compare(bare, rewritten, mine.count, error)) return unknown("the gradients cannot be read");
    rounding.gradients.push_back(std::move(error));
  }
  if (!bare.at_end() || !rewritten.at_end()) return unknown("the runs have different gradients");
  if (rounding.gradients.empty()) return unknown("no gradient could be followed in float64");
  // NaN is the largest difference, so it comes first.
  std::ranges::stable_sort(rounding.gradients, [](const GradientError& a, const GradientError& b) {
    return std::pair(std::isnan(a.difference), a.difference) > std::pair(std::isnan(b.difference), b.difference);
  });
  return rounding;
}

uint64_t count_lines(const std::string& path) {
  Lines lines(path);
  uint64_t count = 0;
  bool is_open = false;
  for (std::string piece; !(piece = lines.piece()).empty(); is_open = !piece.ends_with('\n')) {
    if (!is_open) ++count;
  }
  return count;
}

std::optional<Difference> compare_output(const std::string& bare, const std::string& other) {
  Lines mine(bare), theirs(other);
  for (uint64_t line = 1;;) {
    const std::string a = mine.piece(), b = theirs.piece();
    if (a != b) {
      Difference difference;
      difference.kind = Difference::Kind::output;
      difference.step = line;
      difference.bare = quoted(a);
      difference.rewritten = quoted(b);
      return difference;
    }
    if (a.empty()) return std::nullopt;
    if (a.ends_with('\n')) ++line;
  }
}

}  // namespace tapelens::verify
