#include "cli/recording_environment.h"

#include "trace/variables.h"

namespace tapelens::cli {

Environment environment_of(const RecordingSettings& settings) {
  const auto flag = [](bool is_set) { return is_set ? "1" : ""; };
  return {{TAPELENS_SPOOL, settings.spool},       {TAPELENS_EPOCH_NS, settings.epoch_ns},
          {TAPELENS_STEPS, settings.steps},       {TAPELENS_MARKED, flag(settings.marked)},
          {TAPELENS_LAST, settings.last},         {TAPELENS_MAX_BYTES, settings.max_bytes},
          {TAPELENS_STACKS, settings.stacks},     {TAPELENS_CHECKSUMS, flag(settings.checksums)},
          {TAPELENS_VALUES, settings.values},     {TAPELENS_FLOAT64, flag(settings.float64)},
          {TAPELENS_CUPTI, flag(settings.cupti)}, {TAPELENS_REFERRERS, flag(settings.referrers)},
          {TAPELENS_QUIET, flag(settings.quiet)}, {TAPELENS_ACTIVATION_BUDGET, settings.activation_budget}};
}

}  // namespace tapelens::cli
