// tapelens build-probe: compiles a recording probe for a PyTorch without an installed one. The sources are installed
// (profiler/source); it needs only a compiler and that PyTorch.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "analyzer/text/escape.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/doctor_probe.h"
#include "cli/messages.h"
#include "cli/preload.h"
#include "cli/scoped_files.h"
#include "cli/text.h"
#include "cli/torch_fit.h"
#include "profiler/fits/built.h"
#include "profiler/fits/fits.h"
#include "trace/regular_file.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

struct BuildProbeOptions {
  std::string python = "python3", torch, compiler;
  bool force = false;
};

// The PyTorch to compile for.
struct Torch {
  std::string folder, minor, release, python;
};

constexpr std::array kUnits = {"unit_observe", "unit_record", "unit_plain"};  // the longest compilation first
constexpr int kOldestCompiler = 11;
constexpr uint64_t kMostBytesRead = 1 << 20;  // that are read of a file

// The text of a file in PyTorch; empty if it does not exist.
std::string text_of(const std::string& path) {
  const auto text = trace::read_regular_file(path, kMostBytesRead);
  return text ? *text : std::string();
}

// "2.15.0", from the headers; empty without headers.
std::string release_of(const std::string& folder) {
  int major = -1, minor = -1, patch = -1;
  for (const char* header : {"torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"}) {
    std::istringstream file(text_of(folder + "/include/" + header));
    for (std::string line; std::getline(file, line);) {
      std::sscanf(line.c_str(), "#define TORCH_VERSION_MAJOR %d", &major);
      std::sscanf(line.c_str(), "#define TORCH_VERSION_MINOR %d", &minor);
      std::sscanf(line.c_str(), "#define TORCH_VERSION_PATCH %d", &patch);
    }
    if (patch >= 0) return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  }
  return {};
}

// 0 for GCC's older string ABI, which no PyTorch package has used since 2.6.
std::string abi_of(const std::string& folder) {
  const std::string text = text_of(folder + "/share/cmake/Torch/TorchConfig.cmake");
  return text.find("_GLIBCXX_USE_CXX11_ABI=0") == std::string::npos ? "1" : "0";
}

// The folder of the CUDA headers, in a package beside PyTorch or in a toolkit; empty if none is found.
std::string cuda_headers(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder + "/include/c10/cuda/CUDACachingAllocator.h", error)) return {};
  std::vector<fs::path> places;
  for (fs::directory_iterator entry(folder + "/../nvidia", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("cu1") || name == "cuda_runtime") places.push_back(entry->path() / "include");
  }
  if (const char* home = getenv("CUDA_HOME"); home != nullptr) places.push_back(fs::path(home) / "include");
  places.emplace_back("/usr/local/cuda/include");
  for (const fs::path& place : places) {
    if (fs::exists(place / "cuda_runtime_api.h", error)) return fs::weakly_canonical(place, error).string();
  }
  return {};
}

// Starts a program in `folder`, in the background; its output goes to a file there.
pid_t start(const Words& words, const std::string& folder, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  signal(SIGINT, SIG_DFL);
  setenv("LC_ALL", "C", 1);  // for the words that first_error() searches for
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nowhere, STDIN_FILENO);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  if (chdir(folder.c_str()) == 0) execvp(arguments[0], arguments.data());
  _exit(127);
}

bool ended_well(pid_t child) {
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int failed(const std::string& what, const std::string& log) {
  clear_progress_line();
  std::string output(kMostBytesRead, '\0');
  std::ifstream file(log, std::ios::binary);
  file.read(output.data(), static_cast<std::streamsize>(output.size()));
  output.resize(static_cast<size_t>(file.gcount()));
  say(what + " failed: " + first_error(output));
  return kNo;
}

// The compiler options, equal to CMake's for the installed probes.
Words compiling(const BuildProbeOptions& options, const Torch& torch, const std::string& source) {
  Words words = {options.compiler,
                 "-std=c++20",
                 "-O2",
                 "-w",
                 "-fPIC",
                 "-fvisibility=hidden",
                 "-fvisibility-inlines-hidden",
                 "-DNDEBUG",
                 "-D_GLIBCXX_USE_CXX11_ABI=" + abi_of(torch.folder),
                 "-I" + source,
                 "-I."};
  Words system = {torch.folder + "/include", torch.folder + "/include/torch/csrc/api/include"};
  if (const std::string cuda = cuda_headers(torch.folder); !cuda.empty()) {
    words.push_back("-DTAPELENS_WITH_CUDA");
    system.push_back(cuda);
    system.push_back(source + "/profiler/cuda/host_compiler");  // the packages lack two headers
  }
  for (const std::string& folder : system) words.insert(words.end(), {"-isystem", folder});
  return words;
}

// Runs Python to write the table of this PyTorch's saved fields, and the list of headers that the probe relies on.
int generate(const Torch& torch, const std::string& source, const std::string& folder) {
  std::error_code error;
  const std::string needs = source + "/plugins/unneeded-save/needs-" + torch.minor + ".json";
  const std::string log = folder + "/generate.log";
  if (!ended_well(start(
          {torch.python, "-I", source + "/profiler/observe/saved_fields.py",
           torch.folder + "/include/torch/csrc/autograd/generated/Functions.h", fs::exists(needs, error) ? needs : "-",
           source + "/plugins/unneeded-save/cuda.json", "saved_fields.cpp"},
          folder, log)))
    return failed("reading the saved fields of this PyTorch", log);
  Words words = {torch.python, "-I", source + "/profiler/fits/headers.py", torch.folder, "headers"};
  for (const char* part : {"observe", "record", "cuda", "probe"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(source + "/profiler/" + part, error)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".cpp" || extension == ".h") words.push_back(entry.path().string());
    }
  }
  words.push_back(folder + "/saved_fields.cpp");
  return ended_well(start(words, folder, log)) ? kFine : failed("reading the headers of this PyTorch", log);
}

