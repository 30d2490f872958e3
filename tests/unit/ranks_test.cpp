// The ranks of a run together: summaries of real recordings, a thousand of them, and damaged ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "analyzer/model/load.h"
#include "analyzer/peak/groups.h"
#include "analyzer/ranks/job.h"
#include "analyzer/ranks/renderings.h"
#include "analyzer/ranks/summary.h"
#include "analyzer/text/json.h"
#include "testing/synthetic_ranks.h"
#include "testing/trace_builder.h"
#include "trace/recording.h"

namespace tapelens::ranks {
namespace {

using testing::kKeepsMore;
using testing::kNotSharded;
using testing::SyntheticRanks;
using trace::Recording;
using trace::Role;
using trace::SpoolBuilder;
using trace::TestFolder;

constexpr uint64_t kMiB = 1 << 20;
constexpr const char* kVersion = "1.0";

std::vector<RankFile> sources_of(const SyntheticRanks& synthetic, int32_t count) {
  std::vector<RankFile> out;
  for (int32_t rank = 0; rank < count; ++rank) {
    out.push_back({.file = "rank" + std::to_string(rank), .summary = synthetic.of(rank), .why = {}});
  }
  return out;
}

Job merged(std::vector<RankFile> sources, const Options& options = {}) {
  auto job = merge(std::move(sources), options, kVersion);
  if (!job) throw std::runtime_error(job.error().message);
  return std::move(*job);
}

// In the form that sealed files have.
Summary through_json(const Summary& summary) {
  const std::string json = summary_json(summary);
  EXPECT_LE(json.size(), 65536u);
  auto read = read_summary(json);
  if (!read) throw std::runtime_error(read.error().message);
  return std::move(*read);
}

const Outlier* outlier_of(const Job& job, int32_t rank) {
  const auto at =
      std::ranges::find(job.outliers, rank, [&](const Outlier& o) { return job.ranks[o.rank].summary.rank; });
  return at == job.outliers.end() ? nullptr : &*at;
}

std::string reason(const Outlier& outlier, By by) {
  for (const Reason& one : outlier.reasons) {
    if (one.by == by) return one.key;
  }
  return "";
}

// ---- a thousand ranks

TEST(Ranks, ThreeOddOnesOfAThousandAreFoundWithTheReason) {
  std::vector<RankFile> sources = sources_of(SyntheticRanks(1024), 1024);
  for (RankFile& source : sources) source.summary = through_json(*source.summary);
  const Job job = merged(std::move(sources));
  ASSERT_EQ(job.ranks.size(), 1024u);
  EXPECT_EQ(job.device_type, "cuda");
  EXPECT_EQ(job.hosts.size(), 128u);
  EXPECT_EQ(job.outliers.size(), 3u);

  const Outlier* more = outlier_of(job, kKeepsMore);
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more->of, Outlier::Of::peak);
  EXPECT_NEAR(static_cast<double>(more->here - more->median), 3072.0 * kMiB, 4.0 * kMiB);
  ASSERT_TRUE(more->z);
  EXPECT_GT(*more->z, 100);
  EXPECT_EQ(reason(*more, By::category), "saved");
  EXPECT_EQ(reason(*more, By::field), "LogSoftmaxBackward0.result");
  EXPECT_EQ(reason(*more, By::module), "GPT.head");
  EXPECT_EQ(reason(*more, By::line), "train.py:88 loss");

  const Outlier* whole = outlier_of(job, kNotSharded);
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(whole->of, Outlier::Of::peak);
  EXPECT_EQ(reason(*whole, By::category), "optimizer_state");
  EXPECT_EQ(reason(*whole, By::line), "train.py:70 main");
  EXPECT_EQ(reason(*whole, By::module), "");  // each of forty has a fortieth: no share reaches a tenth

  const Outlier* early = outlier_of(job, testing::kOutOfMemory);
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(early->of, Outlier::Of::steps);
  EXPECT_EQ(early->here, 36);
  EXPECT_EQ(early->median, 40);
  ASSERT_EQ(job.ended_badly.size(), 1u);
  EXPECT_EQ(job.ended_badly[0].first.summary.rank, testing::kOutOfMemory);
  EXPECT_NE(job.ended_badly[0].second.find("out of memory on cuda:0 in step 36: 2.0 GiB requested"), std::string::npos)
      << job.ended_badly[0].second;
  EXPECT_EQ(job.missing_count, 0u);

