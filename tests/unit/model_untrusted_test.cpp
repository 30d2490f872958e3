// Sealed files with correct checksums and nonsensical content. Loading reports the error, or analysis and rendering of
// the result stay within the bounds of the columns.
#include <gtest/gtest.h>

#include <random>

#include "analyzer/report/report.h"
#include "testing/trace_builder.h"
#include "trace/sealed_writer.h"

namespace tapelens::report {
namespace {

using namespace trace;

// Fills every column of a table with `rows` values below `limit`. Some columns are left out, and one may exceed the
// limit.
class Nonsense {
 public:
  Nonsense(SealedWriter& writer, uint32_t seed) : writer_(writer), random_(seed) {}

  uint64_t below(uint64_t limit) { return random_() % limit; }

  template <class... Keys>
  void table(size_t rows, uint64_t limit, const Keys&... keys) {
    (fill(rows, limit, keys), ...);
  }
  template <class T>
  void fill(size_t rows, uint64_t limit, const Column<T>& key) {
    std::vector<T> values(rows);
    for (T& value : values) value = static_cast<T>(below(limit));
    if (below(60) == 0 && rows > 0) values[below(rows)] = static_cast<T>(random_());
    if (below(60) != 0) writer_.write_chunk(key, 0, values.data(), rows);
  }
  // Mostly non-decreasing times.
  template <class... Keys>
  void times(size_t rows, uint64_t from, const Keys&... keys) {
    const auto one = [&](const auto& key) {
      std::vector<uint64_t> values(rows);
      for (uint64_t& value : values) value = from + below(100);
      if (below(60) != 0) std::ranges::sort(values);
      if (below(60) != 0) writer_.write_chunk(key, 0, values.data(), rows);
    };
    (one(keys), ...);
  }
  template <class T>
  void put(const Column<T>& key, const std::vector<T>& values) {
    writer_.write_chunk(key, 0, values.data(), values.size());
  }

