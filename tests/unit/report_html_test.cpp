// The HTML page: its sums are right, names in a recording cannot inject markup, and its size is bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/report/html.h"
#include "analyzer/report/overview.h"
#include "analyzer/text/escape.h"
#include "testing/model_builder.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/sample_advice.h"

namespace tapelens::report {

using text::printable;
using text::script_json;

namespace {

using model::AllocationId;
using model::OperatorId;
using model::SaveId;
using nlohmann::json;
using testing::kCpu;
using testing::ProcessBuilder;

constexpr const char* kHostile =
    "</script><img src=x onerror=alert(1)><!-- <script>\xe2\x80\xa8\xe2\x80\xae&amp;'\"`${x}";

size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// The JSON that the page's script reads.
json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return json::parse(page.substr(at, page.find("</script>", at) - at));
}

// A step of one module with the given name and file.
Report small_report(const std::string& name, const Options& options) {
  trace::SpoolBuilder b;
  b.op("aten::empty", {}, b.stack({b.frame("/home/me/" + name, 5, name)})).alloc(0x1000, 4096).end_op();
  b.role(trace::Role::parameter, name, 0x1000, 4096);
  b.enter(name, name);
  b.op("aten::exp", {0x1000}, b.stack({b.frame("/home/me/" + name, 7, name)})).alloc(0x2000, 8192);
  b.node("ExpBackward0", 0x10).save(0x10, "result", 0x2000, 8192, b.layout("float32", 4, {2048}, {1})).end_op().leave();
  b.backward().evaluate(0x10).op("aten::mul", {0x2000}).alloc(0x3000, 8192).end_op().free(0x2000).end_evaluation();
  b.free(0x3000).end_backward();
  auto built = build(b.seal(), options);
  if (!built) throw std::runtime_error(built.error().message);
  built->recording.file = name;
  built->recording.command = name;
  return std::move(*built);
}

Options pictured() {
  Options options;
  options.is_pictured = true;
  return options;
}

TEST(Html, WhatIsInAScriptEndsItNowhereAndMeansTheSame) {
  const json value = {{"name", kHostile}, {std::string("<!--"), json::array({"&lt;", "</SCRIPT >"})}};
  const std::string text = script_json(value.dump());
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos) << text;
  EXPECT_EQ(text.find("\xe2\x80\xa8"), std::string::npos);
  EXPECT_EQ(json::parse(text), value);
}

TEST(Html, NamesOfARecordingAreTextAndNothingElse) {
  const std::string hostile = html_page(small_report(kHostile, pictured()), "1.2.3");
  const std::string plain = html_page(small_report("Net", pictured()), "1.2.3");
  for (const char* element : {"<script", "</script", "<!--", "<img", "<title>", "\xe2\x80\xa8"}) {
    EXPECT_EQ(count_of(hostile, element), count_of(plain, element)) << element;
  }
  const auto strings = data_of(hostile)["strings"].get<std::vector<std::string>>();
  EXPECT_EQ(std::ranges::count(strings, printable(kHostile)), 1);
  EXPECT_EQ(data_of(hostile)["version"], "1.2.3");
}

TEST(Html, AFailedRequestIsToldWithWhatWasAliveAndWithCommands) {
  trace::SpoolBuilder b;
  const uint32_t stack = b.stack({b.frame("/home/me/train.py", 7, "forward")});
  b.op("aten::empty", {}, stack).alloc(0x1000, 4096).end_op();
  b.role(trace::Role::parameter, "weight", 0x1000, 4096);
  b.op("aten::mm", {0x1000}, stack).alloc(0x2000, 8192).out_of_memory(1 << 20, 0, 65536, 1024, "cpu").end_op();
  b.free(0x2000).op("aten::mm").alloc(0x3000, 1 << 21).end_op();
  Options options = pictured();
  auto built = build(b.seal(), options);
  ASSERT_TRUE(built) << built.error().message;
  built->recording.file = "run.tapelens";
  const json failure = data_of(html_page(*built, "1"))["failure"];
  EXPECT_EQ(failure["title"], "Out of memory");
  const auto text = failure["text"].get<std::string>();
  EXPECT_NE(text.find("cpu had no 1.0 MiB for aten::mm"), std::string::npos) << text;
  EXPECT_EQ(failure["alive"], 4096 + 8192) << "not the peak of the run";
  int64_t sum = 0;
  for (const json& one : failure["held_by"]) sum += one["bytes"].get<int64_t>();
  EXPECT_EQ(sum, failure["alive"]);
  EXPECT_EQ(failure["commands"][0]["command"], "tapelens report run.tapelens --device cpu --at oom");
  EXPECT_TRUE(data_of(html_page(small_report("train.py", options), "1"))["failure"].is_null());
}

