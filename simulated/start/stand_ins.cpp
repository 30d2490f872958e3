#include "simulated/start/stand_ins.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "simulated/settings/settings.h"
#include "simulated/stubs/exports.h"
#include "simulated/stubs/stub_library.h"

namespace tapelens::simulated {

namespace {

namespace fs = std::filesystem;
using trace::Error;
using trace::ErrorKind;
using trace::Result;

// Replaced libraries: their names up to `.so.`. Libraries that compile (libnvrtc, libnvJitLink), or that are only
// active on request (libcusparseLt, libcufile, libnvshmem_host), stay.
constexpr std::string_view kTaken[] = {"libcudart",   "libcublas", "libcublasLt", "libcufft", "libcusolver",
                                       "libcusparse", "libcurand", "libcupti",    "libcudnn", "libnccl"};
// Every CUDA build of PyTorch needs these.
constexpr std::string_view kWanted[] = {"libcudart", "libcublas", "libcublasLt", "libcudnn"};

// "libcudart" for "libcudart.so.13"; empty for other files.
std::string_view stem_of(std::string_view file) {
  const size_t at = file.find(".so.");
  if (at == std::string_view::npos || file.find_first_not_of("0123456789", at + 4) != std::string_view::npos) return {};
  return file.substr(0, at);
}

// The folders that may have a PyTorch's CUDA libraries: beside it (PyPI's packages), in it, in its environment (conda).
std::vector<fs::path> folders_of(const fs::path& torch) {
  std::error_code error;
  std::vector<fs::path> folders = {torch / "lib"};
  std::vector<fs::path> packages;
  for (const fs::directory_entry& entry : fs::directory_iterator(torch.parent_path() / "nvidia", error)) {
    packages.push_back(entry.path() / "lib");
  }
  std::ranges::sort(packages);
  std::ranges::move(packages, std::back_inserter(folders));
  folders.push_back(torch.parent_path().parent_path().parent_path());  // conda's lib/
  folders.emplace_back("/usr/local/cuda/lib64");
  return folders;
}

// The value of the macro `name` in a header; none if it is not defined.
std::optional<uint64_t> defined(const fs::path& header, const std::string& name) {
  std::ifstream file(header);
  const std::string begin = "#define " + name + " ";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(begin)) return std::strtoull(line.c_str() + begin.size(), nullptr, 10);
  }
  return {};
}

// The value of `name` in torch/version.py, without its quotes: "13.2", "None"; empty if not found.
std::string version_py(const fs::path& torch, const std::string& name) {
  std::ifstream file(torch / "version.py");
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos || !line.starts_with(name)) continue;
    if (const char next = line[name.size()]; next != ' ' && next != ':' && next != '=') continue;
    std::string value = line.substr(line.find_first_not_of(" '\"", equals + 1));
    return value.substr(0, value.find_first_of("'\" \r"));
  }
  return {};
}

uint64_t cudnn_version(const fs::path& library) {
  const fs::path include = library.parent_path().parent_path() / "include";
  for (const char* header : {"cudnn_version.h", "cudnn_version_v9.h"}) {
    const auto major = defined(include / header, "CUDNN_MAJOR"), minor = defined(include / header, "CUDNN_MINOR"),
               patch = defined(include / header, "CUDNN_PATCHLEVEL");
    if (major && minor && patch) return *major * 10000 + *minor * 100 + *patch;
  }
  return 0;
}

uint64_t nccl_version(const fs::path& library) {
  const fs::path header = library.parent_path().parent_path() / "include" / "nccl.h";
  const auto major = defined(header, "NCCL_MAJOR"), minor = defined(header, "NCCL_MINOR"),
             patch = defined(header, "NCCL_PATCH");
  return major && minor && patch ? *major * 10000 + *minor * 100 + *patch : 0;
}

// "13.2" as CUDA's number; 0 if it is not a version.
uint64_t cuda_version(const std::string& text) {
  unsigned major = 0, minor = 0;
  return std::sscanf(text.c_str(), "%u.%u", &major, &minor) == 2 ? uint64_t{major} * 1000 + minor * 10 : 0;
}

Error no_cuda(const fs::path& torch, const std::string& version) {
  return {
      "PyTorch " + version + " in " + torch.string() +
          " is built without CUDA, and a simulated GPU needs PyTorch's own: install one with CUDA "
          "(pip install torch==" +
          version.substr(0, version.find('+')) +
          " from PyPI on Linux, or --index-url https://download.pytorch.org/whl/cu130); it needs no GPU and no driver",
      ErrorKind::usage};
}

}  // namespace

