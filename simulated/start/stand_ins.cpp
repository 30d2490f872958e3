#include "simulated/start/stand_ins.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "simulated/settings/settings.h"
#include "simulated/stubs/stub_library.h"

namespace tapelens::simulated {
namespace {

using trace::Error;

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
