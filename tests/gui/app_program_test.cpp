// tapelens-gui as a program: its messages and exit codes.
#include <gtest/gtest.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QProcess>
#include <QSettings>
#include <QTemporaryDir>
#include <cstring>

#include "gui/app/exports.h"
#include "gui/widgets/theme.h"
#include "tests/gui/advice_recording.h"
#include "tests/gui/support/device_recording.h"
#include "tests/gui/support/recording.h"

namespace tapelens::gui {
namespace {

struct Ran {
  int code = -1;
  QString out, error;
};

class Program : public ::testing::Test {
 protected:
  Ran run(const QStringList& arguments, bool has_platform = false) {
    return run_program(TAPELENS_GUI_PROGRAM, arguments, has_platform);
  }
  // Runs `tapelens view`, which starts the window's binary in its own folder.
  Ran view(const QStringList& arguments) { return run_program(TAPELENS_PROGRAM, QStringList("view") + arguments); }
  Ran run_program(const QString& program, const QStringList& arguments, bool has_platform = false) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "XDG_RUNTIME_DIR"})
      environment.remove(name);
    environment.insert("XDG_CONFIG_HOME", folder_.filePath("config"));
    if (has_platform) environment.insert("QT_QPA_PLATFORM", "offscreen");
    process.setProcessEnvironment(environment);
    process.setWorkingDirectory(folder_.path());
    process.start(program, arguments);
    if (!process.waitForFinished(60'000) || process.exitStatus() != QProcess::NormalExit) return {};
    return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
  }
  QString write(const QString& name, const QByteArray& bytes) {
    const QString path = folder_.filePath(name);
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) ADD_FAILURE() << "cannot write";
    return path;
  }
  static QByteArray bytes_of(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }

  QTemporaryDir folder_;
};

void expect_one_line(const QString& text) {
  EXPECT_TRUE(text.startsWith("tapelens-gui: ")) << text.toStdString();
  EXPECT_EQ(text.count('\n'), 1) << text.toStdString();
}

