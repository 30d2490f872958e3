// Every column of trace/schema.h has a reader. The test changes the values of one column after another in small
// recordings (support/scenes.h). The changed values are sound. A visible output must change: the report, the advice,
// the predicted effect of rewrites, the verdict, or the threads of the timeline. Loading a column or checking its
// soundness does not count as reading it.
//
// The test has no list of columns or values. Columns come from the schema; new values are other values of the same
// column, or values close to the present one. If loading leaves out a value as unsound, the test tries another value.
// So the test names each column without a reader, also a new one. It also names a column if no scene has the rows that
// its only reader uses. In this case, add a scene.
//
// For the timeline, the test compares its input (model/load.h). The window, which draws it, is not linked here.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/load.h"
#include "analyzer/report/report.h"
#include "analyzer/snapshot/import.h"
#include "analyzer/verify/verdict.h"
#include "analyzer/verify/verify.h"
#include "plugins/builtin.h"
#include "testing/sealed_parts.h"
#include "tests/unit/support/pickles.h"
#include "tests/unit/support/scenes.h"

namespace tapelens {
namespace {

using trace::ProcessIndex;
using trace::Recording;

// ---- visible output ---------------------------------------------------------------------------------------------

// A bare run, and one recording for all other runs.
class TwoRuns final : public verify::ProgramRuns {
 public:
  TwoRuns(const verify::ProgramRun& bare, const std::string& rewritten) : bare_(bare), rewritten_(rewritten) {}
  trace::Result<verify::ProgramRun> run(const policy::RewriteSettings& rewrites, const RunOptions&) override {
    return rewrites.on ? verify::read_run(rewritten_) : bare_;
  }
  void tell(const std::string&) override {}

 private:
  const verify::ProgramRun& bare_;
  const std::string& rewritten_;
};

std::string verdict(const verify::ProgramRun& bare, const std::string& path) {
  TwoRuns runs(bare, path);
  policy::RewriteSettings settings;
  settings.on = true;
  settings.level = "lossless";
  const auto found = verify::verify(runs, settings);
  return found ? verify::verdict_json(*found) : found.error().message;
}

std::string threads(const Recording& recording, const model::Process& process) {
  const model::Threads t = model::load_threads(recording, process, ProcessIndex{0});
  std::string out;
  const auto add = [&](const auto& column) {
    for (size_t row = 1; row < column.raw.size(); ++row) out += std::to_string(t.os_id.raw[column.raw[row]]) + ' ';
  };
  add(t.of_operator), add(t.of_module_call), add(t.of_evaluation);
  return out;
}

// No value if a check refuses the recording.
std::optional<std::string> report(const run::Run& run, const advise::AdviceOptions& wanted) {
  advise::Checks checks = plugins::builtin_checks();
  const report::Advising advising{checks, wanted, {}};
  auto report = report::build(run, {}, &advising);
  if (!report) return report.error().message;
  if (!report->advice->refused.empty()) return std::nullopt;
  report->recording.file_bytes = 0;  // depends on the compressed size of the values
  return report::json(*report);
}

// The visible output. No value if the recording is not sound. `bare`: the run to compare with in the verdict.
std::optional<std::string> seen(const std::string& path, const verify::ProgramRun& bare,
                                const trace::TestFolder& sources) {
  const auto run = run::Run::open(path);
  if (!run || !run->recording().left_out().empty()) return std::nullopt;
  const model::Text& text = run->text();
  const auto first = run->process(0);
  const model::Process& process = first->process();
  if (!text.left_out.empty() || !process.left_out.empty()) return std::nullopt;
  advise::AdviceOptions wanted;
  wanted.sources = {check::source_tree_at(sources.path())};
  const auto advised = report(*run, wanted);
  wanted.applying.emplace();
  wanted.applying->level = wanted.applying->name = "bitwise";
  const auto predicted = report(*run, wanted);
  if (!advised || !predicted) return std::nullopt;
  return *advised + *predicted + verdict(bare, path) + threads(run->recording(), process);
}

// ---- other values -----------------------------------------------------------------------------------------------

// Calls fits(values) with one change after another until fits() returns true. The changes: one row, all rows with one
// value, a swap of two rows, all rows. They may be unsound.
template <class T>
bool any_change(const std::vector<T>& values, const std::function<bool(const std::vector<T>&)>& fits) {
  const std::set<T> known(values.begin(), values.end());
  const auto with = [&](auto change) {
    std::vector<T> other = values;
    change(other);
    return other != values && fits(other);
  };
  const auto around = [&](T value) {
    std::set<T> others = known;
    for (const T more : {T(value + 1), T(value - 1), T(value ^ 1), T(value ^ 2), T(value ^ 4), T(value ^ 8), T(0)})
      others.insert(more);
    return others;
  };
  for (size_t row = 0; row < values.size(); ++row) {
    for (const T other : around(values[row])) {
      if (with([&](auto& all) { all[row] = other; })) return true;
    }
  }
  for (const T value : known) {
    for (const T other : around(value)) {
      if (with([&](auto& all) { std::ranges::replace(all, value, other); })) return true;
    }
  }
  for (size_t row = 0; row < values.size(); ++row) {
    for (size_t other = 0; other < row; ++other) {
      if (with([&](auto& all) { std::swap(all[row], all[other]); })) return true;
    }
  }
  return with([](auto& all) {
    for (T& value : all) ++value;
  });
}

// A recording, and its visible output.
class Subject {
 public:
  explicit Subject(const testing::Scene& scene)
      : scene_(scene), recording_(std::move(*Recording::open(scene.path()))), run_(*verify::read_run(scene.path())) {
    std::ifstream file(scene.path(), std::ios::binary);
    file_.assign(std::istreambuf_iterator<char>(file), {});
    const auto unchanged = seen(scene.path(), run_, scene.folder());
    if (!unchanged) throw std::runtime_error(scene.name() + " is not sound");
    seen_ = *unchanged;
  }

