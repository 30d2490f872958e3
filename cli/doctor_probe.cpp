#include "cli/doctor_probe.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/child.h"

namespace tapelens::cli {
namespace {

constexpr size_t kLongestShebang = 4096;  // bytes; the kernel reads 256

constexpr const char* kQuestion =
    "import sys, os\n"
    "print(sys.version.split()[0]); print(sys.executable)\n"
    "print('libtapelens_inject' in open('/proc/self/maps').read())\n"
    "import importlib.metadata, importlib.util\n"
    "try:\n"
    "  print(importlib.metadata.version('torch'))\n"
    "  print(os.path.dirname(importlib.util.find_spec('torch').origin))\n"
    "except Exception: pass\n";

std::string find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* path = getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace

PythonFacts ask_python(const std::string& python, const std::string& preload) {
  PythonFacts facts;
  const ProgramAnswer answer = ask({python, "-c", kQuestion}, preload);
  if (answer.exit_code != 0) {
    facts.error = answer.exit_code == 127   ? "not found"
                  : answer.exit_code == 126 ? "it cannot be executed"
                                            : "it ended with exit code " + std::to_string(answer.exit_code);
    return facts;
  }
  std::istringstream lines(answer.output);
  std::string preloaded;
  std::getline(lines, facts.version);
  std::getline(lines, facts.executable);
  std::getline(lines, preloaded);
  std::getline(lines, facts.torch);
  std::getline(lines, facts.torch_folder);
  facts.preloaded = preloaded == "True";
  if (std::sscanf(facts.version.c_str(), "%d.%d", &facts.major, &facts.minor) != 2)
    facts.error = "it is not a Python interpreter";
  return facts;
}

ProgramFacts look_into(const std::string& program) {
  ProgramFacts facts;
  facts.path = find_program(program);
  struct stat status {};
  if (facts.path.empty() || stat(facts.path.c_str(), &status) != 0) {
    facts.error = "not found";
    return facts;
  }
  if (!S_ISREG(status.st_mode) || access(facts.path.c_str(), X_OK) != 0) {
    facts.error = "it cannot be executed";
    return facts;
  }
  facts.privileged = (status.st_mode & (S_ISUID | S_ISGID)) != 0;
  std::ifstream file(facts.path, std::ios::binary);  // only a regular file: opening another kind may block
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    facts.script = true;
    std::string begin(kLongestShebang, '\0');
    file.clear();
    file.seekg(0);
    file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<size_t>(file.gcount()));
    if (begin.starts_with("#!")) facts.shebang = begin.substr(2, begin.find('\n') - 2);
    return facts;
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    facts.error = "it is not a 64-bit program";
    return facts;
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof(segment)));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof(segment))) break;
    facts.dynamic |= segment.p_type == PT_INTERP;
  }
  return facts;
}

}  // namespace tapelens::cli
