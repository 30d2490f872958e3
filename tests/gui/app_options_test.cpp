// The command line of tapelens-gui: every option, and every usage error.
#include <gtest/gtest.h>

#include "gui/app/options.h"

namespace tapelens::gui {
namespace {

WindowOptions right(const QStringList& arguments) {
  const auto parsed = parse_options(arguments);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : WindowOptions();
}
std::string wrong(const QStringList& arguments) {
  const auto parsed = parse_options(arguments);
  EXPECT_FALSE(parsed) << arguments.join(' ').toStdString();
  return parsed ? "" : parsed.error().message;
}

TEST(Options, NothingIsAnEmptyWindow) {
  const WindowOptions o = right({});
  EXPECT_EQ(o.file, "");
  EXPECT_EQ(o.other, "");
  EXPECT_FALSE(o.page || o.at || o.size || o.scheme || o.wants_help || o.wants_version);
  EXPECT_EQ(o.screenshot, "");
  EXPECT_EQ(o.card, "");
}

TEST(Options, OneFileOrTwo) {
  EXPECT_EQ(right({"run.tapelens"}).file, "run.tapelens");
  const WindowOptions both = right({"before.tapelens", "after.tapelens"});
  EXPECT_EQ(both.file, "before.tapelens");
  EXPECT_EQ(both.other, "after.tapelens");
  EXPECT_EQ(right({"--", "--size"}).file, "--size");
  EXPECT_EQ(wrong({"a", "b", "c"}), "'c' is a third file: one to open, one to compare with");
}

TEST(Options, PagesByName) {
  const std::pair<const char*, PageId> pages[] = {{"timeline", PageId::timeline}, {"peak", PageId::peak},
                                                  {"advice", PageId::advice},     {"steps", PageId::steps},
                                                  {"modules", PageId::modules},   {"compare", PageId::compare},
                                                  {"segments", PageId::segments}, {"ranks", PageId::ranks}};
  for (const auto& [name, page] : pages) {
    EXPECT_EQ(right({"--page", name}).page, page);
    EXPECT_EQ(right({QString("--page=") + name}).page, page);
  }
  EXPECT_EQ(wrong({"--page", "peaks"}),
            "--page: 'peaks' is not a page: use timeline, peak, advice, steps, modules, compare, segments, ranks");
  EXPECT_EQ(wrong({"--page="}),
            "--page: '' is not a page: use timeline, peak, advice, steps, modules, compare, segments, ranks");
}

TEST(Options, MomentsAsTheReportHasThem) {
  using Kind = report::At::Kind;
  EXPECT_EQ(right({"run", "--at", "peak"}).at->kind, Kind::peak);
  const WindowOptions step = right({"run", "--at=step:12"});
  EXPECT_EQ(step.at->kind, Kind::step);
  EXPECT_EQ(step.at->step, 12U);
  const WindowOptions time = right({"run", "--at", "250ms"});
  EXPECT_EQ(time.at->kind, Kind::time);
  EXPECT_EQ(time.at->time.ns, 250'000'000);
  for (const char* no : {"", "step:", "step:x", "-1s", "soon"}) {
    EXPECT_EQ(wrong({"run", "--at", no}),
              "--at: '" + std::string(no) + "' is not a moment: use peak, step:N, oom, oom:N, or a time like 1.5s");
  }
  EXPECT_EQ(right({"run", "--at", "oom"}).at->kind, Kind::out_of_memory);
  EXPECT_EQ(right({"run", "--at", "oom:3"}).at->step, 3U);
  EXPECT_EQ(wrong({"--at", "peak"}), "--at needs a FILE");
}

TEST(Options, ADevice) {
  EXPECT_EQ(right({"run", "--device", "cuda:1"}).device, "cuda:1");
  EXPECT_EQ(wrong({"run", "--device="}), "--device: '' is not a device");
  EXPECT_EQ(wrong({"--device", "cpu"}), "--device needs a FILE");
}

TEST(Options, Sizes) {
  EXPECT_EQ(right({"--size", "1280x720"}).size, QSize(1280, 720));
  EXPECT_EQ(right({"--size=1x16384"}).size, QSize(1, 16384));
  for (const char* no : {"1280", "x", "1280x", "0x720", "-5x5", "16385x10", "1280x720x1", "axb", ""}) {
    EXPECT_EQ(wrong({"--size", no}), "--size: '" + std::string(no) + "' is not the size of a window, like 1280x720");
  }
}

TEST(Options, Schemes) {
  EXPECT_EQ(right({"--scheme", "system"}).scheme, Scheme::system);
  EXPECT_EQ(right({"--scheme", "light"}).scheme, Scheme::light);
  EXPECT_EQ(right({"--scheme=dark"}).scheme, Scheme::dark);
  EXPECT_EQ(wrong({"--scheme", "Dark"}), "--scheme: 'Dark' is not a scheme: use system, light, dark");
}

TEST(Options, APictureNeedsARecording) {
  EXPECT_EQ(right({"run", "--screenshot", "a b.png"}).screenshot, "a b.png");
  EXPECT_EQ(right({"--screenshot==.png", "run"}).screenshot, "=.png");
  EXPECT_EQ(wrong({"--screenshot", "a.png"}), "--screenshot needs a FILE");
}

TEST(Options, ACardIsAPictureOrADrawingOfARecording) {
  EXPECT_EQ(right({"run", "--export-card", "a b.PNG"}).card, "a b.PNG");
  EXPECT_EQ(right({"run", "--export-card=c.svg"}).card, "c.svg");
  EXPECT_TRUE(right({"run", "--export-card=c.svg"}).is_headless());
  EXPECT_FALSE(right({"run"}).is_headless());
  EXPECT_EQ(wrong({"run", "--export-card", "c.jpg"}),
            "--export-card: 'c.jpg' is not the name of a card: use a name that ends with .png or .svg");
  EXPECT_EQ(wrong({"--export-card", "c.png"}), "--export-card needs a FILE");
}

TEST(Options, WhatIsNotThereIsNamed) {
  EXPECT_EQ(wrong({"--colour", "dark"}), "unknown option '--colour': see --help");
  EXPECT_EQ(wrong({"--colour=dark"}), "unknown option '--colour': see --help");
  EXPECT_EQ(wrong({"-x"}), "unknown option '-x': see --help");
  for (const char* name : {"--page", "--device", "--at", "--screenshot", "--export-card", "--size", "--scheme"}) {
    EXPECT_EQ(wrong({"run", name}), std::string(name) + " needs a value");
  }
}

TEST(Options, HelpNamesEachOfThem) {
  EXPECT_TRUE(right({"--help"}).wants_help);
  EXPECT_TRUE(right({"-h"}).wants_help);
  EXPECT_TRUE(right({"--version"}).wants_version);
  const QString help = help_text();
  for (const char* name : {"FILE", "OTHER", "--page", "--device", "--at", "--screenshot", "--export-card", "--size",
                           "--scheme", "--help", "--version"}) {
    EXPECT_TRUE(help.contains(name)) << name;
  }
  for (const QString& line : help.split('\n')) EXPECT_LE(line.size(), 100) << line.toStdString();
}

}  // namespace
}  // namespace tapelens::gui
