// Facts about the program to record: from running an interpreter, or from reading a binary. Used by `doctor`.
#pragma once

#include <string>

namespace tapelens::cli {

struct PythonFacts {
  std::string error;  // why it could not run
  std::string version, executable;
  int major = 0, minor = 0;
  std::string torch, torch_folder;  // empty: not installed
  bool preloaded = false;           // the library in `preload` was loaded
};
// Runs `python` for a moment, without importing torch; `preload` may be empty.
PythonFacts ask_python(const std::string& python, const std::string& preload);

struct ProgramFacts {
  std::string error;
  std::string path;
  bool script = false;      // not an ELF file
  std::string shebang;      // for a script: the words after "#!", which name the interpreter
  bool dynamic = false;     // needs a loader
  bool privileged = false;  // setuid or setgid
};
ProgramFacts look_into(const std::string& program);

}  // namespace tapelens::cli