  ASSERT_EQ(job.findings.size(), 21u);
  EXPECT_EQ(job.findings.front().ranks.size(), 1024u);
  EXPECT_EQ(job.findings.back().ranks, std::vector<size_t>{static_cast<size_t>(kKeepsMore)});
  const std::string shown = ranks_text(job, {});
  for (const char* part :
       {"1,024 ranks on 128 hosts, peak on cuda: median", "Ranks that stand out  3 of 1,024", "rank 37 on node4: peak",
        "GPT.head", "rank 512 on node64: out of memory", "on all 1,024 ranks", "rank 901 on node112"}) {
    EXPECT_NE(shown.find(part), std::string::npos) << part << "\n" << shown;
  }
}

// Ordinary runs differ by the memory of the data loader. This is not an outlier.
TEST(Ranks, NoneStandsOutWhereNoneIsOdd) {
  const Job job = merged(sources_of(SyntheticRanks(32), 32));
  EXPECT_TRUE(job.outliers.empty());
  EXPECT_TRUE(job.ended_badly.empty());
}

TEST(Ranks, ThoseThatAreMissingAreNamed) {
  std::vector<RankFile> sources = sources_of(SyntheticRanks(64), 40);
  sources.erase(sources.begin() + 3, sources.begin() + 5);
  const Job job = merged(std::move(sources));
  EXPECT_EQ(job.expected, 64u);
  EXPECT_EQ(job.missing_count, 26u);
  EXPECT_EQ(job.missing, (std::vector<std::pair<uint64_t, uint64_t>>{{3, 4}, {40, 63}}));
  EXPECT_NE(ranks_text(job, {}).find("No recording exists of 26 of the 64 ranks: 3 to 4, 40 to 63"), std::string::npos);
}

std::vector<RankFile> two_of(int32_t first, int32_t second) {
  const SyntheticRanks synthetic(1024);
  return {{.file = "a", .summary = synthetic.of(first), .why = {}},
          {.file = "b", .summary = synthetic.of(second), .why = {}}};
}

TEST(Ranks, TwoAreComparedInOneSentence) {
  const Job job = merged(two_of(kKeepsMore, 36));
  const std::string sentence = two_ranks_text(job);
  EXPECT_TRUE(sentence.starts_with("Rank 37 needs 3.0 GiB (9.4 %) more than rank 36: mainly saved for backward ("))
      << sentence;
  EXPECT_TRUE(sentence.ends_with("), LogSoftmaxBackward0.result, GPT.head, train.py:88 loss.")) << sentence;
  for (const std::string& shown : {ranks_text(job, {.width = 200}), ranks_markdown(job, {})}) {
    EXPECT_NE(shown.find(sentence), std::string::npos) << shown;
    for (const char* part : {"median rank", "least", "stand out", "from 5 ranks on"}) {
      EXPECT_EQ(shown.find(part), std::string::npos) << part << "\n" << shown;
    }
  }
  const auto json = text::Json::parse(ranks_json(job, {})).at("two_ranks");
  EXPECT_EQ(json.at("larger"), 37);
  EXPECT_EQ(json.at("why"), sentence);
  EXPECT_EQ(json.at("difference_bytes"), job.most.value - job.least.value);
  EXPECT_EQ(
      json.at("reasons").at(0).at("bytes").get<int64_t>() - json.at("reasons").at(0).at("other_bytes").get<int64_t>(),
      json.at("difference_bytes"));
}

TEST(Ranks, ACategoryWithoutFieldsIsNamedOnce) {
  const std::string sentence = two_ranks_text(merged(two_of(kNotSharded, 36)));
  EXPECT_TRUE(sentence.ends_with(": mainly optimizer state (800.0 MiB -> 6.2 GiB), train.py:70 main.")) << sentence;
}

TEST(Ranks, MemoryOutsideOfModulesNamesNoModule) {
  std::vector<RankFile> files = two_of(kKeepsMore, 36);
  for (RankFile& file : files) {
    for (Sum& sum : file.summary->processes[0].devices[0].by[static_cast<size_t>(By::module)].rows) {
      if (sum.key == "GPT.head") sum.key = "(outside of modules)";
    }
  }
  const std::string sentence = two_ranks_text(merged(std::move(files)));
  EXPECT_TRUE(sentence.ends_with("), LogSoftmaxBackward0.result, train.py:88 loss.")) << sentence;
}

TEST(Ranks, TwoThatNeedAboutTheSameHaveNoReason) {
  const std::string close = two_ranks_text(merged(two_of(35, 36)));
  EXPECT_TRUE(close.ends_with(": about the same.")) << close;
  EXPECT_EQ(close.find("mainly"), std::string::npos) << close;
  std::vector<RankFile> equal = two_of(35, 35);
  equal[1].summary->processes[0].rank = 36;
  const std::string same = two_ranks_text(merged(std::move(equal)));
  EXPECT_TRUE(same.starts_with("Both ranks need ")) << same;
  EXPECT_EQ(two_ranks_text(merged(sources_of(SyntheticRanks(3), 3))), "");
}

TEST(Ranks, FewerThanFiveAreNotJudged) {
  const Job job = merged(sources_of(SyntheticRanks(4), 4));
  EXPECT_TRUE(job.outliers.empty());
  EXPECT_NE(ranks_text(job, {}).find("from 5 ranks on"), std::string::npos);
}

TEST(Ranks, ARankThatWasStartedAgainIsComparedOnce) {
  std::vector<RankFile> sources = sources_of(SyntheticRanks(8), 8);
  RankFile again = sources[3];
  sources[3].summary->processes[0].finished = false;
  sources[3].summary->processes[0].exit_code.reset();
  again.summary->processes[0].begin_ns += 1'000'000'000'000;
  again.file = "again";
  sources.push_back(again);
  const Job job = merged(std::move(sources));
  ASSERT_EQ(job.ranks.size(), 8u);
  EXPECT_EQ(job.ranks[3].file, "again");
  ASSERT_EQ(job.ended_badly.size(), 1u);  // the failed first run of the rank is still reported
  EXPECT_EQ(job.ended_badly[0].first.file, "rank3");
  EXPECT_EQ(job.remarks.size(), 1u);
}

TEST(Ranks, TheFirstThatDiedComesFirst) {
  std::vector<RankFile> sources = sources_of(SyntheticRanks(8), 8);
  for (RankFile& source : sources) {
    source.summary->processes[0].finished = false;
    source.summary->processes[0].end_ns += 1'000'000;
  }
  sources[5].summary->processes[0].end_ns -= 1'000'000'000;
  const Job job = merged(std::move(sources));
  ASSERT_EQ(job.ended_badly.size(), 8u);
  EXPECT_EQ(job.ended_badly.front().first.summary.rank, 5);
}

TEST(Ranks, AProcessThatStillRanWhenItsRecordingWasMadeDidNotDie) {
  std::vector<RankFile> sources = sources_of(SyntheticRanks(8), 8);
  for (const size_t rank : {2, 3}) {
    sources[rank].summary->processes[0].finished = false;
    sources[rank].summary->processes[0].exit_code.reset();
  }
  sources[2].summary->processes[0].running = true;
  const Job job = merged(std::move(sources));
  EXPECT_EQ(end_text(job.ranks[2].summary), "still running");
  EXPECT_EQ(end_text(job.ranks[3].summary), "died");
  ASSERT_EQ(job.ended_badly.size(), 1u);
  EXPECT_EQ(job.ended_badly[0].first.summary.rank, 3);
}

// The caller can choose another device type. The error for an absent type lists the device types of the recordings.
TEST(Ranks, TheTypeOfDeviceCanBeChosen) {
  std::vector<RankFile> sources = sources_of(SyntheticRanks(8), 8);
  for (RankFile& source : sources) {
    DeviceSummary host = source.summary->processes[0].devices[0];
    host.device = "cpu";
    host.peak = Bytes{5};
    source.summary->processes[0].devices.push_back(host);
  }
  EXPECT_EQ(merged(sources, {.device = "cpu"}).median.value, 5);
  const auto wrong = merge(sources, {.device = "xpu"}, kVersion);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, trace::ErrorKind::usage);
  EXPECT_NE(wrong.error().message.find("cpu, cuda"), std::string::npos);
}

