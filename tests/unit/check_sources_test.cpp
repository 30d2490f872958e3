// The repository that the patches of a recording apply to.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analyzer/check/sources.h"
#include "testing/model_builder.h"
#include "trace/checksum.h"

namespace tapelens::check {
namespace {

namespace fs = std::filesystem;

// Two repositories and a folder outside of both. The recorded program is /program/src/train.py.
class SourceTrees : public ::testing::Test, protected testing::ProcessBuilder {
 protected:
  SourceTrees() : root_(fs::temp_directory_path() / ("tapelens_sources_" + std::to_string(getpid()))) {
    for (const char* folder : {"program/.git", "program/src", "program/runs", "other/.git", "plain"}) {
      fs::create_directories(root_ / folder);
    }
    frame("/usr/lib/python3.11/runpy.py", 1, "run");
    frame((root_ / "program/src/train.py").string(), 3, "main");
    done();
  }
  ~SourceTrees() override { fs::remove_all(root_); }

  // The source tree for the working directory `current`, and the program's path in the tree. The root is relative to
  // root_.
  std::string tree(const fs::path& recording, const fs::path& current) {
    const SourceTree found = source_tree_of(text, source_trees(recording, root_ / current));
    return found.root.lexically_relative(root_).string() + ": " +
           in_repository((root_ / "program/src/train.py").string(), found);
  }

  fs::path root_;
};

TEST_F(SourceTrees, ARepositoryThatTheUserStandsInComesFirst) {
  EXPECT_EQ(tree(root_ / "plain/run.tapelens", "program"), "program: src/train.py");
  EXPECT_EQ(tree(root_ / "plain/run.tapelens", "program/src"), "program: src/train.py");
  EXPECT_EQ(tree(root_ / "other/run.tapelens", "program/src"), "program: src/train.py");
}

TEST_F(SourceTrees, WithoutTheProgramsFilesItIsTheRepositoryOfTheRecording) {
  EXPECT_EQ(tree(root_ / "program/runs/run.tapelens", "other"), "program: src/train.py");
  EXPECT_EQ(tree("../program/runs/run.tapelens", "other"), "program: src/train.py");
  EXPECT_EQ(tree(root_ / "program/runs/run.tapelens", "plain"), "program: src/train.py");
  EXPECT_EQ(tree(root_ / "program/runs/run.tapelens", ""), "program: src/train.py");
}

TEST_F(SourceTrees, AFolderIsTakenOnlyWhereTheUserStandsInNoRepository) {
  EXPECT_EQ(tree(root_ / "plain/run.tapelens", ""), ".: program/src/train.py");
  EXPECT_EQ(tree(root_ / "run.tapelens", "plain"), ".: program/src/train.py");
  EXPECT_EQ(tree(root_ / "run.tapelens", "other"), "other: ");
}

TEST_F(SourceTrees, ARelativeNameIsOfATreeThatHasTheFile) {
  frame("src/relative.py", 1, "main");
  done();
  const auto found = [&] { return source_tree_of(text, source_trees(root_ / "plain/run", root_ / "other")).root; };
  EXPECT_EQ(found(), root_ / "other") << "the only one";
  testing::ProcessBuilder relative;
  relative.frame("relative.py", 1, "main");
  relative.done();
  const auto trees = source_trees(root_ / "program/run.tapelens", root_ / "other");
  EXPECT_EQ(source_tree_of(relative.text, trees).root, root_ / "other") << "none has it";
  std::ofstream(root_ / "program/relative.py") << "\n";
  EXPECT_EQ(source_tree_of(relative.text, trees).root, root_ / "program");
}

TEST_F(SourceTrees, AFileThatHoldsSomethingElseNowIsToldFromOneThatIsNotKnown) {
  const std::string program = "import torch\n", file = (root_ / "program/src/train.py").string();
  const SourceTree here = source_tree_at(root_ / "program");
  const auto write = [&](const std::string& content) { std::ofstream(file) << content; };
  EXPECT_FALSE(has_changed(text, file, here)) << "it is not there";
  write(program);
  EXPECT_FALSE(has_changed(text, file, here)) << "its content was not recorded";
  text.sources = {{string(file), program.size(), trace::checksum_of(program.data(), program.size())}};
  done();
  EXPECT_FALSE(has_changed(text, file, here));
  EXPECT_EQ(recorded_source(text, file, here), program);
  write(program + "\n");
  EXPECT_TRUE(has_changed(text, file, here));
  EXPECT_EQ(recorded_source(text, file, here), std::nullopt);
  EXPECT_FALSE(has_changed(text, file, source_tree_at(root_ / "other"))) << "of another repository";
}

}  // namespace
}  // namespace tapelens::check
