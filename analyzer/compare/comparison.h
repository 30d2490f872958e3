// Compares the figures of two runs: the peak set of each device before and after, new findings, and changed lines of
// the files that ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/changed_lines.h"
#include "analyzer/compare/groups.h"
#include "analyzer/compare/run_figures.h"

namespace tapelens::compare {

// The key that groups the rows of a device.
enum class By : uint8_t { line, field, module, category, op };
inline constexpr const char* kByNames[] = {"line", "field", "module", "category", "operator"};

struct ComparedRow {
  std::optional<Row> a, b;  // at least one of them

  const Row& shown() const { return b ? *b : *a; }
  Bytes before() const { return a ? a->bytes : Bytes{}; }
  Bytes after() const { return b ? b->bytes : Bytes{}; }
  Bytes difference() const { return after() - before(); }
  Change change() const;
};

struct ComparedDevice {
  std::string name;  // "cpu", "cuda:0 of rank 1"
  DeviceFigures a, b;
  Bytes peak_a, peak_b;           // over the steps that both have
  std::vector<ComparedRow> rows;  // the largest difference first
  // Not 1 if most saved tensors differ by this factor in one dimension: another batch, sequence or resolution.
  double size_ratio = 1;

  std::vector<ComparedRow> grown() const;  // the most bytes first
};

struct ChangedFile {
  std::string file;  // as frames of `b` name it
  std::vector<ChangedLine> lines;
};

// A device or process of `a` that `b` does not have, so its figures were not measured.
struct Missing {
  std::string name;    // "cuda:0 of rank 1"
  std::string device;  // "cuda:0"; empty: the whole process
  Bytes peak;          // in `a`
};

struct Comparison {
  RunFigures a, b;
  std::vector<ComparedDevice> devices;
  std::vector<Missing> missing;
  std::vector<KnownFinding> new_findings, gone_findings;
  std::vector<ChangedFile> changes;
  std::vector<std::string> remarks;  // why something is not compared or looks different, one sentence each
};

// An error of kind nothing_compared if no device is in both.
trace::Result<Comparison> compare(RunFigures a, RunFigures b, const FindText& text_of_a, const FindText& text_of_b);

// Lines are those of `b`. Rows that only `a` has keep their lines.
std::vector<ComparedGroup> grouped(const ComparedDevice& device, By by);

// The holder of a row's bytes: "ReluBackward0.result", "gradient of head.weight", "operator aten::mm".
std::string holder_text(const Row& row);
// "train.py:42 Net.forward"; "(no stack)".
std::string place_text(const Frame& frame);

// ---- matching of the rows of two runs, by holder, operator, module, function and statement. Line numbers come last,
// because they move with every edit
struct Pair {
  std::optional<uint32_t> a, b;  // indices; at least one of them
};

// Rows without a match are alone. Rows in `b` come in its order, then the rows only in `a`.
std::vector<Pair> matched(const std::vector<Row>& a, const std::vector<Row>& b);

// The indices of findings that are in `b` and not in `a`.
std::vector<uint32_t> new_findings(const std::vector<KnownFinding>& a, const std::vector<KnownFinding>& b);

}  // namespace tapelens::compare