// ---- mixed and hostile

TEST(Ranks, FilesThatCannotBeReadAreNamedAndLeftOut) {
  std::vector<RankFile> sources = sources_of(SyntheticRanks(8), 8);
  sources[2] = {.file = "broken.tapelens", .summary = {}, .why = "the file is cut off"};
  const Job job = merged(std::move(sources));
  EXPECT_EQ(job.ranks.size(), 7u);
  EXPECT_EQ(job.missing_count, 1u);
  EXPECT_NE(ranks_text(job, {}).find("broken.tapelens: the file is cut off"), std::string::npos);
  const auto nothing = merge({{.file = "a", .summary = {}, .why = "bad"}}, {}, kVersion);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().message, "a: bad");
}

// Findings of another version of Tapelens do not count for this version's checks.
TEST(Ranks, FindingsOfAnotherVersionAreNotTakenForOurs) {
  std::vector<RankFile> sources = sources_of(SyntheticRanks(8), 8);
  sources[1].summary->tapelens = "0.9";
  const Job job = merged(std::move(sources));
  EXPECT_EQ(job.findings_unknown, 1u);
  EXPECT_EQ(job.findings.front().ranks.size(), 7u);
  EXPECT_NE(ranks_text(job, {}).find("on all 7 ranks"), std::string::npos);
}

