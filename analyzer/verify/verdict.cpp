#include "analyzer/verify/verdict.h"

#include <algorithm>

namespace tapelens::verify {

const char* kind_name(Difference::Kind kind) {
  switch (kind) {
    case Difference::Kind::loss:
      return "loss";
    case Difference::Kind::gradient:
      return "gradient";
    case Difference::Kind::parameter:
      return "parameter";
    case Difference::Kind::returned_gradient:
      return "returned_gradient";
    case Difference::Kind::output:
      return "output";
    case Difference::Kind::exit_code:
      break;
  }
  return "exit_code";
}

const char* answer_name(Answer answer) {
  switch (answer) {
    case Answer::identical:
      return "identical";
    case Answer::different:
      return "different";
    case Answer::none:
      break;
  }
  return "none";
}

Answer Verdict::answer() const {
  if (!is_deterministic) return Answer::none;
  if (difference) return Answer::different;
  if (!why_nothing_applied.empty()) return Answer::none;
  return compared.values() + compared.output_lines > 0 ? Answer::identical : Answer::none;
}

std::optional<TimeRatio> time_ratio(const Verdict& verdict) {
  const auto &bare = verdict.bare.step, &second = verdict.rewritten.step;
  if (!bare || !second || bare->median <= 0 || second->median <= 0) return std::nullopt;
  const auto ratio = [](int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); };
  TimeRatio out;
  out.ratio = ratio(second->median, bare->median);
  out.is_too_short = std::min(bare->steps, second->steps) < TimeRatio::kFewestSteps || bare->low <= 0;
  if (out.is_too_short) {
    out.low = out.high = out.ratio;
  } else {
    out.low = ratio(second->low, bare->high);
    out.high = ratio(second->high, bare->low);
  }
  return out;
}

}  // namespace tapelens::verify
