// Facts about the program that is to be recorded: an interpreter is asked, a binary is looked into. Used by `doctor`.
#pragma once

#include <string>

namespace tapelens::cli {

struct PythonFacts {
  std::string error;  // if it could not be asked
  std::string version, executable;
  int major = 0, minor = 0;
  std::string torch, torch_folder;  // empty: not installed
  bool preloaded = false;           // the library of `preload` was mapped in it
};
// Runs `python` for a moment, without importing torch; `preload` may be empty.
PythonFacts ask_python(const std::string& python, const std::string& preload);

struct ProgramFacts {
  std::string error;
  std::string path;
  bool script = false;      // not an ELF file
  std::string shebang;      // of a script: the words behind "#!", the interpreter's
  bool dynamic = false;     // has a loader
  bool privileged = false;  // setuid or setgid
};
ProgramFacts look_into(const std::string& program);

}  // namespace tapelens::cli
