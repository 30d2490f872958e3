// Which rewrites a command applies: the options that record, run and verify share, and how the probe is told.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/plan_file.h"
#include "cli/tally.h"
#include "cli/temporary_folder.h"
#include "rewrites/wire.h"

namespace tapelens::cli {

// What Tapelens itself can rewrite: the ids of their checks. A shared library may know more.
const std::vector<std::string>& known_rewrites();

// As typed.
struct ApplyingOptions {
  std::vector<std::string> apply, plans, allow, plugins;
  std::string budget = "5%", min_bytes = "64KiB";
  bool poison = false;
};

// Declares --apply, --plan, --allow, --recompute-budget and --rewrite-min-bytes: what is rewritten.
void add_choosing_options(CLI::App& sub, ApplyingOptions& options);
// These, --poison and --rewrite-plugin.
void add_applying_options(CLI::App& sub, ApplyingOptions& options);

// What is asked for: `on` if anything is. Throws CLI::ValidationError with one sentence: an unknown rewrite, a plan
// that is none, a number that is none, or an option that does nothing without --apply.
rewrites::Settings read_applying(const CLI::App& sub, const ApplyingOptions& options);

// How the probe of one run is told, and what it counted. Has a temporary folder while it lives, if anything is applied.
class Rewriting {
 public:
  explicit Rewriting(rewrites::Settings settings);
  // Why the probe cannot be told, for the user; empty if it can.
  const std::string& reason() const { return reason_; }
  // Where nothing is applied: that settings which this process inherited do not hold.
  const Environment& environment() const { return environment_; }
  Tally tally() const;  // after the run

 private:
  void write(rewrites::Settings settings);
  std::optional<TemporaryFolder> folder_;
  Environment environment_;
  std::string reason_;
};

}  // namespace tapelens::cli
