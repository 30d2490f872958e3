// Finds the PyTorch that a command will run, and whether a probe exists for it. Runs before the command, and does not
// import torch.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tapelens::cli {

// The interpreter of a command: the program itself, or that of a Python script (`torchrun`, `pytest`). Empty if it is
// neither.
std::string interpreter_of(const std::string& program);

enum class ProbeFit {
  installed,  // an installed probe
  built,      // one that `tapelens build-probe` made
  none,       // no probe of this minor version
  other,      // probes of this minor version are for other builds
  refused,    // other users can change the probe that `tapelens build-probe` made
  unknown,    // the build of this PyTorch cannot be identified
};
// `minor`: "2.15"; `folder`: the PyTorch package with lib/ and include/; `changeable`: receives the path that other
// users can change.
ProbeFit probe_fit(const std::string& minor, const std::string& folder, std::string* changeable = nullptr);
// The error message for a path that other users can change.
std::string refusal_of(const std::string& changeable);

// "2.15" of "2.15.0+cu130".
std::string minor_of(const std::string& version);

// Why a command cannot be recorded, and the remedy, in one sentence. Empty if it can be recorded, or if that is
// unknown.
std::string why_no_probe(const std::vector<std::string>& command);

}  // namespace tapelens::cli