TEST(Html, ThePageAsksForNothing) {
  const std::string page = html_page(small_report("Net", pictured()), "1");
  EXPECT_EQ(count_of(page, "src="), 0U);
  EXPECT_EQ(count_of(page, "<link"), 0U);
  EXPECT_EQ(count_of(page, "@import"), 0U);
  EXPECT_EQ(count_of(page, "default-src 'none'"), 1U);
}

TEST(Html, WhatIsAliveAddsUpToThePeakWhateverIsLeftOut) {
  const Report r = small_report("Net", pictured());
  for (const size_t blocks : {size_t{0}, size_t{1}, size_t{4000}}) {
    PageLimits limits;
    limits.blocks = blocks;
    const json data = page_data(r, limits, "1");
    int64_t bytes = 0;
    uint64_t allocations = data["blocks"].size();
    for (const json& block : data["blocks"]) bytes += block[0].get<int64_t>();
    for (const json& rest : data["smaller"]) {
      bytes += rest["bytes"].get<int64_t>();
      allocations += rest["allocations"].get<uint64_t>();
    }
    EXPECT_EQ(data["blocks"].size(), std::min<size_t>(blocks, r.peak.live_allocations));
    EXPECT_EQ(bytes, r.peak.bytes.value);
    EXPECT_EQ(allocations, r.peak.live_allocations);
  }
}

