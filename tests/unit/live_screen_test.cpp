// The screen of `tapelens top`, at several sizes, against golden files.
#include <sstream>

#include "analyzer/live/screen.h"
#include "analyzer/text/format.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/golden.h"

namespace tapelens::live {
namespace {

using namespace trace;

// Each line without spaces at its end, as editors keep files.
std::string trimmed(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return out;
}

void expect_golden(const std::string& text, const std::string& name) { testing::expect_golden(name, trimmed(text)); }

// Twenty steps of a small network, one of whose tensors leaks.
void train(SpoolBuilder& b) {
  const auto line = [&](uint32_t number, std::string_view function) {
    return b.stack({b.frame("train.py", number, function), b.frame("train.py", 40, "<module>")});
  };
  b.information("rank", "0");
  b.op("aten::empty", {}, line(5, "Net.__init__")).alloc(1, 40 << 20).end_op();
  b.role(Role::parameter, "fc.weight", 1, 40 << 20);
  for (uint64_t step = 0; step < 20; ++step) {
    b.at(1'000'000'000 * (step + 1));
    b.op("aten::zeros", {}, line(30, "<module>")).alloc(0x9000 + step, 1 << 20).end_op();
    for (uint64_t layer = 0; layer < 3; ++layer) {
      const uint64_t node = 0x50 + layer, made = 0x100 + layer;
      b.enter("Net.layers." + std::to_string(layer) + ".attention", "Attention");
      b.op("aten::linear", {1}, line(11, "Net.forward")).op("aten::addmm").alloc(made, 20 << 20).end_op();
      b.node("AddmmBackward0", node, {}, layer + 3 * step).save(node, "mat1", made, 20 << 20).end_op().leave();
    }
    b.at(1'000'000'000 * (step + 1) + 500'000'000).backward();
    for (uint64_t layer = 3; layer-- > 0;) {
      b.evaluate(0x50 + layer).op("aten::mm").alloc(0x200, 5 << 20).end_op().end_evaluation();
      b.node_dies(0x50 + layer).free(0x100 + layer).free(0x200);
    }
    b.end_backward().optimizer("Adam").end_optimizer();
  }
}

struct Followers {
  std::vector<std::unique_ptr<Followed>> all;
  void add(const std::string& path) {
    auto process = Followed::open(path);
    if (!process) throw std::runtime_error(process.error().message);
    all.push_back(std::move(*process));
    while (!all.back()->poll()) {
    }
  }
};

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

// The pid of a builder is that of the test. In the table of processes it has a column of 8.
std::string without_pids(std::string text) {
  const std::string pid = std::to_string(getpid());
  replace_all(text, text::pad_left(pid, 8), "     PID");
  replace_all(text, pid, "PID");
  return text;
}

ScreenOptions options(unsigned width) {
  ScreenOptions options;
  options.title = "run.tapelens";
  options.style.width = width;
  return options;
}

TEST(LiveScreen, ShowsAnEndedRun) {
  SpoolBuilder b;
  train(b);
  b.finish();
  Followers followers;
  followers.add(b.path());
  for (const unsigned width : {80U, 120U})
    expect_golden(without_pids(screen(followers.all, options(width))), "top_" + std::to_string(width) + ".txt");
}

TEST(LiveScreen, ShowsSeveralProcesses) {
  const TestFolder folder;
  SpoolBuilder a(folder, "1.spool"), b(folder, "2.spool");
  train(a);
  a.finish();
  b.information("rank", "1").op("aten::mm").alloc(1, 1 << 20).block(2, 30 << 20, 32 << 20).end_op();
  b.finish();
  Followers followers;
  followers.add(folder / "1.spool");
  followers.add(folder / "2.spool");
  EXPECT_EQ(main_process(followers.all), 0U);
  EXPECT_EQ(main_device(*followers.all[1]), 1U) << "a GPU before the CPU";
  ScreenOptions second = options(100);
  second.process = 1;
  second.device = main_device(*followers.all[1]);
  expect_golden(without_pids(screen(followers.all, second)), "top_processes.txt");
}

TEST(LiveScreen, FitsItsSize) {
  SpoolBuilder b;
  train(b);
  b.finish();
  Followers followers;
  followers.add(b.path());
  for (const unsigned width : {60U, 80U, 132U, 240U}) {
    for (const size_t rows : {12U, 24U, 50U}) {
      ScreenOptions small = options(width);
      small.rows = rows;
      small.keys = "q quit";
      std::istringstream lines(screen(followers.all, small));
      size_t count = 0;
      for (std::string line; std::getline(lines, line); ++count)
        EXPECT_LE(text::columns(line), std::max(width, 80U)) << line;
      EXPECT_LE(count, rows) << width << "x" << rows;
    }
  }
}

TEST(LiveScreen, WaitsForAProcess) {
  EXPECT_EQ(screen({}, options(80)), "run.tapelens  waiting for a process that runs LibTorch\n");
  SpoolBuilder b;
  Followers followers;
  followers.add(b.path());
  EXPECT_NE(screen(followers.all, options(80)).find("nothing is allocated yet"), std::string::npos);
}

TEST(LiveScreen, NamesOfTheProgramCannotControlTheTerminal) {
  SpoolBuilder b;
  b.enter("Net\x1b[2J\xe2\x80\xae", "Net").op("aten::\x1b]0;x\x07").alloc(1, 100).end_op();
  Followers followers;
  followers.add(b.path());
  const std::string text = screen(followers.all, options(120));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
}

TEST(LiveScreen, SumsUpARunInOneLine) {
  SpoolBuilder b;
  train(b);
  b.finish();
  Followers followers;
  followers.add(b.path());
  EXPECT_EQ(summary(*followers.all[0]), "recording ended: peak 125.0 MiB at 20.500 s, step 19 on cpu of 20 steps");
}

}  // namespace
}  // namespace tapelens::live
