// The patches of findings, read back from their diffs: for SARIF, and to put them into one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/check/patch.h"

namespace tapelens::report {

struct FilePatch {
  std::string path;
  std::map<uint32_t, std::string> lines;  // of the file as it is, as far as the diff shows them
  std::vector<check::Edit> edits;
};

// Nothing if it is no unified diff of text files that are there.
std::optional<std::vector<FilePatch>> read_patch(std::string_view diff);

struct Patch {
  std::string diff;
  std::vector<std::string> left_out;  // a line for each finding whose patch does not fit with those before it
};
// Of all findings, in their order.
Patch all_patches(const advise::Advice& advice);

}  // namespace tapelens::report