TEST(Ranks, NamesOfARecordingActUponNoTerminalAndNoMarkdown) {
  std::vector<RankFile> sources = sources_of(SyntheticRanks(8), 8);
  sources[0].summary->processes[0].host = "evil\x1b[2J";
  sources[0].summary->command = "python <img src=x>";
  sources[0].summary->processes[0].exit_code = uint8_t{3};
  for (Sum& sum : sources[0].summary->processes[0].devices[0].by[2].rows) sum.key = "\x1b]0;x\x07";
  const Job job = merged(std::move(sources));
  for (const Format& format : kFormats) {
    const std::string shown = format.render(job, {});
    EXPECT_EQ(shown.find('\x1b'), std::string::npos) << format.name;
    EXPECT_EQ(shown.find("\n<img"), std::string::npos) << format.name;
  }
}

TEST(Summary, ComesBackAsItWasWritten) {
  const Summary made = SyntheticRanks(1024).of(testing::kOutOfMemory);
  const Summary read = through_json(made);
  EXPECT_EQ(summary_json(read), summary_json(made));
  ASSERT_EQ(read.processes.size(), 1u);
  EXPECT_EQ(read.processes[0].devices[0].curve, made.processes[0].devices[0].curve);
  EXPECT_EQ(read.processes[0].last_out_of_memory->source, "train.py:88 loss");
}

// Long names, many rows, several processes: the summary counts the rows that it leaves out and keeps the sums.
TEST(Summary, IsNeverLargerThanItMayBe) {
  Summary made = SyntheticRanks(1024).of(1);
  RankSummary one = made.processes[0];
  const FindingSummary finding = one.findings->front();
  for (int i = 0; i < 3000; ++i) {
    one.devices[0].by[1].rows.push_back({std::string(500, 'x') + std::to_string(i), Bytes{1}, 1});
    one.findings->push_back(finding);
  }
  made.processes.clear();
  for (int i = 0; i < 16; ++i) made.processes.push_back(one);
  const Summary read = through_json(made);
  ASSERT_EQ(read.processes.size(), 16u);
  Bytes sum = read.processes[0].devices[0].by[1].rest, wanted;
  for (const Sum& row : read.processes[0].devices[0].by[1].rows) sum += row.bytes;
  for (const Sum& row : one.devices[0].by[1].rows) wanted += row.bytes;
  EXPECT_EQ(sum, wanted);
  EXPECT_EQ(read.processes[0].findings->size() + read.processes[0].findings_left_out, one.findings->size());
  for (int i = 0; i < 2000; ++i) made.processes.push_back(read.processes[0]);
  EXPECT_EQ(summary_json(made), "");
}

TEST(Summary, WhatIsNoneIsRefused) {
  const std::string good = summary_json(SyntheticRanks(4).of(1));
  ASSERT_TRUE(read_summary(good));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    if (at == std::string::npos) throw std::runtime_error(from + " is not in it");
    return text.replace(at, from.size(), to);
  };
  for (const std::string& bad :
       {std::string("{}"), std::string("[]"), std::string("{"), std::string(100, '['),
        with("\"version\":1", "\"version\":2"), with("\"rank\":1", "\"rank\":-7"), with("\"rank\":1", "\"rank\":1e30"),
        with("\"rank\":1", "\"rank\":99999999999"), with("\"peak\":", "\"peak\":-"),
        with("\"peak\":", "\"peak\":99999"), with("\"exponent\":2", "\"exponent\":64"),
        with("\"finished\":true", "\"finished\":1"), with("\"devices\":[", "\"devices\":[{},"),
        with("\"findings\":[", "\"findings\":[null,"), with("\"host\":\"", "\"host\":\"\x01")}) {
    EXPECT_FALSE(read_summary(bad)) << bad.substr(0, 200);
  }
  EXPECT_FALSE(read_summary(std::string(70000, ' ')));
}

// ---- curves

