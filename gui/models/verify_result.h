// What `tapelens verify --format json` wrote, as far as a person wants to see it.
#pragma once

#include <QString>
#include <optional>

#include "analyzer/model/model.h"

namespace tapelens::gui {

struct VerifyResult {
  bool is_identical = false, is_deterministic = true;
  uint64_t steps = 0, losses = 0, gradients = 0, parameters = 0;  // that were compared
  model::Bytes bare_peak, rewritten_peak;
  std::optional<int64_t> bare_step_ns, rewritten_step_ns;

  struct Difference {
    QString what;             // "gradient of layer1.0.weight in step 2"
    QString bare, rewritten;  // the values
    QString rewrite, place;   // that it comes from, if it was found
  };
  std::optional<Difference> difference;
  bool has_verdict = true;
  // Where all that differs comes from rewrites that add in another order.
  struct Rounding {
    QString unknown;                                             // why there are no figures
    double difference = 0, bare_error = 0, rewritten_error = 0;  // the largest of all gradients
  };
  std::optional<Rounding> rounding;
};

struct ReadVerifyResult {
  std::optional<VerifyResult> result;
  QString problem;  // one sentence, if there is none
};
ReadVerifyResult read_verify_result(const QString& path);

// "identical, bit for bit": the verdict in a word or two.
QString verdict_title(const VerifyResult& result);
// What was compared, or what differs first and where that comes from: a sentence or two.
QString verdict_text(const VerifyResult& result);
// "peak 142.0 MiB → 94.0 MiB (−33.8 %), step 120 ms → 125 ms"
QString verdict_effect(const VerifyResult& result);

}  // namespace tapelens::gui
