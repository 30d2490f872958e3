// Which builds of PyTorch a probe's list takes, and which it refuses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "profiler/fits/fits.h"

namespace {

namespace fs = std::filesystem;

class ProbeFit : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tapelens-fits-" + std::to_string(getpid()));
    write("include/ATen/record_function.h", "struct RecordFunction;\n");
    write("include/c10/core/Allocator.h", "struct Allocator { int size; };\n");
    write("include/c10/cuda/CUDAStream.h", "struct Stream {};\n");
    write("include/torch/version.h", "2.15.0\n");
    write("version.py", "cuda: str = '13.2'\ngit_version = 'd0f2af8b66b20da4baa50644c0cd3f887a2eae2e'\n");
    write("headers", "ATen/record_function.h\nc10/core/Allocator.h\nc10/cuda/CUDAStream.h\n");
    ASSERT_EQ(write_list(), 0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  int write_list() {
    FILE* headers = std::fopen((folder_ / "headers").c_str(), "r");
    FILE* list = std::fopen((folder_ / "probe.fits").c_str(), "w");
    const int code = tapelens_write_fits(folder_.c_str(), "2.15.0", headers, list);
    std::fclose(headers);
    std::fclose(list);
    return code;
  }
  tapelens_fit fit() const { return tapelens_fits((folder_ / "probe.fits").c_str(), folder_.c_str()); }

  fs::path folder_;
};

TEST_F(ProbeFit, IsThatOfTheSameHeadersWhateverTheVersionSays) {
  EXPECT_EQ(fit(), TAPELENS_FITS);
  write("include/torch/version.h", "2.15.1\n");
  write("version.py", "git_version = '08187d9e0fba026dc8217405802ab5381dc88d90'\n");
  EXPECT_EQ(fit(), TAPELENS_FITS);
}

TEST_F(ProbeFit, IsRefusedForAnotherHeader) {
  write("include/c10/core/Allocator.h", "struct Allocator { long size; };\n");
  EXPECT_EQ(fit(), TAPELENS_FITS_NOT);
}

TEST_F(ProbeFit, IsRefusedWhereAHeaderIsGone) {
  fs::remove(folder_ / "include/c10/core/Allocator.h");
  EXPECT_EQ(fit(), TAPELENS_FITS_NOT);
}

TEST_F(ProbeFit, TakesABuildWithoutCuda) {
  fs::remove_all(folder_ / "include/c10/cuda");
  EXPECT_EQ(fit(), TAPELENS_FITS);
}

TEST_F(ProbeFit, RefusesAnotherCuda) {
  write("include/c10/cuda/CUDAStream.h", "struct Stream { int device; };\n");
  EXPECT_EQ(fit(), TAPELENS_FITS_NOT);
}

TEST_F(ProbeFit, GoesByTheCommitWhereThereAreNoHeaders) {
  fs::remove_all(folder_ / "include");
  EXPECT_EQ(fit(), TAPELENS_FITS);
  write("version.py", "git_version = '08187d9e0fba026dc8217405802ab5381dc88d90'\n");
  EXPECT_EQ(fit(), TAPELENS_FITS_NOT);
  fs::remove(folder_ / "version.py");
  EXPECT_EQ(fit(), TAPELENS_FIT_UNKNOWN);
  write("build-hash", "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e\n");
  EXPECT_EQ(fit(), TAPELENS_FITS);
}

TEST_F(ProbeFit, KnowsNothingWithoutAList) {
  write("probe.fits", "something else\n");
  EXPECT_EQ(fit(), TAPELENS_FIT_UNKNOWN);
  fs::remove(folder_ / "probe.fits");
  EXPECT_EQ(fit(), TAPELENS_FIT_UNKNOWN);
}

TEST_F(ProbeFit, ListsNoHeaderThatIsNotThere) {
  write("headers", "c10/core/Gone.h\n");
  EXPECT_EQ(write_list(), 1);
  write("headers", "");
  EXPECT_EQ(write_list(), 1);
}

}  // namespace
