// The rewrites that a command applies: the options of record, run and verify, and their transfer to the probe.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/plan_file.h"
#include "cli/scoped_files.h"
#include "cli/tally.h"
#include "policy/wire.h"

namespace tapelens::cli {

// The rewrites of Tapelens itself, by the ids of their checks. A shared library may add others.
const std::vector<std::string>& known_rewrites();

// The options as typed.
struct ApplyingOptions {
  std::vector<std::string> apply, allow, plugins;  // apply: levels and plans
  std::string budget, host_memory, min_bytes = "64KiB";
  bool poison = false;
};

// Declares --apply, --allow, --recompute-budget, --host-memory and --rewrite-min-bytes, which choose the rewrites.
void add_choosing_options(CLI::App& sub, ApplyingOptions& options);
// Declares the same, and --poison and --rewrite-plugin.
void add_applying_options(CLI::App& sub, ApplyingOptions& options);

// The requested settings; `on` if the user requests any rewrite. Throws CLI::ValidationError with one sentence for an
// unknown rewrite, an invalid plan or number, or an option that has no effect without --apply.
// With --fit, which chooses the rewrites, --host-memory is a limit for the choice.
policy::RewriteSettings read_applying(const CLI::App& sub, const ApplyingOptions& options);

// Passes settings to the probe of one run, and reads its counts. If rewrites apply, it owns a temporary folder.
class Rewriting {
 public:
  explicit Rewriting(policy::RewriteSettings settings);
  // Why the settings cannot be passed to the probe, for the user; empty if they can.
  const std::string& reason() const { return reason_; }
  // Without rewrites it clears the settings that this process inherited.
  const Environment& environment() const { return environment_; }
  TallySums tally() const;  // after the run

 private:
  void write(policy::RewriteSettings settings);
  std::optional<TemporaryFolder> folder_;
  Environment environment_;
  std::string reason_;
};

}  // namespace tapelens::cli
