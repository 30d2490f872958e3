// Computes the verdict on rewrites or a patch: decides which runs it needs, compares them and, if they differ, searches
// for the responsible site. Pure logic: the caller makes the runs.
#pragma once

#include <string>
#include <vector>

#include "analyzer/verify/run.h"
#include "analyzer/verify/verdict.h"
#include "policy/wire.h"
#include "trace/result.h"

namespace tapelens::verify {

// Runs the program, always with the same arguments. The command line runs a command; tests return synthetic runs.
class ProgramRuns {
 public:
  struct RunOptions {
    std::string name;       // unique for each run: "bare", "rewritten", "search-1"
    bool is_shown = false;  // the program's output goes to the user's terminal
    bool values = false;    // writes Run::values
    bool float64 = false;   // with float64 values
    bool patched = false;   // runs the program with the patch
  };
  // `rewrites` is off for a bare run. An error means that the program could not start or its recording is unreadable; a
  // program that exits with a code has run.
  virtual trace::Result<ProgramRun> run(const policy::RewriteSettings& rewrites, const RunOptions& wanted) = 0;
  // Reports progress, one line.
  virtual void tell(const std::string& line) = 0;

 protected:
  ~ProgramRuns() = default;
};

// An error means that nothing was compared, and says why.
trace::Result<Verdict> verify(ProgramRuns& runs, const policy::RewriteSettings& rewrites);

// A file that a patch changes. `original` and `copy` are the paths in Run::files if stacks name them.
struct PatchedFile {
  std::string name;  // relative to the repository
  std::string original, copy;
};
// Errors as above; also an error if the patched run used an original instead of its copy.
trace::Result<Verdict> verify_patch(ProgramRuns& runs, const std::vector<PatchedFile>& files);

}  // namespace tapelens::verify