TEST_F(Program, HelpAndVersionNeedNoDisplay) {
  const Ran help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(help.out.startsWith("Usage: tapelens-gui"));
  EXPECT_EQ(help.error.toStdString(), "");
  const Ran version = run({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.out.startsWith("tapelens-gui "));
  EXPECT_EQ(version.out.count('\n'), 1);
  EXPECT_EQ(version.error.toStdString(), "");
}

TEST_F(Program, AWrongOptionIsOneLineAndTwo) {
  const Ran ran = run({"--what"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.error.toStdString(), "tapelens-gui: unknown option '--what': see --help\n");
}

TEST_F(Program, WrongValuesOfTheCommandLineAreUsageErrors) {
  const QString file = testing::synthetic_recording();
  const auto expect_refused = [&](const QStringList& words, const QString& part) {
    const Ran ran = view(QStringList(file) + words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    expect_one_line(ran.error);
    EXPECT_TRUE(ran.error.contains(part)) << ran.error.toStdString();
  };
  expect_refused({"--page", "peek"}, "'peek'");
  expect_refused({"--at", "noon"}, "'noon' is not a moment");
  expect_refused({"--scheme", "blue"}, "'blue'");
  for (const char* size : {"720", "x", "0x10", "10x", "-1x5", "1280x720p", "99999x1"}) {
    expect_refused({QString("--size=") + size}, "is not the size of a window");
  }
}

TEST_F(Program, WithoutADisplayItSaysWhatToDo) {
  const Ran ran = run({testing::synthetic_recording()});
  EXPECT_EQ(ran.code, 3);
  expect_one_line(ran.error);
  EXPECT_TRUE(ran.error.contains("--screenshot"));
}

TEST_F(Program, AScreenshotHasTheSizeThatIsAsked) {
  const QString path = folder_.filePath("a picture.png");
  const std::pair<const char*, QSize> sizes[] = {{"1280x720", {1280, 720}}, {"1920x1080", {1920, 1080}}};
  for (const auto& [text, size] : sizes) {
    const Ran ran = run({testing::synthetic_recording(), "--screenshot", path, "--size", text});
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ((ran.out + ran.error).toStdString(), "");
    EXPECT_EQ(QImage(path, "PNG").size(), size);
  }
}

TEST_F(Program, ACardIsOnePictureInBothSchemes) {
  const testing::AdviceRecording recording;
  QImage before;
  for (const char* scheme : {"light", "dark"}) {
    const QString path = folder_.filePath("card.png");
    const Ran ran = run({recording.path(), "--export-card", path, "--scheme", scheme});
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ((ran.out + ran.error).toStdString(), "");
    const QImage picture(path, "PNG");
    EXPECT_EQ(picture.size(), 2 * kCardSize);
    EXPECT_NE(picture, before);
    before = picture;
  }
  const Ran ran = run({recording.path(), "--export-card", folder_.filePath("no/such/folder.png")});
  EXPECT_EQ(ran.code, 3);
  EXPECT_TRUE(ran.error.contains("cannot be written"));
}

TEST_F(Program, AScreenshotIsTheSameWhateverTheWindowWasLike) {
  const QString path = folder_.filePath("picture.png");
  const QStringList words = {testing::synthetic_recording(), "--screenshot", path, "--size=1280x720"};
  ASSERT_EQ(run(words).code, 0);
  const QImage first(path);
  {
    QSettings settings(folder_.filePath("config/Tapelens/tapelens-gui.conf"), QSettings::NativeFormat);
    settings.setValue("scheme", static_cast<int>(Scheme::dark));
  }
  ASSERT_EQ(run(words).code, 0);
  EXPECT_EQ(QImage(path), first);
}

TEST_F(Program, EachPageHasAPictureInBothSchemes) {
  const QString path = folder_.filePath("page.png");
  QImage before;
  for (const char* page : {"timeline", "peak", "advice", "steps", "modules", "compare", "segments", "ranks"}) {
    for (const char* scheme : {"light", "dark"}) {
      const Ran ran = run({testing::synthetic_recording(), testing::synthetic_recording(40'000), "--page", page,
                           "--scheme", scheme, "--screenshot", path, "--size", "1280x720"});
      EXPECT_EQ(ran.code, 0) << page;
      EXPECT_EQ(ran.error.toStdString(), "");
      const QImage picture(path);
      EXPECT_NE(picture, before) << page << ' ' << scheme;
      EXPECT_EQ(picture.pixelColor(2, 300).lightnessF() < 0.5, std::string_view(scheme) == "dark") << page;
      before = picture;
    }
  }
}

TEST_F(Program, AMomentThatIsNotThereIsWrongUsage) {
  const QString picture = folder_.filePath("no.png");
  const Ran step = run({testing::synthetic_recording(), "--at", "step:9999", "--screenshot", picture});
  EXPECT_EQ(step.code, 2);
  expect_one_line(step.error);
  EXPECT_TRUE(step.error.contains("step 9999 is not in the recording, which has steps 0 to "));
  const Ran time = run({testing::synthetic_recording(), "--at", "99999s", "--screenshot", picture});
  EXPECT_EQ(time.code, 2);
  expect_one_line(time.error);
  EXPECT_FALSE(QFile::exists(picture));
  const Ran there = run({testing::synthetic_recording(), "--at", "step:1", "--page", "peak", "--screenshot", picture});
  EXPECT_EQ(there.code, 0);
  EXPECT_TRUE(QFile::exists(picture));
}

TEST_F(Program, ADeviceIsLookedAtIfItIsThere) {
  const testing::DeviceRecording recording("simulated_gpu", "2 x NVIDIA H100 80GB HBM3");
  const QString picture = folder_.filePath("device.png"), other = folder_.filePath("other.png");
  const QStringList words = {recording.path(), "--page", "segments", "--size=1280x720"};
  EXPECT_EQ(run(words + QStringList{"--screenshot", picture, "--device", "cuda:0"}).code, 0);
  EXPECT_EQ(run(words + QStringList{"--screenshot", other, "--device", "cuda:1"}).code, 0);
  EXPECT_NE(QImage(picture), QImage(other));
  const Ran none = view(words + QStringList{"--screenshot", folder_.filePath("no.png"), "--device=cuda:7"});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.error.toStdString(),
            "tapelens-gui: the recording has no memory of 'cuda:7', only of cpu, cuda:0, cuda:1\n");
  const Ran oom = run(words + QStringList{"--screenshot", other, "--device=cuda:0", "--at", "oom:0"});
  EXPECT_EQ(oom.code, 0);
  EXPECT_NE(QImage(picture), QImage(other));
  const Ran never = run(words + QStringList{"--screenshot", other, "--device=cuda:1", "--at", "oom"});
  EXPECT_EQ(never.code, 2);
  EXPECT_EQ(never.error.toStdString(), "tapelens-gui: cuda:1 never ran out of memory\n");
  const Ran beyond = run(words + QStringList{"--screenshot", other, "--at", "oom:4"});
  EXPECT_EQ(beyond.code, 2);
  EXPECT_TRUE(beyond.error.contains("oom:4 is not in the recording: 1 request found no memory on cuda:0"));
}

TEST_F(Program, WhatCannotBeReadIsOneSentenceAndThree) {
  const QByteArray good = bytes_of(testing::synthetic_recording());
  ASSERT_GT(good.size(), 1000);
  // Bytes 12 and 24 of the header are the required version of the reader and the checksum (docs/trace-format.md).
  QByteArray newer = good, spoiled = good;
  newer[12] = 99;
  const XXH64_hash_t checksum = XXH3_64bits(newer.constData(), 24);
  std::memcpy(newer.data() + 24, &checksum, sizeof(checksum));
  for (qsizetype i = good.size() / 3; i < good.size() / 3 + 64; ++i) spoiled[i] = static_cast<char>(~spoiled[i]);
  const QString files[] = {folder_.filePath("missing.tapelens"),
                           folder_.path(),
                           write("empty.tapelens", {}),
                           write("text.tapelens", "import torch\n"),
                           write("cut.tapelens", good.left(good.size() / 2)),
                           write("spoiled.tapelens", spoiled),
                           write("newer.tapelens", newer)};
  const QString picture = folder_.filePath("no.png");
  for (const QString& file : files) {
    const Ran ran = run({file, "--screenshot", picture});
    EXPECT_EQ(ran.code, 3) << file.toStdString() << ran.error.toStdString();
    expect_one_line(ran.error);
    EXPECT_TRUE(ran.error.contains(QFileInfo(file).fileName())) << ran.error.toStdString();
    EXPECT_FALSE(QFile::exists(picture));
  }
  EXPECT_TRUE(run({files[6], "--screenshot", picture}).error.contains("use a newer tapelens"));
}

TEST_F(Program, APictureThatCannotBeWrittenIsThree) {
  const Ran ran = run({testing::synthetic_recording(), "--screenshot", folder_.filePath("no/such/folder.png")});
  EXPECT_EQ(ran.code, 3);
  expect_one_line(ran.error);
  EXPECT_TRUE(ran.error.contains("cannot be written"));
}

}  // namespace
}  // namespace tapelens::gui
