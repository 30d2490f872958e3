#include "analyzer/verify/verdict.h"

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

}  // namespace tapelens::verify
