// The runs of `tapelens verify`: the user's command, recorded with checksums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/verify/verify.h"
#include "cli/patches.h"

namespace tapelens::cli {

class CommandRuns final : public verify::ProgramRuns {
 public:
  // Settings of all runs.
  struct Setting {
    std::vector<std::string> command;
    std::string folder;                    // for recordings and logs
    std::optional<uint64_t> steps;         // steps to record and compare; all if not set
    const PatchedCopy* patched = nullptr;  // the copy in which patched runs are made
    bool is_kept = false;                  // keep recordings and logs
    bool is_forced = false;                // recordings and logs may replace any file
    std::vector<std::string> inputs = {};  // files that recordings and logs never replace
    bool output_to_error = false;          // the shown run writes its standard output to standard error
  };
  explicit CommandRuns(Setting setting) : setting_(std::move(setting)) {}

  trace::Result<verify::ProgramRun> run(const policy::RewriteSettings& rewrites, const RunOptions& wanted) override;
  void tell(const std::string& line) override;

  // The end of the output of a run that was not shown, to show why it failed; empty if it wrote nothing.
  std::string last_words(const std::string& name) const;

 private:
  std::string path(const std::string& name, const char* suffix) const { return setting_.folder + "/" + name + suffix; }

  const Setting setting_;
};

}  // namespace tapelens::cli