int compile(const BuildProbeOptions& options, const Torch& torch, const std::string& source,
            const std::string& folder) {
  std::vector<pid_t> children;
  for (const char* unit : kUnits) {
    Words words = compiling(options, torch, source);
    words.insert(words.end(), {"-c", source + "/" + unit + ".cpp", "-o", std::string(unit) + ".o"});
    children.push_back(start(words, folder, folder + "/" + unit + ".log"));
  }
  std::string wrong;
  for (size_t i = 0; i < children.size(); ++i) {
    if (!ended_well(children[i]) && wrong.empty()) wrong = folder + "/" + kUnits[i] + ".log";
  }
  if (!wrong.empty()) return failed("compiling the probe", wrong);
  Words words = {options.compiler, "-shared", "-o", "probe.so"};
  for (const char* unit : kUnits) words.push_back(std::string(unit) + ".o");
  words.insert(words.end(), {"-Wl,--exclude-libs,ALL", "-Wl,--unresolved-symbols=ignore-in-shared-libs", "-Wl,-z,defs",
                             "-s", "-L" + torch.folder + "/lib", "-ltorch_cpu", "-lc10", "-ldl"});
  const std::string log = folder + "/link.log";
  return ended_well(start(words, folder, log)) ? kFine : failed("linking the probe", log);
}

