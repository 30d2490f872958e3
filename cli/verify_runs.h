// The runs of `tapelens verify`: the user's command, recorded with checksums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/verify/verify.h"
#include "cli/patched_copy.h"

namespace tapelens::cli {

class CommandRuns final : public verify::Runs {
 public:
  // What all runs have in common.
  struct Setting {
    std::vector<std::string> command;
    std::string folder;                    // recordings and logs
    std::optional<uint64_t> steps;         // that are recorded and compared; all if not given
    const PatchedCopy* patched = nullptr;  // where patched runs are made
    bool is_kept = false;                  // recordings and logs stay
    bool is_forced = false;                // and replace any file
    std::vector<std::string> inputs = {};  // which no recording and no log replaces
    bool output_to_error = false;          // what the shown run writes to standard output, it writes to standard error
  };
  explicit CommandRuns(Setting setting) : setting_(std::move(setting)) {}

  trace::Result<verify::Run> run(const rewrites::Settings& rewrites, const Wanted& wanted) override;
  void tell(const std::string& line) override;

  // The end of what a run that was not shown wrote, for the user to see why it failed; empty: nothing.
  std::string last_words(const std::string& name) const;

 private:
  std::string path(const std::string& name, const char* suffix) const { return setting_.folder + "/" + name + suffix; }

  const Setting setting_;
};

}  // namespace tapelens::cli
