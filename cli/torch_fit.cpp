#include "cli/torch_fit.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/report/escape.h"
#include "cli/doctor_probe.h"
#include "cli/install_paths.h"
#include "cli/text.h"
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
  std::ifstream file(look_into(program).path);
  std::string line, word, interpreter;
  if (!std::getline(file, line) || !line.starts_with("#!")) return {};
  std::istringstream words(line.substr(2));
  while (words >> word && interpreter.empty()) {
    if (is_python(word)) interpreter = word;  // "#!/venv/bin/python3" or "#!/usr/bin/env python3"
  }
  return interpreter;
}

std::string minor_of(const std::string& version) { return version.substr(0, version.find('.', version.find('.') + 1)); }

ProbeFit probe_fit(const std::string& minor, const std::string& folder) {
  const std::string libraries = library_folder(), built = built_probe_folder();
  const std::string list = libraries + "/probe-" + minor + ".fits";
  std::error_code error;
  const bool is_installed = fs::exists(list, error);
  const tapelens_fit fit = is_installed ? tapelens_fits(list.c_str(), folder.c_str()) : TAPELENS_FIT_UNKNOWN;
  if (fit == TAPELENS_FITS) return ProbeFit::installed;
  for (fs::directory_iterator entry(built, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with("probe-" + minor + "-") || !name.ends_with(".fits")) continue;
    if (tapelens_fits(entry->path().c_str(), folder.c_str()) == TAPELENS_FITS) return ProbeFit::built;
  }
  if (!is_installed) return ProbeFit::none;
  return fit == TAPELENS_FITS_NOT ? ProbeFit::other : ProbeFit::unknown;
}

std::string why_no_probe(const std::vector<std::string>& command) {
  const std::string python = interpreter_of(command[0]);
  if (python.empty()) return {};
  const PythonFacts facts = ask_python(python, {});
  if (!facts.error.empty() || facts.torch.empty() || facts.torch_folder.empty()) return {};
  const std::string minor = minor_of(facts.torch);
  const ProbeFit fit = probe_fit(minor, facts.torch_folder);
  if (fit != ProbeFit::none && fit != ProbeFit::other) return {};
  const std::vector<std::string> minors = probe_minors(library_folder());
  const std::string why = fit == ProbeFit::other ? "is another build than the probe for " + minor + " was compiled for"
                          : minors.empty()       ? "has no probe here"
                                                 : "has no probe here, which are for " + joined(minors, ", ");
  return "PyTorch " + facts.torch + " in " + facts.torch_folder + " " + why +
         "; nothing will be recorded. To record it: tapelens build-probe --python " + report::shell_quote(python);
}

}  // namespace tapelens::cli