  const std::string& name() const { return scene_.name(); }
  bool has(const trace::ColumnKey& key) const { return recording_.rows(key.table, ProcessIndex{0}) > 0; }
  // Whether some other values of the column change the visible output.
  template <class Key>
  bool shows(const Key& key) const {
    using Raw = typename Key::Raw;
    return any_change<Raw>(values(key), [&](const std::vector<Raw>& other) {
      // Every reader refuses decreasing times, so the test writes no file for them.
      constexpr bool kNeverFalls =
          std::is_same_v<typename Key::Value, trace::Time> && Key::kTransform == trace::Transform::delta;
      return (!kNeverFalls || std::ranges::is_sorted(other)) && shows(key, other);
    });
  }
  // Whether these values change the visible output. False as well if they are not sound.
  template <class Raw>
  bool shows(const trace::Column<Raw>& key, const std::vector<Raw>& values) const {
    testing::SealedParts parts = *testing::SealedParts::of(file_);
    parts.set(key, values);
    const std::string other = other_ / "other.tapelens";
    std::ofstream(other, std::ios::binary) << parts.bytes();
    const auto found = seen(other, run_, scene_.folder());
    return found && *found != seen_;
  }
  template <class Raw>
  std::vector<Raw> values(const trace::Column<Raw>& key) const {
    std::vector<Raw> values = recording_.column(key);
    values.erase(values.begin());
    return values;
  }

 private:
  const testing::Scene& scene_;
  Recording recording_;
  verify::ProgramRun run_;
  trace::TestFolder other_;
  std::string file_, seen_;
};

// ---- a snapshot with the stacks of a backward and of an optimizer's step
// --------------------------------------------------

std::string imported_history() {
  constexpr int64_t kBase = 0x7f0000000000, kSize = 2 * static_cast<int64_t>(testing::kMiB);
  const auto frames = [](const std::vector<std::pair<std::string, std::string>>& all) {
    std::vector<std::string> out;
    for (const auto& [file, function] : all)
      out.push_back(testing::dict(
          {{"filename", testing::text(file)}, {"line", testing::number(7)}, {"name", testing::text(function)}}));
    return testing::list(out);
  };
  const std::string gradient = frames({{"??", "at::_ops::empty_memory_format::call(c10::ArrayRef<long>)"},
                                       {"??", "at::_ops::mul_Tensor::call(at::Tensor const&)"},
                                       {"??", "torch::autograd::generated::MulBackward0::apply(int)"},
                                       {"??", "torch::autograd::Engine::thread_main(int)"}});
  const std::string state = frames({{"/site-packages/torch/optim/adam.py", "_init_group"},
                                    {"/site-packages/torch/optim/adam.py", "step"},
                                    {"/site-packages/torch/optim/optimizer.py", "wrapper"},
                                    {"/home/me/train.py", "main"}});
  std::vector<std::string> blocks, entries;
  for (const std::string* stack : {&gradient, &gradient, &state}) {
    const int64_t address = kBase + kSize * static_cast<int64_t>(blocks.size());
    blocks.push_back(testing::dict({{"address", testing::number(address)},
                                    {"size", testing::number(kSize)},
                                    {"requested_size", testing::number(kSize)},
                                    {"state", testing::text("active_allocated")}}));
    entries.push_back(testing::dict({{"action", testing::text("alloc")},
                                     {"addr", testing::number(address)},
                                     {"size", testing::number(kSize)},
                                     {"stream", testing::number(0)},
                                     {"time_us", testing::number(1000 + static_cast<int64_t>(entries.size()))},
                                     {"frames", *stack}}));
  }
  const std::string segment = testing::dict({{"device", testing::number(0)},
                                             {"address", testing::number(kBase)},
                                             {"total_size", testing::number(3 * kSize)},
                                             {"stream", testing::number(0)},
                                             {"blocks", testing::list(blocks)}});
  return testing::dict(
      {{"segments", testing::list({segment})}, {"device_traces", testing::list({testing::list(entries)})}});
}

std::unique_ptr<const testing::Scene> imported_scene() {
  auto scene = std::make_unique<testing::Scene>("imported");
  snapshot::ImportOptions options;
  options.input = scene->folder() / "s.pickle";
  options.output = scene->path();
  testing::write_file(options.input, testing::pickled(imported_history()));
  const auto imported = snapshot::import_snapshot(options);
  if (!imported) throw std::runtime_error(imported.error().message);
  return scene;
}

TEST(Columns, EachHasAReader) {
  auto scenes = testing::scenes();
  scenes.push_back(imported_scene());
  std::vector<std::unique_ptr<const Subject>> subjects;
  for (const auto& scene : scenes) subjects.push_back(std::make_unique<const Subject>(*scene));
  trace::for_each_table([&]<template <template <class> class> class T>() {
    trace::for_each_column<T>(
        [&](const auto& key) {
          const std::string name = std::string(trace::Row<T>::kName) + "." + key.name;
          bool is_there = false, is_read = false;
          for (const auto& subject : subjects) {
            if (is_read || !subject->has(key)) continue;
            is_there = true;
            EXPECT_FALSE(subject->shows(key, subject->values(key))) << name << ": written again in " << subject->name();
            is_read = subject->shows(key);
          }
          EXPECT_TRUE(is_there) << name << ": no scene has rows of its table";
          EXPECT_TRUE(!is_there || is_read) << name << " has no reader: its values change no output";
        },
        trace::column<T>);
  });
}

}  // namespace
}  // namespace tapelens