TEST(Html, APageOfAnyRecordingHasAtMostTwoMegabytes) {
  Report r = small_report("Net", pictured());
  // The worst case: all names are distinct, long, and need escapes.
  const Allocation one = r.peak.allocations.front();
  for (uint32_t i = 0; i < 6000; ++i) {
    Allocation more = one;
    const std::string name = std::to_string(i) + std::string(4000, '<');
    more.id = 1000 + i;
    more.module = more.op = more.source = more.layout = name;
    more.holders.front().node = name;
    r.peak.allocations.push_back(more);
    r.peak.bytes += more.bytes;
    auto& category = *std::ranges::find(r.peak.by_category, more.category, &peak::Category::kind);
    category.bytes += more.bytes;
    ++category.allocations;
  }
  r.peak.live_allocations += 6000;
  r.advice = testing::sample_advice();
  const advise::Finding finding = r.advice->findings.front();
  for (uint32_t i = 0; i < 300; ++i) {
    r.advice->findings.push_back(finding);
    r.advice->findings.back().message = std::string(100'000, '&');
    r.advice->findings.back().notes.assign(500, std::string(5000, '>'));
    r.advice->entries.push_back({advise::Entry::Kind::code,
                                 {static_cast<uint32_t>(r.advice->findings.size() - 1)},
                                 r.peak.bytes,
                                 r.peak.bytes,
                                 false});
  }
  for (uint32_t i = 0; i < 50'000; ++i) r.steps.push_back({i, Time{i}, Time{i + 1}, {}, {}, 1, {}, 0, true});
  r.recording.lost.assign(500, {"disk_full", std::string(5000, '<'), 1, {}, 1, true});
  r.recording.command = std::string(100'000, '<');

  const std::string page = html_page(r, "1");
  EXPECT_LE(page.size(), kMostPageBytes);
  const json data = data_of(page);
  int64_t bytes = 0;
  for (const json& block : data["blocks"]) bytes += block[0].get<int64_t>();
  for (const json& rest : data["smaller"]) bytes += rest["bytes"].get<int64_t>();
  EXPECT_EQ(bytes, r.peak.bytes.value);
  const json& advice = data["advice"];
  EXPECT_EQ(advice["findings"].size() + advice["findings_left_out"].get<size_t>(), r.advice->findings.size());
  EXPECT_EQ(advice["entries"].size() + advice["entries_left_out"].get<size_t>(), r.advice->entries.size());
  EXPECT_EQ(data["steps"].size() + data["steps_left_out"].get<size_t>(), r.steps.size());
}

// Random allocations and frees; some allocations are saved.
struct Busy : ProcessBuilder {
  explicit Busy(uint32_t events) {
    testing::Random random(events);
    std::vector<AllocationId> live;
    for (uint32_t i = 1; i <= events; ++i) {
      if (live.size() > 20 && !random.one_of(2)) {
        const uint32_t which = random.upto(static_cast<uint32_t>(live.size()));
        free(i * 10, live[which]);
        live.erase(live.begin() + which);
      } else {
        live.push_back(allocate(i * 10, 1 + random.upto(100'000)));
        if (random.one_of(3)) save(i * 10 + 1, node(i * 10 + 1, "MulBackward0"), "self", live.back());
      }
    }
    process.duration = Time{events * 10 + 10};
    done();
  }
};

int64_t sum_of(const Overview::Point& point) {
  int64_t sum = 0;
  for (const int64_t bytes : point.bytes) sum += bytes;
  return sum;
}

TEST(Overview, OfFewEventsEveryOneIsAPoint) {
  const Busy b(500);
  const peak::Analysis analysis(b.process, b.text);
  const peak::DeviceAnalysis device(analysis, kCpu);
  const Overview overview = describe_overview(device, device.peak(), nullptr, {});
  ASSERT_EQ(overview.points.size(), device.timeline().events());
  for (uint32_t event = 0; event < device.timeline().events(); ++event) {
    EXPECT_EQ(sum_of(overview.points[event]), device.timeline().live_after(event).value);
    EXPECT_EQ(overview.points[event].time, device.timeline().time_of(event));
  }
  EXPECT_FALSE(overview.all);
}

TEST(Overview, OfManyEventsWhatIsLeastAndMostBetweenPointsIsThere) {
  const Busy b(60'000);
  const peak::Analysis analysis(b.process, b.text);
  const peak::DeviceAnalysis device(analysis, kCpu);
  const peak::Timeline& timeline = device.timeline();
  const Overview overview = describe_overview(device, device.peak(), nullptr, {});
  EXPECT_LE(overview.points.size(), kMostPoints);
  EXPECT_GT(overview.points.size(), kMostPoints / 4);
  EXPECT_EQ(overview.events, timeline.events());
  int64_t most = 0;
  for (size_t i = 0; i < overview.points.size(); ++i) {
    const Overview::Point& point = overview.points[i];
    EXPECT_LE(overview.points[i > 0 ? i - 1 : 0].time, point.time);
    EXPECT_EQ(sum_of(point), timeline.live(timeline.at(point.time)).value);
    most = std::max(most, sum_of(point));
  }
  EXPECT_EQ(most, device.largest().bytes.value);
  // Between two points, values stay within the range of the two points before and the two after.
  for (size_t i = 2; i + 2 < overview.points.size(); ++i) {
    int64_t low = INT64_MAX, high = 0;
    for (size_t at = i - 2; at <= i + 2; ++at) {
      low = std::min(low, sum_of(overview.points[at]));
      high = std::max(high, sum_of(overview.points[at]));
    }
    const uint32_t last = timeline.first_at_or_after(overview.points[i].time);
    for (uint32_t event = timeline.first_at_or_after(overview.points[i - 1].time); event < last; ++event) {
      ASSERT_LE(timeline.live_after(event).value, high);
      ASSERT_GE(timeline.live_after(event).value, low);
    }
  }
}

// A result that only a save keeps until the peak.
TEST(Overview, AWhatIfSaysWhatItFreesAndHowTheCurveFalls) {
  ProcessBuilder b;
  const OperatorId exp = b.op(10, 20, "aten::exp");
  const AllocationId result = b.allocate(11, 1000, exp);
  const SaveId save = b.save(13, b.node(12, "ExpBackward0", exp), "result", result);
  const AllocationId other = b.allocate(50, 500);
  b.free(60, other);
  b.free(70, result);
  b.done();
  const peak::Analysis analysis(b.process, b.text);
  const peak::DeviceAnalysis device(analysis, kCpu);
  ASSERT_EQ(device.largest().bytes, Bytes{1500});

  advise::Advice advice;
  advice.findings.resize(1);
  advice.findings[0].is_in_all = true;
  advice.entries = {{advise::Entry::Kind::code, {0}, Bytes{1500}, Bytes{1000}, false}};
  const advise::TimelineChange change{{.without = {save}, .ends = {}, .aliases = {}, .extras = {}}, 0};
  const Overview overview = describe_overview(device, device.peak(), &advice, {&change, 1});
  ASSERT_EQ(overview.findings.size(), 1U);
  ASSERT_EQ(overview.entries.size(), 1U);
  ASSERT_TRUE(overview.all);
  for (const FixedTimeline* what_if : {&overview.findings[0], &overview.entries[0], &*overview.all}) {
    EXPECT_EQ(what_if->peak, Bytes{1000});
    EXPECT_EQ(what_if->freed, std::vector<uint32_t>{result.value});
    EXPECT_EQ(what_if->freed_bytes, Bytes{1000});
    ASSERT_EQ(what_if->lower.size(), 4U);
    EXPECT_EQ(what_if->lower[0], 0);
    EXPECT_EQ(what_if->lower[1], 1000) << "when the other one is made";
    EXPECT_EQ(what_if->lower[3], 0) << "it is gone in both";
  }
}

}  // namespace
}  // namespace tapelens::report
