// The verdict as text, for `tapelens verify`; the window shows some of its sentences.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/verify/verdict.h"

namespace tapelens::verify {

// The whole text. `last_words` is the end of the second run's output, shown if exit codes differ; may be empty.
std::string verdict_text(const Verdict& verdict, std::string_view last_words);

// "3 steps: 3 losses, 12 gradients, 12 parameters after their step"
std::string compared_text(const Compared& compared);
// "gradient of layer1.0.weight in step 2 of rank 1", "exit code"
std::string where_text(const Difference& difference);
// Needs a difference: "0.5 bare, none rewritten"
std::string values_text(const Verdict& verdict);
// "It comes from wide-save ReluBackward0.result in Net.a*, train.py:7.", or that the rewrite was not found.
std::string origin_text(const Verdict& verdict);
// For a nondeterministic program: "two bare runs differ first in the loss in step 0.", and the unknown results.
std::string not_deterministic_text(const Verdict& verdict);
// The time of a step against a bare one: "x1.64 (x1.58 to x1.71)", "not measurable (x0.91 to x1.08)",
// "not measurable (2 steps)". Empty if a run has no step with a time.
std::string time_ratio_text(const Verdict& verdict);
// The gaps of a patch: " 3 gradients of the bare run are not computed with the patch."; empty if none.
std::string patch_text(const Patch& patch);

}  // namespace tapelens::verify