Result<TorchCuda> find_torch_cuda(const std::string& torch_folder) {
  const fs::path torch = torch_folder;
  const std::string version = version_py(torch, "__version__"), cuda = version_py(torch, "cuda");
  if (version.empty()) return Error{torch_folder + " is not a PyTorch package: it has no version.py", ErrorKind::usage};
  TorchCuda found;
  found.folder = torch_folder;
  found.cuda = cuda_version(cuda);
  if (found.cuda == 0) return no_cuda(torch, version);
  if (found.cuda < 12000) {
    return Error{"PyTorch " + version + " is built for CUDA " + cuda + ": GPUs are simulated for CUDA 12 and 13",
                 ErrorKind::usage};
  }

  std::map<std::string, fs::path> libraries;  // by stem
  for (const fs::path& folder : folders_of(torch)) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      const std::string file = entry.path().filename().string(), stem(stem_of(file));
      if (std::ranges::find(kTaken, stem) != std::end(kTaken)) libraries.emplace(stem, entry.path());
    }
  }
  for (const std::string_view wanted : kWanted) {
    if (!libraries.contains(std::string(wanted))) {
      return Error{"the CUDA libraries of PyTorch " + version + " are not all there: " + std::string(wanted) +
                       ".so is in none of " + (torch / "lib").string() + ", " +
                       (torch.parent_path() / "nvidia").string() + "/*/lib",
                   ErrorKind::usage};
    }
  }
  found.cudnn = cudnn_version(libraries["libcudnn"]);
  if (found.cudnn == 0) {
    return Error{"the version of " + libraries["libcudnn"].string() +
                     " is not known: it has no include/cudnn_version.h beside it",
                 ErrorKind::usage};
  }
  if (libraries.contains("libnccl")) found.nccl = nccl_version(libraries["libnccl"]);
  for (const auto& [stem, path] : libraries) found.libraries.push_back(path.string());

  if (const auto driver = stubs::read_exports((torch / "lib" / "libcaffe2_nvrtc.so").string())) {
    for (const std::string& name : driver->undefined) {
      if (name.starts_with("cu") && !name.starts_with("cuda")) found.of_driver.push_back(name);
    }
  }
  return found;
}

namespace {

// Writes a stub library with the functions that the device's library lacks.
trace::Status write_stub(const std::string& path, stubs::StubLibrary library, const std::set<std::string>& of_device) {
  std::erase_if(library.functions, [&](const stubs::Function& function) { return of_device.contains(function.name); });
  library.needed = {kLibraryName};
  std::ofstream file(path, std::ios::binary);
  const std::string bytes = stubs::stub_library(library);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) return Error{path + ": " + std::strerror(errno)};
  return trace::Done{};
}

}  // namespace

trace::Result<StandIns> write_stand_ins(const TorchCuda& torch, const std::string& device, const std::string& folder) {
  const auto of_device = stubs::read_exports(device);
  if (!of_device) return of_device.error();
  std::set<std::string> names;
  for (const stubs::Function& function : of_device->functions) names.insert(function.name);

  StandIns made;
  made.driver_folder = folder;
  // By a link, so that the loader gets this path for any installation path.
  const std::string link = folder + "/" + kLibraryName;
  if (symlink(device.c_str(), link.c_str()) != 0) return Error{link + ": " + std::strerror(errno)};
  made.preloads.push_back(link);

  std::vector<stubs::StubLibrary> wanted;
  for (const std::string& path : torch.libraries) {
    auto exports = stubs::read_exports(path);
    if (!exports) return exports.error();
    if (exports->soname.empty()) exports->soname = path.substr(path.rfind('/') + 1);
    wanted.push_back({exports->soname, {}, std::move(exports->functions)});
  }
  stubs::StubLibrary driver{"libcuda.so.1", {}, {}};
  for (const std::string& name : torch.of_driver) driver.functions.push_back({name, {}, false});
  wanted.push_back(std::move(driver));
  // Of NVML only the simulated functions: its users work without the others.
  wanted.push_back({"libnvidia-ml.so.1", {}, {}});

  for (stubs::StubLibrary& library : wanted) {
    const std::string path = folder + "/" + library.soname;
    if (const auto written = write_stub(path, std::move(library), names); !written) return written.error();
    made.preloads.push_back(path);
  }
  return made;
}

}  // namespace tapelens::simulated