TEST(Curves, OfDifferentResolutionAreLaidOverEachOtherByStep) {
  const Curve fine{1, 0, {1, 5, 2, 3, 7, 4}}, coarse{0, 0, {10, 10, 0}};
  EXPECT_EQ(coarser(fine, 0), (Curve{0, 0, {5, 3, 7}}));
  EXPECT_EQ(coarser(fine, -1), (Curve{-1, 0, {5, 7}}));
  const Envelope both = envelope_of({&fine, &coarse});
  EXPECT_EQ(both.exponent, 0);
  EXPECT_EQ(both.least, (std::vector<int64_t>{5, 3, 0}));
  EXPECT_EQ(both.most, (std::vector<int64_t>{10, 10, 7}));
  const Curve late{0, 2, {9, 9}};
  const Envelope three = envelope_of({&fine, &coarse, &late});
  EXPECT_EQ(three.median, (std::vector<int64_t>{5, 3, 7, 9}));
  EXPECT_TRUE(envelope_of({}).most.empty());
}

TEST(Curves, OfHostileNumbersStaySmall) {
  const Curve first{5, 0, {1}}, far{5, uint64_t{1} << 40, {2}};
  const Envelope both = envelope_of({&first, &far});
  EXPECT_LE(both.most.size(), 2 * Curve::kMostPoints);
  EXPECT_EQ(*std::ranges::max_element(both.most), 2);
}

// ---- summaries of recordings

void train(SpoolBuilder& b, int rank, uint64_t saved) {
  b.information("torch_version", "2.15.0").information("rank", std::to_string(rank)).information("world_size", "2");
  b.information("host", "node" + std::to_string(rank));
  b.information("sharding", "tp=2\ttp=" + std::to_string(rank) + "\tShard(dim=0)\t1024\t2048\tup.weight");
  b.op("aten::empty").alloc(0x1000, kMiB).end_op().role(Role::parameter, "up.weight", 0x1000, kMiB);
  const uint32_t stack = b.stack({b.frame("/home/me/train.py", 12, "Net.forward")});
  const uint32_t layout = b.layout("float32", 4, {512, 1024}, {1024, 1});
  for (uint64_t step = 0; step < 3; ++step) {
    const uint64_t at = 0x10000 * (step + 1);
    b.enter("Net", "Net").op("aten::relu", {0x1000}, stack).alloc(at, saved).node("ReluBackward0", at + 1);
    b.save(at + 1, "result", at, saved, layout).end_op().leave();
    b.backward().evaluate(at + 1).end_evaluation().end_backward();
    b.optimizer("SGD#1").end_optimizer().free(at);
  }
}

TEST(Summary, SaysWhatTheRecordingSays) {
  TestFolder folder;
  {
    SpoolBuilder first(folder, "1.spool"), second(folder, "2.spool");
    train(first, 0, 2 * kMiB);
    first.finish();
    train(second, 1, 3 * kMiB);
    second.kill();
  }
  trace::Sealed sealed = seal_folder(folder, "torchrun train.py");
  const run::Run run(std::move(sealed.recording));
  const Summary made = summarize(run, nullptr, kVersion);
  EXPECT_EQ(made.command, "torchrun train.py");
  ASSERT_EQ(made.processes.size(), 2u);
  const RankSummary &first = made.processes[0], &second = made.processes[1];
  EXPECT_EQ(first.rank, 0);
  EXPECT_EQ(first.world_size, 2u);
  EXPECT_EQ(first.host, "node0");
  EXPECT_EQ(second.mesh_coordinate, "tp=1");
  EXPECT_EQ(through_json(made).processes[1].mesh_coordinate, "tp=1");
  EXPECT_FALSE(through_json(made).processes[1].running);
  EXPECT_EQ(first.steps, 3u);
  EXPECT_TRUE(first.finished);
  EXPECT_FALSE(second.finished);
  EXPECT_FALSE(first.findings);
  ASSERT_EQ(second.devices.size(), 1u);
  const DeviceSummary& device = second.devices[0];
  EXPECT_EQ(device.peak.value, 4 * int64_t{kMiB});
  for (const Sums& sums : device.by) {
    Bytes sum = sums.rest;
    for (const Sum& row : sums.rows) sum += row.bytes;
    EXPECT_EQ(sum, device.peak);
  }
  EXPECT_EQ(device.by[1].rows[0].key, "operator");  // allocated at that time, and saved later
  EXPECT_EQ(device.by[2].rows[0].key, "Net");
  EXPECT_EQ(device.by[3].rows[0].key, "train.py:12 Net.forward");
  // Three steps of 32 parts each, and the time after them. Each part is as high as the timeline there.
  EXPECT_EQ(device.curve.exponent, 5);
  EXPECT_EQ(*std::ranges::max_element(device.curve.most), device.peak.value);
  const model::Text text = model::load_text(run.recording());
  const model::Process process = model::load_process(run.recording(), text, trace::ProcessIndex{1});
  const peak::Analysis analysis(process, text);
  const peak::DeviceAnalysis looked(analysis, analysis.devices()[0].device);
  for (const model::Step& step : analysis.steps()) {
    const auto from = device.curve.most.begin() + step.index * 32;
    EXPECT_EQ(*std::max_element(from, from + 32), looked.timeline().largest(step.when).bytes.value) << step.index;
  }
}

