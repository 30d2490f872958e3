// tapelens doctor: checks the machine and the program, and says what works and how to fix the rest.
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "cli/commands.h"
#include "cli/doctor_probe.h"
#include "cli/preload.h"
#include "cli/text.h"
#include "cli/torch_fit.h"

namespace tapelens::cli {
namespace {

class Findings {
 public:
  void good(const std::string& what) { std::printf("  ok    %s\n", what.c_str()); }
  void note(const std::string& what) { std::printf("  note  %s\n", what.c_str()); }
  void bad(const std::string& what, const std::string& fix) {
    std::printf("  BAD   %s\n        %s\n", what.c_str(), fix.c_str());
    works_ = false;
  }
  bool works() const { return works_; }

 private:
  bool works_ = true;
};

void examine_installation(Findings& findings, const std::string& libraries, const std::vector<std::string>& minors) {
  if (libraries.empty()) {
    findings.bad(
        std::string("the preload library, ") + kInjectName + ", is not beside this tapelens",
        "This installation reads recordings only. To record: pip install tapelens, or cmake --install a whole build to "
        "this prefix.");
    return;
  }
  findings.good("preload library in " + libraries);
  if (minors.empty()) {
    findings.note("no probe is installed: tapelens build-probe makes them");
  } else {
    findings.good("probes for PyTorch " + joined(minors, ", "));
  }
}

void examine_torch(Findings& findings, const std::string& python, const PythonFacts& facts) {
  const std::string what = "PyTorch " + facts.torch + " in " + facts.torch_folder;
  const std::string build = "Make one: tapelens build-probe --python " + text::shell_quote(python);
  std::string changeable;
  switch (probe_fit(minor_of(facts.torch), facts.torch_folder, &changeable)) {
    case ProbeFit::installed:
      return findings.good(what);
    case ProbeFit::built:
      return findings.good(what + ", with a probe in " + built_probe_folder() + " that records, and does not rewrite");
    case ProbeFit::none:
      return findings.bad(what + " has no probe here", build);
    case ProbeFit::other:
      return findings.bad(what + " is another build than the probe was compiled for: its headers differ", build);
    case ProbeFit::refused:
      return findings.bad(what + ": " + refusal_of(changeable), "Make it yours and writable for you alone. " + build);
    case ProbeFit::unknown:
      return findings.bad(what + " has neither include/ nor version.py to tell its build by",
                          "Install PyTorch whole: pip install --force-reinstall torch");
  }
}

void examine_python(Findings& findings, const std::string& python, const std::string& libraries) {
  const PreloadPath preload;
  const PythonFacts facts = ask_python(python, preload.path());
  if (!facts.error.empty()) {
    findings.bad(python + " could not be asked: " + facts.error,
                 "Name the interpreter that trains: tapelens doctor -- PYTHON");
    return;
  }
  if (facts.major == 3 && facts.minor >= 10 && facts.minor <= 15) {
    findings.good("Python " + facts.version + ", " + facts.executable);
  } else {
    findings.note("Python " + facts.version + ", " + facts.executable +
                  ": recorded without Python stacks, which need CPython 3.10 to 3.15");
  }
  if (facts.torch.empty()) {
    findings.bad("that Python has no PyTorch",
                 "Activate the environment that has it, or name its interpreter: tapelens doctor -- PYTHON");
  } else {
    examine_torch(findings, python, facts);
  }
  if (libraries.empty()) return;
  if (facts.preloaded) {
    findings.good("the preload library reaches that Python");
  } else {
    findings.bad("the preload library does not reach that Python (a static or setuid binary, or another C library)",
                 "Use a dynamically linked interpreter for glibc.");
  }
}

void examine_program(Findings& findings, const std::string& program) {
  const ProgramFacts facts = look_into(program);
  if (!facts.error.empty())
    return findings.bad(program + ": " + facts.error, "Name a program: tapelens doctor -- PROGRAM");
  if (facts.script) {
    return findings.note(facts.path + " is a script: ask about its interpreter, tapelens doctor -- INTERPRETER");
  }
  if (!facts.dynamic) {
    return findings.bad(facts.path + " is statically linked: nothing can be loaded into it",
                        "Link LibTorch as a shared library.");
  }
  if (facts.privileged) {
    return findings.bad(facts.path + " is setuid or setgid: the loader ignores LD_PRELOAD for it",
                        "Run it without that.");
  }
  findings.good(facts.path + " is dynamically linked; the version of its LibTorch is looked at when it runs");
}

// Spools reserve their disk space before they map it.
void examine_folder(Findings& findings) {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  char name[] = ".tapelens-doctor-XXXXXX";
  const int file = mkstemp(name);
  if (file < 0) {
    findings.bad("cannot write in " + folder + ": " + std::strerror(errno),
                 "Record elsewhere: tapelens record -o FILE");
    return;
  }
  unlink(name);
  const int refused = fallocate(file, 0, 0, 1 << 20) == 0 ? 0 : errno;
  close(file);
  struct statvfs space {};
  trace::Bytes free;
  if (statvfs(".", &space) == 0) free.value = static_cast<int64_t>(uint64_t{space.f_bavail} * space.f_frsize);
  if (refused == ENOSPC) {
    findings.bad(folder + " has no room", "Record elsewhere: tapelens record -o FILE");
  } else if (refused != 0) {
    findings.note(folder + " is on a file system that cannot reserve space (" + std::strerror(refused) +
                  "): recording there is slower; tapelens record -o FILE writes elsewhere");
  } else {
    findings.good(folder + " can be written and reserves space, " + text::bytes_text(free) + " free");
  }
}

void examine_machine(Findings& findings) {
  findings.good(std::string("glibc ") + gnu_get_libc_version());
#if defined(__x86_64__)
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line) && !line.starts_with("flags")) {
  }
  const std::string flags = line + " ";
  if (flags.find(" constant_tsc ") != std::string::npos && flags.find(" nonstop_tsc ") != std::string::npos) {
    findings.good("the time stamp counter runs at one rate: times are exact");
  } else {
    findings.note("the time stamp counter may change its rate: times can be off by some microseconds");
  }
#endif
}

int doctor(const std::vector<std::string>& command) {
  Findings findings;
  const std::string libraries = library_folder();
  const std::vector<std::string> minors = probe_minors(libraries);
  std::printf("Tapelens\n");
  examine_installation(findings, libraries, minors);
  const std::string program = command.empty() ? "python3" : command[0];
  std::printf("The program: %s\n", text::shell_quote(program).c_str());
  if (std::filesystem::path(program).filename().string().starts_with("python")) {
    examine_python(findings, program, libraries);
  } else {
    examine_program(findings, program);
  }
  std::printf("This machine\n");
  examine_folder(findings);
  examine_machine(findings);
  std::printf(findings.works() ? "Recording will work: tapelens record -- %s ...\n"
                               : "Recording will not work for %s: fix the items marked BAD.\n",
              text::shell_quote(program).c_str());
  return findings.works() ? kFine : kNo;
}

}  // namespace

CommandFunction declare_doctor(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens doctor   the python3 on PATH\n"
      "  tapelens doctor -- .venv/bin/python   another interpreter\n"
      "  tapelens doctor -- ./trainer   a C++ program\n"
      "\n"
      "Exit codes:\n"
      "  0   recording will work\n"
      "  1   recording will not work");
  return [](const Words& command) { return doctor(command); };
}

}  // namespace tapelens::cli