 private:
  SealedWriter& writer_;
  std::mt19937_64 random_;
};

void write_nonsense(const std::string& path, uint32_t seed) {
  SealedWriter writer;
  ASSERT_TRUE(writer.open(path));
  Nonsense n(writer, seed);
  constexpr size_t kRows = 12;
  constexpr uint64_t kId = kRows + 1;
  // Shared tables are valid, so that loading gets past them in most files.
  n.put(column<table::StringBytes>.byte, {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'});
  n.put(column<table::Strings>.bytes, std::vector<uint32_t>(kRows, 1));
  n.table(kRows, kId, column<table::Frames>.file, column<table::Frames>.function, column<table::Frames>.line);
  n.put(column<table::Stacks>.depth, std::vector<uint32_t>(kRows, 1));
  n.table(kRows, kId, column<table::StackFrames>.frame);
  n.table(kRows, kId, column<table::Layouts>.dtype, column<table::Layouts>.element_bytes);
  n.put(column<table::Layouts>.rank, std::vector<uint16_t>(kRows, 1));
  n.table(kRows, 1 << 20, column<table::LayoutExtents>.size, column<table::LayoutExtents>.stride);
  n.table(kRows, kId, column<table::Modules>.path, column<table::Modules>.type);
  n.table(kRows, kId, column<table::Devices>.name);
  n.table(3, kId, column<table::Information>.key, column<table::Information>.value);
  n.table(3, kId, column<table::Threads>.os_id);
  n.times(kRows, 0, column<table::Operators>.begin);
  n.table(kRows, kId, column<table::Operators>.name, column<table::Operators>.thread, column<table::Operators>.stack,
          column<table::Operators>.module_call, column<table::Operators>.evaluation);
  n.put(column<table::Operators>.input_count, std::vector<uint16_t>(kRows, 1));
  n.table(kRows, kId, column<table::OperatorInputs>.allocation);
  n.table(kRows, n.below(2) == 0 ? 1 : 3, column<table::Operators>.parent);
  n.table(kRows, kId, column<table::OperatorEnds>.of);
  n.times(kRows, 100, column<table::OperatorEnds>.end);
  n.times(kRows, 0, column<table::Allocations>.time);
  n.table(kRows, n.below(10) == 0 ? UINT64_MAX : 1000, column<table::Allocations>.bytes);
  n.table(kRows, 2, column<table::Allocations>.origin);
  n.table(kRows, kId, column<table::Allocations>.device, column<table::Allocations>.op,
          column<table::Allocations>.evaluation, column<table::Allocations>.stack,
          column<table::Allocations>.module_call);
  n.table(kRows, kId, column<table::Frees>.of);
  n.times(kRows, 100, column<table::Frees>.time);
  n.times(kRows, 0, column<table::Nodes>.time);
  n.table(kRows, kId, column<table::Nodes>.type, column<table::Nodes>.op, column<table::Nodes>.flags,
          column<table::Nodes>.parameter);
  n.put(column<table::Nodes>.edge_count, std::vector<uint16_t>(kRows, 2));
  n.table(kRows, kId, column<table::Nodes>.attributes);
  n.table(2 * kRows, kId, column<table::NodeEdges>.node);
  n.table(kRows, kId, column<table::NodeReleases>.of);
  n.times(kRows, 0, column<table::NodeReleases>.time);
  n.times(kRows, 0, column<table::Saves>.time);
  n.table(kRows, kId, column<table::Saves>.node, column<table::Saves>.field, column<table::Saves>.index,
          column<table::Saves>.allocation, column<table::Saves>.layout);
  n.table(kRows, 8, column<table::Saves>.flags);
  n.times(kRows, 0, column<table::Evaluations>.begin);
  n.table(kRows, kId, column<table::Evaluations>.node, column<table::Evaluations>.thread,
          column<table::Evaluations>.flags);
  n.table(kRows, kId, column<table::EvaluationEnds>.of);
  n.times(kRows, 100, column<table::EvaluationEnds>.end);
  n.table(3, 100, column<table::Backwards>.begin, column<table::Backwards>.end);
  n.table(3, 100, column<table::OptimizerSteps>.begin, column<table::OptimizerSteps>.end);
  n.table(3, 2, column<table::OptimizerSteps>.name);
  n.table(3, 100, column<table::Ranges>.begin, column<table::Ranges>.end);
  n.table(3, kId, column<table::Ranges>.name, column<table::Ranges>.thread);
  n.times(kRows, 0, column<table::Roles>.time);
  n.table(kRows, kId, column<table::Roles>.allocation, column<table::Roles>.kind, column<table::Roles>.name,
          column<table::Roles>.parameter);
  n.times(kRows, 0, column<table::Rewrites>.time);
  n.table(kRows, kId, column<table::Rewrites>.rewrite, column<table::Rewrites>.flags, column<table::Rewrites>.node,
          column<table::Rewrites>.field, column<table::Rewrites>.index, column<table::Rewrites>.reason,
          column<table::Rewrites>.op, column<table::Rewrites>.stack, column<table::Rewrites>.module_call);
  n.table(kRows, n.below(10) == 0 ? UINT64_MAX : 1000, column<table::Rewrites>.bytes, column<table::Rewrites>.kept);
  n.times(kRows, 0, column<table::Checksums>.time);
  n.table(kRows, 100, column<table::Checksums>.step, column<table::Checksums>.value, column<table::Checksums>.spent);
  n.table(kRows, kId, column<table::Checksums>.of, column<table::Checksums>.name);
  n.times(kRows, 0, column<table::ModuleCalls>.begin);
  n.table(kRows, kId, column<table::ModuleCalls>.module, column<table::ModuleCalls>.thread);
  n.table(kRows, 1, column<table::ModuleCalls>.parent);
  n.table(kRows, kId, column<table::ModuleCallEnds>.of);
  n.times(kRows, 100, column<table::ModuleCallEnds>.end);
  n.table(2, 20, column<table::Losses>.kind, column<table::Losses>.count, column<table::Losses>.since);
  ProcessSummary process;
  process.pid = 7;
  ASSERT_TRUE(writer.finish("nonsense", 100, 100, {process}));
}

TEST(Untrusted, FilesOfNonsenseAreRefusedOrReportedButNeverCrashAnything) {
  TestFolder folder;
  int reported = 0, refused = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    const std::string path = folder / "nonsense.tapelens";
    ASSERT_NO_FATAL_FAILURE(write_nonsense(path, seed));
    const auto run = run::Run::open(path);
    if (!run) {
      ++refused;
      continue;
    }
    for (const char* at : {"peak", "step:0", "50ns"}) {
      Options options;
      options.at = *parse_at(at);
      options.by = static_cast<peak::By>(seed % 7);
      const auto built = build(*run, options);
      if (!built) {
        EXPECT_FALSE(built.error().message.empty());
        ++refused;
        continue;
      }
      ++reported;
      EXPECT_FALSE(text(*built, {}).empty());
      EXPECT_FALSE(json(*built).empty());
      EXPECT_FALSE(markdown(*built, 5).empty());
    }
  }
  // Both outcomes must occur, or the test proves nothing.
  EXPECT_GT(reported, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace tapelens::report
