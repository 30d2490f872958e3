// The verdict in words: the text of `tapelens verify`, and the sentences of it that the window says as well.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/verify/verdict.h"

namespace tapelens::verify {

// All of it. `last_words`: the end of what the second run wrote, for a difference of the exit code; may be empty.
std::string verdict_text(const Verdict& verdict, std::string_view last_words);

// "3 steps: 3 losses, 12 gradients, 12 parameters after their step"
std::string compared_text(const Compared& compared);
// "gradient of layer1.0.weight in step 2 of rank 1", "exit code"
std::string where_text(const Difference& difference);
// Of a verdict that has a difference: "0.5 bare, none rewritten"
std::string values_text(const Verdict& verdict);
// "It comes from wide-save ReluBackward0.result in Net.a*, train.py:7.", or that it was not found.
std::string origin_text(const Verdict& verdict);
// Of a program that differs by itself: "two bare runs differ first in the loss in step 0. Nothing can be said of ..."
std::string not_deterministic_text(const Verdict& verdict);
// What a patch leaves open: " 3 gradients of the bare run are not computed with the patch."; empty: nothing.
std::string patch_text(const Patch& patch);

}  // namespace tapelens::verify
