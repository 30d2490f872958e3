// Sealed files whose checksums are right and whose content is nonsense: loading says what is wrong, and whatever it
// lets through can be analysed and rendered without reading outside of a column.
#include <gtest/gtest.h>

#include <random>

#include "analyzer/report/report.h"
#include "testing/trace_builder.h"
#include "trace/sealed_writer.h"

namespace tapelens::report {
namespace {

using namespace trace;

// Fills every column of a table with `rows` values below `limit`; some columns are left out, and one may be wild.
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
  // Times that do not fall, most of the time.
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
  using namespace column;
  SealedWriter writer;
  ASSERT_TRUE(writer.open(path));
  Nonsense n(writer, seed);
  constexpr size_t kRows = 12;
  constexpr uint64_t kId = kRows + 1;
  // What is shared is right, so that most of the files get past it.
  n.put(string_byte, {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'});
  n.put(string_length, std::vector<uint32_t>(kRows, 1));
  n.table(kRows, kId, frame_file, frame_function, frame_line);
  n.put(stack_depth, std::vector<uint32_t>(kRows, 1));
  n.table(kRows, kId, stack_frame);
  n.table(kRows, kId, layout_dtype, layout_element_bytes);
  n.put(layout_rank, std::vector<uint16_t>(kRows, 1));
  n.table(kRows, 1 << 20, layout_size, layout_stride);
  n.table(kRows, kId, module_path, module_type);
  n.table(kRows, kId, device_name);
  n.table(3, kId, information_key, information_value);
  n.table(3, kId, thread_os_id);
  n.times(kRows, 0, operator_begin);
  n.table(kRows, kId, operator_name, operator_thread, operator_stack, operator_module, operator_flags,
          operator_evaluation);
  n.put(operator_input_count, std::vector<uint16_t>(kRows, 1));
  n.table(kRows, kId, input_allocation);
  n.table(kRows, n.below(2) == 0 ? 1 : 3, operator_parent);
  n.table(kRows, kId, operator_end_of);
  n.times(kRows, 100, operator_end);
  n.times(kRows, 0, allocation_time);
  n.table(kRows, n.below(10) == 0 ? UINT64_MAX : 1000, allocation_bytes);
  n.table(kRows, 2, allocation_origin);
  n.table(kRows, kId, allocation_device, allocation_thread, allocation_operator, allocation_evaluation,
          allocation_stack, allocation_module);
  n.table(kRows, kId, free_of);
  n.times(kRows, 100, free_time);
  n.times(kRows, 0, node_time);
  n.table(kRows, kId, node_type, node_operator, node_flags, node_parameter, node_thread);
  n.put(node_edge_count, std::vector<uint16_t>(kRows, 2));
  n.table(kRows, kId, node_attributes);
  n.table(2 * kRows, kId, edge_node);
  n.table(kRows, kId, release_of);
  n.times(kRows, 0, release_time);
  n.times(kRows, 0, save_time);
  n.table(kRows, kId, save_node, save_field, save_index, save_allocation, save_layout);
  n.table(kRows, 8, save_flags);
  n.times(kRows, 0, evaluation_begin);
  n.table(kRows, kId, evaluation_node, evaluation_thread, evaluation_flags);
  n.table(kRows, kId, evaluation_end_of);
  n.times(kRows, 100, evaluation_end);
  n.table(3, 100, backward_begin, backward_end);
  n.table(3, 100, optimizer_begin, optimizer_end);
  n.table(3, 2, optimizer_name);
  n.table(3, 100, range_begin, range_end);
  n.table(3, kId, range_name, range_thread);
  n.times(kRows, 0, role_time);
  n.table(kRows, kId, role_allocation, role_kind, role_name, role_parameter);
  n.times(kRows, 0, rewrite_time);
  n.table(kRows, kId, rewrite_id, rewrite_flags, rewrite_node, rewrite_field, rewrite_index, rewrite_reason,
          rewrite_operator, rewrite_stack, rewrite_module);
  n.table(kRows, n.below(10) == 0 ? UINT64_MAX : 1000, rewrite_bytes, rewrite_kept);
  n.times(kRows, 0, checksum_time);
  n.table(kRows, 100, checksum_step, checksum_value, checksum_spent);
  n.table(kRows, kId, checksum_of, checksum_name);
  n.times(kRows, 0, module_call_begin);
  n.table(kRows, kId, module_call_module, module_call_thread);
  n.table(kRows, 1, module_call_parent);
  n.table(kRows, kId, module_call_end_of);
  n.times(kRows, 100, module_call_end);
  n.table(2, 20, loss_kind, loss_count, loss_time);
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
    const auto recording = Recording::open(path);
    if (!recording) {
      ++refused;
      continue;
    }
    for (const char* at : {"peak", "step:0", "50ns"}) {
      Options options;
      options.at = *parse_at(at);
      options.by = static_cast<peak::By>(seed % 7);
      const auto built = build(*recording, options);
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
  // Both ways are taken, or the test shows nothing.
  EXPECT_GT(reported, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace tapelens::report
