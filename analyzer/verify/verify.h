// From runs to the verdict, of rewrites or of a patch: which runs are needed, what they are compared for and, where
// they differ, the search for the site that makes the difference. Pure logic: whoever calls it has the runs made.
#pragma once

#include <string>
#include <vector>

#include "analyzer/verify/run.h"
#include "analyzer/verify/verdict.h"
#include "rewrites/wire.h"
#include "trace/result.h"

namespace tapelens::verify {

// What runs the program, always with the same arguments. The command line runs a command; tests make runs up.
class Runs {
 public:
  struct Wanted {
    std::string name;       // of this run, each its own: "bare", "rewritten", "search-1"
    bool is_shown = false;  // what the program writes goes where the user sees it
    bool values = false;    // Run::values
    bool float64 = false;   // and those followed in float64
    bool patched = false;   // the program with the patch
  };
  // `rewrites`: off for a bare run. An error: the program could not be run, or its recording not be read; a program
  // that ends with an exit code has been run.
  virtual trace::Result<Run> run(const rewrites::Settings& rewrites, const Wanted& wanted) = 0;
  // What is going on, one line.
  virtual void tell(const std::string& line) = 0;

 protected:
  ~Runs() = default;
};

// An error: nothing was compared, and why.
trace::Result<Verdict> verify(Runs& runs, const rewrites::Settings& rewrites);

// A file that a patch changes. `original` and `copy` are what Run::files has where a stack names the one or the other.
struct PatchedFile {
  std::string name;  // in the repository
  std::string original, copy;
};
// An error as above; one is that the patched run had an original where it should have had the copy.
trace::Result<Verdict> verify_patch(Runs& runs, const std::vector<PatchedFile>& files);

}  // namespace tapelens::verify
