// Preparation of a run: the CUDA version follows from PyTorch's files, and the stand-ins export every name of the
// installed libraries except the names of the simulated driver.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "simulated/settings/settings.h"
#include "simulated/start/stand_ins.h"
#include "simulated/stubs/stub_library.h"

namespace tapelens::simulated {
namespace {

namespace fs = std::filesystem;

// site-packages with a PyTorch of CUDA 13.2 as on PyPI, made of stub libraries.
class Site {
 public:
  Site() {
    std::string name = (fs::temp_directory_path() / "tapelens-site-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    put("torch/version.py",
        "__all__ = ['cuda']\n__version__ = '2.15.0+cu132'\ncuda: Optional[str] = '13.2'\nhip = None\n");
    library("torch/lib/libcaffe2_nvrtc.so", {"here"});
    for (const char* one : {"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libnvrtc.so.13"}) {
      library(std::string("nvidia/cu13/lib/") + one, {"first_of_" + std::string(one, 8), "second"});
    }
    library("nvidia/cudnn/lib/libcudnn.so.9", {"cudnnCreate", "cudnnNew"});
    library("nvidia/cudnn/lib/libcudnn_graph.so.9", {"inner"});
    library("nvidia/nccl/lib/libnccl.so.2", {"ncclNew"});
    put("nvidia/cudnn/include/cudnn_version.h",
        "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 26\n#define CUDNN_PATCHLEVEL 0\n#define CUDNN_VERSION "
        "(CUDNN_MAJOR)\n");
    put("nvidia/nccl/include/nccl.h", "#define NCCL_MAJOR 2\n#define NCCL_MINOR 30\n#define NCCL_PATCH 7\n");
  }
  ~Site() { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& bytes) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << bytes;
  }
  void library(const std::string& path, const std::vector<std::string>& names) const {
    stubs::StubLibrary made{fs::path(path).filename().string(), {}, {}};
    for (const std::string& name : names) made.functions.push_back({name, made.soname, false});
    put(path, stubs::stub_library(made));
  }
  std::string path(const std::string& below) const { return (root_ / below).string(); }
  std::string torch() const { return path("torch"); }

 private:
  fs::path root_;
};

TEST(TorchCuda, IsToldFromTheFilesOfThePackage) {
  const Site site;
  const auto found = find_torch_cuda(site.torch());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->cuda, 13020U);
  EXPECT_EQ(found->cudnn, 92600U);
  EXPECT_EQ(found->nccl, 23007U);
  std::set<std::string> files;
  for (const std::string& path : found->libraries) files.insert(fs::path(path).filename().string());
  for (const char* taken :
       {"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libnccl.so.2"}) {
    EXPECT_EQ(files.count(taken), 1U) << taken;
  }
  EXPECT_EQ(files.count("libnvrtc.so.13"), 0U) << "it compiles, and stays";
  EXPECT_EQ(files.count("libcudnn_graph.so.9"), 0U) << "only libcudnn loads it";
}

TEST(TorchCuda, ThatIsNotThereIsASentence) {
  const Site site;
  const auto said = [&] { return find_torch_cuda(site.torch()).error().message; };
  site.put("nvidia/cudnn/include/cudnn_version.h", "");
  EXPECT_NE(said().find("is not known"), std::string::npos) << said();
  fs::remove(site.path("nvidia/cu13/lib/libcublasLt.so.13"));
  if (!fs::exists("/usr/local/cuda/lib64")) {
    EXPECT_NE(said().find("libcublasLt.so is in none of"), std::string::npos) << said();
  }
  site.put("torch/version.py", "__version__ = '2.0.0+cu118'\ncuda = '11.8'\n");
  EXPECT_NE(said().find("CUDA 12 and 13"), std::string::npos) << said();
  site.put("torch/version.py", "__version__ = '2.15.0+cpu'\ncuda: Optional[str] = None\n");
  EXPECT_NE(said().find("built without CUDA"), std::string::npos) << said();
  EXPECT_NE(said().find("pip install torch==2.15.0 "), std::string::npos) << said();
  fs::remove(site.path("torch/version.py"));
  EXPECT_NE(said().find("is not a PyTorch package"), std::string::npos) << said();
}

TEST(StandIns, HaveWhatTheInstalledLibrariesHaveBesideTheDevicesOwn) {
  const Site site;
  const auto torch = find_torch_cuda(site.torch());
  ASSERT_TRUE(torch) << torch.error().message;
  site.library("install/libtapelens_gpu.so", {"cudnnCreate"});
  fs::create_directory(site.path("run"));
  const auto made = write_stand_ins(*torch, site.path("install/libtapelens_gpu.so"), site.path("run"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->preloads.front(), site.path("run/libtapelens_gpu.so")) << "its functions come before the stubs'";
  EXPECT_EQ(made->driver_folder, site.path("run"));

  const auto cudnn = stubs::read_exports(site.path("run/libcudnn.so.9"));
  ASSERT_TRUE(cudnn) << cudnn.error().message;
  EXPECT_EQ(cudnn->soname, "libcudnn.so.9");
  EXPECT_EQ(cudnn->needed, std::vector<std::string>{kLibraryName});
  EXPECT_EQ(cudnn->functions, (std::vector<stubs::Function>{{"cudnnNew", "libcudnn.so.9", false}}));
  for (const std::string& path : made->preloads) EXPECT_TRUE(fs::exists(path)) << path;
  EXPECT_TRUE(fs::exists(site.path("run/libcuda.so.1")));
  EXPECT_TRUE(fs::exists(site.path("run/libnvidia-ml.so.1")));
}

TEST(StandIns, ForALibraryThatIsBrokenAreRefused) {
  const Site site;
  site.put("nvidia/nccl/lib/libnccl.so.2", "no library");
  const auto torch = find_torch_cuda(site.torch());
  ASSERT_TRUE(torch) << torch.error().message;
  site.library("install/libtapelens_gpu.so", {"cudnnCreate"});
  fs::create_directory(site.path("run"));
  const auto made = write_stand_ins(*torch, site.path("install/libtapelens_gpu.so"), site.path("run"));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("libnccl.so.2: is not a shared library"), std::string::npos)
      << made.error().message;
}

}  // namespace
}  // namespace tapelens::simulated
