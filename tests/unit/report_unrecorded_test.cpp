// Tests of the sentences about data that the recording lacks: the process's other memory, and variables.
#include <gtest/gtest.h>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/report.h"
#include "analyzer/report/sentences.h"
#include "analyzer/text/format.h"
#include "testing/trace_builder.h"

namespace tapelens::report {
namespace {

using trace::SpoolBuilder;

constexpr int64_t kMiB = 1 << 20;

Report report_of(const run::Run& recording) {
  auto built = build(recording, {});
  if (!built) throw std::runtime_error(built.error().message);
  return std::move(*built);
}

HostMemory host(int64_t before, int64_t before_peak, int64_t peak, int64_t recorded) {
  return {Bytes{before * kMiB}, Bytes{before_peak * kMiB}, Bytes{peak * kMiB}, Bytes{recorded * kMiB}, true};
}

TEST(HostMemory, IsInASentenceOnlyIfItDiffersMuch) {
  EXPECT_EQ(host_memory_text(host(300, 310, 1300, 1000)), "");
  EXPECT_EQ(host_memory_text(host(300, 310, 300 + 2024, 1000)), "");  // 1 GiB
  EXPECT_EQ(host_memory_text(host(300, 310, 300 + 10'000 + 2500, 10'000)), "");
  EXPECT_TRUE(
      host_memory_text(host(300, 310, 300 + 10'000 + 2501, 10'000))
          .starts_with("The process's memory (RSS) grew by 12.2 GiB since its first operator, 2.4 GiB more than "
                       "the recorded CPU tensors have at their peak. Possible causes: libraries, "));
  EXPECT_EQ(host_memory_text(host(300, 310, 400, 100 + 1024)), "");
  EXPECT_TRUE(host_memory_text(host(300, 310, 400, 2048))
                  .starts_with("The process's memory (RSS) grew by 100.0 MiB since its first operator, "
                               "1.9 GiB less than the recorded CPU tensors"));
  // An earlier peak says nothing about what was recorded.
  EXPECT_TRUE(host_memory_text(host(300, 5000, 5000, 100)).find("before its first operator") != std::string::npos);
  EXPECT_EQ(host_memory_text(host(300, 1200, 1200, 100)), "");
  // The peak of a process that was killed may be greater.
  for (HostMemory killed : {host(300, 310, 400, 2048), host(300, 5000, 5000, 100)}) {
    killed.is_final = false;
    EXPECT_EQ(host_memory_text(killed), "");
  }
}

run::Run with_host(const char* before, const char* before_peak, std::vector<const char*> peaks) {
  SpoolBuilder b;
  b.information("host_resident_bytes", before).information("host_peak_before_bytes", before_peak);
  b.op("aten::empty").alloc(0x1000, 64 * kMiB).end_op();
  for (const char* peak : peaks) b.information("host_peak_bytes", peak);
  return b.seal();
}

TEST(HostMemory, IsThatOfTheRecordingInTextAndJson) {
  const Report r = report_of(with_host("1000000", "2000000", {"3000000000", "900000000"}));
  ASSERT_TRUE(r.processes.at(0).host);
  EXPECT_EQ(r.processes[0].host->peak, Bytes{3'000'000'000});
  EXPECT_EQ(r.processes[0].host->recorded, Bytes{64 * kMiB});
  EXPECT_NE(text(r, {}).find("2.7 GiB more than the"), std::string::npos) << text(r, {});
  EXPECT_NE(markdown(r, 10).find("2.7 GiB more"), std::string::npos);
  EXPECT_NE(json(r).find("\"difference\": \"The process's memory (RSS) grew by 2.8 GiB"), std::string::npos);
}

TEST(HostMemory, OfNumbersThatAreNoneIsNotKnown) {
  EXPECT_FALSE(report_of(with_host("", "1", {})).processes.at(0).host);
  EXPECT_FALSE(report_of(with_host("-5", "1", {})).processes.at(0).host);
  EXPECT_FALSE(report_of(with_host("99999999999999999999", "1", {})).processes.at(0).host);
  const Report r = report_of(with_host("5", "x", {"9223372036854775807"}));
  EXPECT_EQ(r.processes.at(0).host->peak, Bytes{});
}

run::Run held(const char* file, bool searches, bool has_variable) {
  SpoolBuilder b;
  if (searches) b.information("referrers", "1");
  b.op("aten::empty", {}, b.stack({b.frame(file, 7, "main")})).alloc(0x1000, 64 * kMiB).end_op();
  b.op("aten::ones").alloc(0x2000, 4).end_op();  // at the peak, so that no operator holds the first
  if (has_variable) b.variable("x in train.py:5 main", 0x1000, 64 * kMiB);
  return b.seal();
}

TEST(Variables, OfAPythonProgramWithoutThemAreSaidToBeFoundByTheOption) {
  const Report r = report_of(held("/me/train.py", false, false));
  EXPECT_EQ(variables_text(r),
            "The program still refers to 64.0 MiB of other live tensors: tapelens record --referrers names the "
            "variables.");
  EXPECT_NE(text(r, {}).find("--referrers"), std::string::npos);
  EXPECT_TRUE(remedy_text(r.peak.held_by.at(0), {}).ends_with("; tapelens record --referrers names the variable"));
}

TEST(Variables, AreNotSaidSoWhereTheOptionWasGivenOrHasNoEffect) {
  for (const Report& r :
       {report_of(held("/me/train.py", true, false)), report_of(held("/me/train.py", true, true)),
        report_of(held("/me/train.py", false, true)), report_of(held("/me/train.cpp", false, false))}) {
    EXPECT_EQ(variables_text(r), "");
    EXPECT_EQ(remedy_text(r.peak.held_by.at(0), {}).find("--referrers"), std::string::npos);
  }
}

}  // namespace
}  // namespace tapelens::report
