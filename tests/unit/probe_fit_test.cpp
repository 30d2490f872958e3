// The builds of PyTorch that a probe's list accepts or refuses.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "profiler/fits/built.h"
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

TEST_F(ProbeFit, ReadsNoHeaderThatIsNoFile) {
  fs::remove(folder_ / "include/c10/core/Allocator.h");
  ASSERT_EQ(mkfifo((folder_ / "include/c10/core/Allocator.h").c_str(), 0600), 0);
  EXPECT_EQ(fit(), TAPELENS_FITS_NOT);
  fs::remove(folder_ / "probe.fits");
  fs::create_symlink("/dev/zero", folder_ / "probe.fits");
  EXPECT_EQ(fit(), TAPELENS_FIT_UNKNOWN);
}

// ---- the folder of built probes

class BuiltProbe : public ProbeFit {
 protected:
  void SetUp() override {
    ProbeFit::SetUp();
    fs::create_directory(cache());
    fs::rename(folder_ / "probe.fits", cache() / "probe-2.15-0a.fits");
    write("cache/probe-2.15-0a.so", "");
    for (const fs::path& path : {folder_, cache()}) fs::permissions(path, fs::perms::owner_all);
    for (const char* name : {"probe-2.15-0a.fits", "probe-2.15-0a.so"}) fs::permissions(cache() / name, kPrivate);
  }
  fs::path cache() const { return folder_ / "cache"; }
  tapelens_built found(unsigned minor = 15) {
    path_ = std::string(4096, '\0');
    const tapelens_built answer = tapelens_find_built(cache().c_str(), 2, minor, folder_.c_str(), path_.data());
    path_.resize(path_.find('\0'));
    return answer;
  }
  // Expects an error with the path while the file has these permissions.
  void expect_refused(const fs::path& path, unsigned mode) {
    const fs::perms before = fs::status(path).permissions();
    fs::permissions(path, fs::perms(mode));
    EXPECT_EQ(found(), TAPELENS_BUILT_REFUSED) << path << mode;
    EXPECT_EQ(path_, fs::canonical(path)) << mode;
    fs::permissions(path, before);
  }
  static constexpr fs::perms kPrivate = fs::perms::owner_read | fs::perms::owner_write;
  std::string path_;
};

TEST_F(BuiltProbe, IsFoundByItsMinorAndItsHeaders) {
  EXPECT_EQ(found(), TAPELENS_BUILT_FOUND);
  EXPECT_EQ(path_, fs::canonical(cache() / "probe-2.15-0a.so"));
  EXPECT_EQ(found(14), TAPELENS_BUILT_NONE);
  write("include/c10/core/Allocator.h", "struct Allocator { long size; };\n");
  EXPECT_EQ(found(), TAPELENS_BUILT_NONE);
}

TEST_F(BuiltProbe, IsNoneWithoutALibraryOrWithAnotherName) {
  fs::rename(cache() / "probe-2.15-0a.fits", cache() / "probe-2.15-0a.fits.42");
  EXPECT_EQ(found(), TAPELENS_BUILT_NONE);
  fs::rename(cache() / "probe-2.15-0a.fits.42", cache() / "probe-2.15-0a.fits");
  fs::remove(cache() / "probe-2.15-0a.so");
  EXPECT_EQ(found(), TAPELENS_BUILT_NONE);
}

TEST_F(BuiltProbe, IsRefusedIfOthersCanChangeItOrAFolderOfIt) {
  for (const unsigned mode : {0660U, 0606U, 0666U}) {
    expect_refused(cache() / "probe-2.15-0a.fits", mode);
    expect_refused(cache() / "probe-2.15-0a.so", mode);
    expect_refused(cache(), mode | 0711);
    expect_refused(folder_, mode | 0711);
  }
  fs::permissions(folder_, fs::perms(01777));  // as in /tmp: users cannot replace files of others
  EXPECT_EQ(found(), TAPELENS_BUILT_FOUND);
}

TEST_F(BuiltProbe, IsRefusedIfItIsAnotherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  for (const fs::path& path : {cache() / "probe-2.15-0a.fits", cache() / "probe-2.15-0a.so", cache(), folder_}) {
    ASSERT_EQ(chown(path.c_str(), 65534, static_cast<gid_t>(-1)), 0);
    EXPECT_EQ(found(), TAPELENS_BUILT_REFUSED) << path;
    ASSERT_EQ(chown(path.c_str(), 0, static_cast<gid_t>(-1)), 0);
  }
}

TEST_F(BuiltProbe, IsNoLink) {
  fs::rename(cache() / "probe-2.15-0a.so", folder_ / "probe.so");
  fs::create_symlink(folder_ / "probe.so", cache() / "probe-2.15-0a.so");
  EXPECT_EQ(found(), TAPELENS_BUILT_NONE);
}

}  // namespace