// Makes the folder of built probes. Only this user may write to it, regardless of the umask, because a probe that
// others can change is not loaded. Returns why the folder is unusable; empty if it is usable.
std::string make_cache() {
  const fs::path target = built_probe_folder(), own = target.parent_path(), cache = own.parent_path();
  std::error_code error;
  fs::create_directories(cache.parent_path(), error);
  for (const fs::path& folder : {cache, own, target}) {
    struct stat facts {};
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return folder.string() + ": " + std::strerror(errno);
    if (folder != cache && stat(folder.c_str(), &facts) == 0 && facts.st_uid == geteuid() &&
        (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      chmod(folder.c_str(), facts.st_mode & 07777U & ~static_cast<mode_t>(S_IWGRP | S_IWOTH));
  }
  std::array<char, 4096> changeable{};
  if (tapelens_is_private(target.c_str(), changeable.data()) == 1) return {};
  return std::string("other users can change ") + changeable.data() +
         ", so a probe in it would not be loaded: make it yours and writable for you alone, or set XDG_CACHE_HOME";
}

// Moves the probe into the folder of built probes. The list comes last, because lookups search for it.
int put(const Torch& torch, const std::string& folder, std::string& path) {
  const std::string list = folder + "/list", target = built_probe_folder();
  FILE* headers = std::fopen((folder + "/headers").c_str(), "re");
  FILE* file = std::fopen(list.c_str(), "we");
  const bool is_written = headers != nullptr && file != nullptr &&
                          tapelens_write_fits(torch.folder.c_str(), torch.release.c_str(), headers, file) == 0;
  if (headers != nullptr) std::fclose(headers);
  if (file == nullptr || std::fclose(file) != 0 || !is_written)
    return failed("reading the headers of this PyTorch", list);
  std::ifstream text(list);
  std::string line, core;
  while (std::getline(text, line) && core.empty()) {
    if (line.starts_with("core ")) core = line.substr(5);
  }
  std::error_code error;
  path = target + "/probe-" + torch.minor + "-" + core;
  for (const auto& [from, extension] : {std::pair{folder + "/probe.so", ".so"}, {list, ".fits"}}) {
    const std::string fresh = path + extension + "." + std::to_string(getpid());
    if (!error) fs::copy_file(from, fresh, error);
    if (!error)
      fs::permissions(fresh, fs::perms::group_write | fs::perms::others_write, fs::perm_options::remove, error);
    if (!error) fs::rename(fresh, path + extension, error);
  }
  path += ".so";
  return error ? fail({target + ": " + error.message()}) : kFine;
}

// Finds the PyTorch to compile for, and reports errors.
int find_torch(const BuildProbeOptions& options, Torch& torch) {
  torch.python = options.python;
  torch.folder = options.torch;
  if (torch.folder.empty()) {
    const PythonFacts facts = ask_python(options.python, {});
    if (!facts.error.empty()) return fail({options.python + " could not be asked: " + facts.error});
    if (facts.torch_folder.empty()) {
      return fail({options.python + " has no PyTorch: name the interpreter of the environment that has it, --python"});
    }
    torch.folder = facts.torch_folder;
    torch.python = facts.executable;
  }
  std::error_code error;
  torch.folder = fs::absolute(torch.folder, error).lexically_normal().string();
  torch.release = release_of(torch.folder);
  torch.minor = minor_of(torch.release);
  if (torch.release.empty())
    return fail({torch.folder + " has no include/torch/headeronly/version.h: it is not a PyTorch folder"});
  if (!fs::exists(torch.folder + "/lib/libtorch_cpu.so", error))
    return fail({torch.folder + " has no lib/libtorch_cpu.so"});
  return kFine;
}

int check_compiler(const BuildProbeOptions& options) {
  const ProgramAnswer answer = ask({options.compiler, "-dumpfullversion", "-dumpversion"});
  if (answer.exit_code != 0) {
    return fail({options.compiler + " is not installed: a probe is compiled with g++ " +
                 std::to_string(kOldestCompiler) +
                 " or newer (apt install g++, dnf install gcc-c++), or with --compiler"});
  }
  const int version = std::atoi(answer.output.c_str());
  const bool is_clang = options.compiler.find("clang") != std::string::npos;
  if (!is_clang && version < kOldestCompiler) {
    return fail({options.compiler + " is version " + std::to_string(version) + ": PyTorch's headers need g++ " +
                 std::to_string(kOldestCompiler) + " or newer; --compiler names another"});
  }
  return kFine;
}

int build_probe(const BuildProbeOptions& options) {
  const std::string source = probe_source_folder();
  if (source.empty() || built_probe_folder().empty()) {
    return fail({source.empty() ? "this installation has no sources of a probe (lib/tapelens/probe-source)"
                                : "neither XDG_CACHE_HOME nor HOME is set: there is nowhere to keep a probe"});
  }
  Torch torch;
  if (const int code = find_torch(options, torch); code != kFine) return code;
  const ProbeFit fit = probe_fit(torch.minor, torch.folder);
  if (!options.force && (fit == ProbeFit::installed || fit == ProbeFit::built)) {
    say("there is a probe for PyTorch " + torch.release + " in " + torch.folder +
        (fit == ProbeFit::built ? ", in " + built_probe_folder() : std::string(", installed")) +
        "; --force makes another");
    return kFine;
  }
  if (const int code = check_compiler(options); code != kFine) return code;
  if (const std::string why = make_cache(); !why.empty()) return fail({why});
  const TemporaryFolder folder;
  if (!folder) return fail({folder.reason()});
  const auto begin = std::chrono::steady_clock::now();
  signal(SIGINT, SIG_IGN);  // the compilers end, and this process cleans up
  say("compiling a probe for PyTorch " + torch.release + " in " + torch.folder + ", which takes about a minute");
  std::string path;
  int code = generate(torch, source, folder.path());
  if (code == kFine) code = compile(options, torch, source, folder.path());
  if (code == kFine) code = put(torch, folder.path(), path);
  if (code != kFine) return code;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count();
  say("made " + text::shell_quote(path) + " in " + std::to_string(seconds) +
      " s: tapelens record uses it for this PyTorch. It records; run --apply needs an installed probe");
  return kFine;
}

}  // namespace

CommandFunction declare_build_probe(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens build-probe   the PyTorch of the python3 on PATH\n"
      "  tapelens build-probe --python .venv/bin/python   that of another environment\n"
      "  tapelens build-probe --torch ~/libtorch   that of C++ programs\n"
      "\n"
      "Nightlies, vendors' builds and your own builds need a probe, because their headers differ from those of a "
      "release. The build takes about a minute and needs g++ 11 or newer. The probe is kept in ~/.cache/tapelens, "
      "where record and doctor find it. It records, but does not rewrite.\n"
      "\n"
      "Exit codes:\n"
      "  0   the probe is ready\n"
      "  1   the probe does not compile\n"
      "  2   wrong usage\n"
      "  3   the PyTorch or the compiler was not found");
  const auto options = std::make_shared<BuildProbeOptions>();
  const char* compiler = getenv("CXX");
  options->compiler = compiler != nullptr && *compiler != 0 ? compiler : "g++";
  sub.add_option("--python", options->python, "Build for the PyTorch of this interpreter")
      ->type_name("PYTHON")
      ->capture_default_str();
  sub.add_option("--torch", options->torch, "Build for the PyTorch or LibTorch in this folder, with lib/ and include/")
      ->type_name("DIR")
      ->excludes("--python");
  sub.add_option("--compiler", options->compiler, "The compiler; by default $CXX, or g++")->type_name("CXX");
  sub.add_flag("--force", options->force, "Build the probe even if one for this PyTorch exists");
  return [options](const Words&) { return build_probe(*options); };
}

}  // namespace tapelens::cli