// ---- in the file

TEST(SealedSummary, IsReadWithoutTheColumnsAndOldFilesHaveNone) {
  TestFolder folder;
  {
    SpoolBuilder b(folder, "1.spool");
    train(b, 0, kMiB);
  }
  trace::SealOptions options;
  options.directory = folder.path();
  options.output = folder / "with.tapelens";
  std::string seen;
  options.summarize = [&](const std::string& file) {
    const auto run = run::Run::open(file);
    if (!run) return std::string();
    return seen = summary_json(summarize(*run, nullptr, kVersion));
  };
  ASSERT_TRUE(trace::seal(options));
  const auto summary = trace::read_summary(options.output);
  ASSERT_TRUE(summary);
  EXPECT_EQ(*summary, seen);
  EXPECT_TRUE(read_summary(*summary));
  const auto whole = run::Run::open(options.output);
  ASSERT_TRUE(whole);
  EXPECT_EQ(summary_json(summarize(*whole, nullptr, kVersion)), seen);

  options.output = folder / "without.tapelens";
  options.summarize = {};
  ASSERT_TRUE(trace::seal(options));
  const auto none = trace::read_summary(options.output);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
  // The writer leaves out a summary that is too large. The file is complete without it.
  options.summarize = [](const std::string&) { return std::string(65537, 'x'); };
  ASSERT_TRUE(trace::seal(options));
  EXPECT_TRUE(trace::read_summary(options.output)->empty());
  EXPECT_TRUE(Recording::open(options.output));
}

// Every byte of the file that affects the search for the summary: header, directory, footer.
TEST(SealedSummary, ADamagedFileIsNotRead) {
  TestFolder folder;
  {
    SpoolBuilder b(folder, "1.spool");
    train(b, 0, kMiB);
  }
  trace::SealOptions options;
  options.directory = folder.path();
  options.output = folder / "run.tapelens";
  options.summarize = [](const std::string&) { return summary_json(SyntheticRanks(4).of(0)); };
  ASSERT_TRUE(trace::seal(options));
  std::ifstream in(options.output, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  const size_t summary = good.find("tapelens summary");
  ASSERT_NE(summary, std::string::npos);
  const std::string path = folder / "damaged.tapelens";
  for (const size_t at : {size_t{1}, size_t{25}, summary, summary + 500, good.size() - 40, good.size() - 3}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;
    EXPECT_FALSE(trace::read_summary(path)) << at;
  }
  for (const size_t bytes : {size_t{0}, size_t{40}, good.size() / 2, good.size() - 1}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << good.substr(0, bytes);
    EXPECT_FALSE(trace::read_summary(path)) << bytes;
  }
}

// The columns of some ranks, and the summaries of all.
TEST(SealedSummary, RanksThatAreNotKeptLeaveTheirSummary) {
  TestFolder folder;
  {
    SpoolBuilder first(folder, "1.spool"), second(folder, "2.spool");
    train(first, 0, kMiB);
    train(second, 1, kMiB);
  }
  trace::SealOptions options;
  options.directory = folder.path();
  options.output = folder / "run.tapelens";
  options.summarize = [](const std::string&) { return std::string("all"); };
  options.ranks = std::set<int32_t>{1};
  ASSERT_TRUE(trace::seal(options));
  auto recording = Recording::open(options.output);
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->processes().size(), 1u);
  EXPECT_EQ(recording->processes()[0].rank, 1);
  options.ranks = std::set<int32_t>{9};
  options.duration_ns = 7;
  ASSERT_TRUE(trace::seal(options));
  recording = Recording::open(options.output);
  ASSERT_TRUE(recording);
  EXPECT_TRUE(recording->processes().empty());
  EXPECT_EQ(*trace::read_summary(options.output), "all");
}

}  // namespace
}  // namespace tapelens::ranks
