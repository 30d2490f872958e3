// With recordings that are longer in one respect, the time of sealing, of each part of the analysis, of each check, of
// each report, of each table and of each export grows linearly.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/compare/comparison.h"
#include "analyzer/compare/gate.h"
#include "analyzer/compare/renderings.h"
#include "analyzer/export/export.h"
#include "analyzer/peak/pauses.h"
#include "analyzer/ranks/summary.h"
#include "analyzer/report/formats.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"
#include "analyzer/tables/opened.h"
#include "analyzer/tables/table.h"
#include "plugins/builtin.h"
#include "testing/synthetic.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/doubling.h"
#include "trace/seal.h"

namespace tapelens {
namespace {

using testing::Costs;
using testing::SyntheticOptions;

struct Shape {
  const char* name;
  SyntheticOptions (*recording)(uint32_t times);
};

constexpr Shape kShapes[] = {
    {"Steps", [](uint32_t n) { return SyntheticOptions{.steps = n * 750, .layers = 1}; }},
    {"Parameters", [](uint32_t n) { return SyntheticOptions{.steps = 3, .layers = n * 150}; }},
    {"ParametersUpdatedTogether",
     [](uint32_t n) { return SyntheticOptions{.steps = 3, .layers = n * 150, .foreach_optimizer = true}; }},
    {"Depth", [](uint32_t n) { return SyntheticOptions{.steps = 60, .layers = 1, .depth = n * 75}; }},
    {"Threads", [](uint32_t n) { return SyntheticOptions{.steps = 50, .layers = 1, .threads = n * 200}; }},
    {"LiveTensors", [](uint32_t n) { return SyntheticOptions{.steps = 100, .layers = 1, .kept = n * 40}; }},
    {"StepsThatKeepTensors", [](uint32_t n) { return SyntheticOptions{.steps = n * 300, .layers = 1, .kept = 10}; }},
    {"Processes", [](uint32_t n) { return SyntheticOptions{.steps = 10, .layers = 3, .processes = n * 6}; }},
};
void PrintTo(const Shape& shape, std::ostream* to) { *to << shape.name; }

std::string sealed(const trace::TestFolder& folder, const SyntheticOptions& options, Costs& costs) {
  const std::string spools = folder / "spools";
  std::filesystem::create_directory(spools);
  const auto written = testing::write_synthetic_spools(spools, options);
  EXPECT_TRUE(written) << (written ? "" : written.error().message);
  trace::SealOptions sealing;
  sealing.directory = spools;
  sealing.output = folder / "run.tapelens";
  sealing.command = "python train.py";
  costs["seal"] = testing::seconds_of([&] { EXPECT_TRUE(trace::seal(sealing)); });
  return sealing.output;
}

void add_analysis(const run::Run& run, Costs& costs) {
  for (uint32_t index = 0; index < run.processes(); ++index) {
    std::shared_ptr<const run::ProcessRun> process;
    const auto add = [&](const char* part, auto compute) { costs[part] += testing::seconds_of(compute); };
    add("load", [&] { process = run.process(index); });
    const peak::Analysis& analysis = process->analysis();
    add("steps", [&] { analysis.steps(); });
    add("phases", [&] { analysis.phases(); });
    add("provenance", [&] { analysis.provenance(); });
    add("lifetimes", [&] { analysis.lifetimes(); });
    add("longest lifetimes", [&] { analysis.longest_lifetimes(); });
    add("in use", [&] { analysis.in_use(); });
    add("devices", [&] { analysis.devices(); });
    for (const run::DeviceRun* device : process->devices()) {
      add("timeline", [&] { device->analysis().timeline(); });
      add("pauses", [&] { peak::find_pauses(analysis.process(), device->analysis().device()); });
      add("peak set", [&] { device->analysis().peak(); });
      add("memory of steps", [&] { step_memory(analysis, device->analysis().timeline()); });
    }
  }
}

void add_checks(const run::Run& run, advise::Checks& checks, Costs& costs) {
  for (uint32_t index = 0; index < run.processes(); ++index) {
    const auto process = run.process(index);
    for (const run::DeviceRun* device : process->devices()) {
      for (const auto& entry : checks.entries()) {
        advise::AdviceOptions only;
        only.checks.emplace_back(entry.check->info().id);
        costs["check " + only.checks[0]] +=
            testing::seconds_of([&] { advise::advise(device->analysis(), checks, only); });
      }
    }
  }
}

void add_reports(const run::Run& run, advise::Checks& checks, Costs& costs) {
  for (const report::Format* format : report::formats()) {
    report::Options options;
    options.top = format->rows;
    options.keeps_equal = format->joins_equal;
    options.is_pictured = format->is_pictured;
    const report::Advising advising{checks, {}, {}};
    trace::Result<report::Report> report = trace::Error{"not built"};
    costs[std::string("report for ") + format->name] =
        testing::seconds_of([&] { report = report::build(run, options, &advising); });
    ASSERT_TRUE(report) << report.error().message;
    const auto add = [&](const char* what, report::Render render) {
      if (render == nullptr) return;
      costs[std::string(what) + " as " + format->name] = testing::seconds_of([&] { render(*report, {}); });
    };
    add("report", format->report);
    add("findings", format->advice);
  }
}

void add_exports(const run::Run& run, const trace::TestFolder& folder, Costs& costs) {
  for (const exporting::Format* format : exporting::formats())
    costs[std::string("export to ") + format->name] = testing::seconds_of(
        [&] { EXPECT_TRUE(exporting::export_recording(run, {}, *format, {folder / format->name})); });
}

void add_tables(const run::Run& run, Costs& costs) {
  tables::Opened opened(run, plugins::builtin_checks);
  for (const tables::Table& table : tables::all_tables())
    for (uint32_t process = 0; process < (table.is_shared ? 1 : run.processes()); ++process)
      costs["table " + table.name] += testing::seconds_of([&] {
        const auto part = opened.part(table, process);
        const uint64_t rows = table.rows(*part);
        for (const tables::TableColumn& column : table.columns) column.make(part, {0, rows});
      });
}

constexpr std::array kBy = {compare::By::line, compare::By::field, compare::By::module, compare::By::category,
                            compare::By::op};

void add_comparisons(const run::Run& run, advise::Checks& checks, Costs& costs) {
  const auto no_text = [](const compare::SourceVersion&) { return std::optional<std::string>(); };
  std::optional<compare::RunFigures> figures;
  costs["figures of a run"] = testing::seconds_of([&] {
    auto computed = compare::figures_of_run(run, &checks, {}, no_text);
    ASSERT_TRUE(computed) << computed.error().message;
    figures = std::move(*computed);
  });
  if (!figures) return;
  std::optional<compare::Comparison> comparison;
  costs["comparison"] = testing::seconds_of([&] {
    auto compared = compare::compare(*figures, *figures, no_text, no_text);
    ASSERT_TRUE(compared) << compared.error().message;
    comparison = std::move(*compared);
  });
  if (!comparison) return;
  for (const compare::DiffFormat& format : compare::kDiffFormats)
    costs[std::string("difference as ") + format.name] =
        testing::seconds_of([&] { format.render(*comparison, kBy, {}); });
  const compare::GateResult verdict = compare::judge(*figures, &*comparison, {});
  for (const compare::VerdictFormat& format : compare::kVerdictFormats)
    costs[std::string("verdict as ") + format.name] = testing::seconds_of([&] { format.render(verdict, {}); });
}

Costs cost_by_part(const Shape& shape, uint32_t times) {
  Costs costs;
  const trace::TestFolder folder;
  const std::string path = sealed(folder, shape.recording(times), costs);
  const auto run = run::Run::open(path);
  EXPECT_TRUE(run);
  if (!run) return {};
  advise::Checks checks = plugins::builtin_checks();
  add_analysis(*run, costs);
  add_checks(*run, checks, costs);
  add_reports(*run, checks, costs);
  add_exports(*run, folder, costs);
  add_tables(*run, costs);
  add_comparisons(*run, checks, costs);
  costs["summary"] = testing::seconds_of([&] { ranks::summary_json(ranks::summarize(*run, &checks, "1")); });
  return costs;
}

class RecordingScaling : public ::testing::TestWithParam<Shape> {};

TEST_P(RecordingScaling, CostsGrowLinearly) {
  testing::expect_linear([](int times) { return cost_by_part(GetParam(), static_cast<uint32_t>(times)); });
}

INSTANTIATE_TEST_SUITE_P(Shapes, RecordingScaling, ::testing::ValuesIn(kShapes),
                         [](const auto& shape) { return std::string(shape.param.name); });

}  // namespace
}  // namespace tapelens
