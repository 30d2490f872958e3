#include "cli/torch_fit.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "analyzer/text/escape.h"
#include "cli/doctor_probe.h"
#include "cli/preload.h"
#include "cli/text.h"
#include "profiler/fits/built.h"
#include "profiler/fits/fits.h"

namespace tapelens::cli {

namespace fs = std::filesystem;

namespace {

bool is_python(const std::string& program) {
  const std::string name = fs::path(program).filename().string();
  return name.starts_with("python") && name.find_first_not_of("0123456789.t", 6) == std::string::npos;
}

}  // namespace

std::string interpreter_of(const std::string& program) {
  if (is_python(program)) return program;
  std::string word, interpreter;
  std::istringstream words(look_into(program).shebang);
  while (words >> word && interpreter.empty()) {
    if (is_python(word)) interpreter = word;  // "#!/venv/bin/python3" or "#!/usr/bin/env python3"
  }
  return interpreter;
}

std::string minor_of(const std::string& version) { return version.substr(0, version.find('.', version.find('.') + 1)); }

ProbeFit probe_fit(const std::string& minor, const std::string& folder, std::string* changeable) {
  const std::string libraries = library_folder(), built = built_probe_folder();
  const std::string list = libraries + "/probe-" + minor + ".fits";
  std::error_code error;
  const bool is_installed = fs::exists(list, error);
  const tapelens_fit fit = is_installed ? tapelens_fits(list.c_str(), folder.c_str()) : TAPELENS_FIT_UNKNOWN;
  if (fit == TAPELENS_FITS) return ProbeFit::installed;
  unsigned first = 0, second = 0;
  std::array<char, 4096> path{};
  if (std::sscanf(minor.c_str(), "%u.%u", &first, &second) == 2) {
    const tapelens_built found = tapelens_find_built(built.c_str(), first, second, folder.c_str(), path.data());
    if (found == TAPELENS_BUILT_FOUND) return ProbeFit::built;
    if (found == TAPELENS_BUILT_REFUSED) {
      if (changeable != nullptr) *changeable = path.data();
      return ProbeFit::refused;
    }
  }
  if (!is_installed) return ProbeFit::none;
  return fit == TAPELENS_FITS_NOT ? ProbeFit::other : ProbeFit::unknown;
}

std::string refusal_of(const std::string& changeable) {
  return "other users can change " + changeable + ", so the probe that build-probe made is not loaded";
}

std::string why_no_probe(const std::vector<std::string>& command) {
  const std::string python = interpreter_of(command[0]);
  if (python.empty()) return {};
  const PythonFacts facts = ask_python(python, {});
  if (!facts.error.empty() || facts.torch.empty() || facts.torch_folder.empty()) return {};
  const std::string minor = minor_of(facts.torch);
  std::string changeable;
  const ProbeFit fit = probe_fit(minor, facts.torch_folder, &changeable);
  if (fit == ProbeFit::refused) {
    return refusal_of(changeable) + "; nothing will be recorded. Make it yours and writable for you alone, then: " +
           "tapelens build-probe --python " + text::shell_quote(python);
  }
  if (fit != ProbeFit::none && fit != ProbeFit::other) return {};
  const std::vector<std::string> minors = probe_minors(library_folder());
  const std::string why = fit == ProbeFit::other ? "is another build than the probe for " + minor + " was compiled for"
                          : minors.empty()       ? "has no probe here"
                                                 : "has no probe here, which are for " + joined(minors, ", ");
  return "PyTorch " + facts.torch + " in " + facts.torch_folder + " " + why +
         "; nothing will be recorded. To record it: tapelens build-probe --python " + text::shell_quote(python);
}

}  // namespace tapelens::cli
