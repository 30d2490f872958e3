// Which PyTorch a command will run, and whether there is a probe for it: asked before the run, without importing torch.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tapelens::cli {

// The interpreter that runs a command: itself, or that of a script of Python (`torchrun`, `pytest`); empty if it is
// none.
std::string interpreter_of(const std::string& program);

enum class ProbeFit {
  installed,  // an installed probe
  built,      // one that `tapelens build-probe` made
  none,       // there is none of this minor
  other,      // those of this minor were compiled for other builds
  refused,    // other users can change the one that `tapelens build-probe` made
  unknown,    // this PyTorch has nothing to tell its build by
};
// `minor`: "2.15"; `folder`: of the PyTorch, with lib/ and include/; `changeable`: the path that other users can
// change.
ProbeFit probe_fit(const std::string& minor, const std::string& folder, std::string* changeable = nullptr);
// The sentence about it.
std::string refusal_of(const std::string& changeable);

// "2.15" of "2.15.0+cu130".
std::string minor_of(const std::string& version);

// Says why a command cannot be recorded, in one sentence with what to do; empty if it can, or that is not known.
std::string why_no_probe(const std::vector<std::string>& command);

}  // namespace tapelens::cli
