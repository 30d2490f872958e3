#include <algorithm>

#include "analyzer/report/sentences.h"
#include "analyzer/text/format.h"

namespace tapelens::report {

using text::plural;

std::vector<std::string> condition_texts(const Report& r) {
  if (r.options.is_verbose) {
    std::vector<std::string> all{simulated_text(r.recording), imported_text(r.recording), estimates_text(r),
                                 value_reads_text(r)};
    std::erase(all, "");
    return all;
  }
  std::string text;
  if (!r.recording.simulated_gpu.empty()) {
    text = "On " + r.recording.simulated_gpu + ", simulated: no values, no times";
    if (is_too_large(r)) text += "; too small with the memory outside of PyTorch";
    if (!value_reads_text(r).empty()) text += "; the peak may depend on values";
  } else if (!r.recording.imported_from.empty()) {
    text = "Imported from " + r.recording.imported_from + ": no saves, modules or steps";
    if (!r.recording.imported_history) text += ", no history";
  }
  if (text.empty()) return {};
  return {text + " (--verbose: more)"};
}

std::string simulated_text(const RecordingFacts& facts) {
  if (facts.simulated_gpu.empty()) return {};
  return "On " + facts.simulated_gpu +
         ", simulated: kernels did nothing. Only small tensors have values, times have no meaning, and memory that "
         "depends on values may differ on a real one.";
}

std::string not_looked_text(const advise::Advice& advice) {
  if (advice.not_looked.empty()) return {};
  std::string text = plural(advice.not_looked.size(), "check needs", "checks need") +
                     " operators, saves or steps, which a snapshot does not have: ";
  for (size_t i = 0; i < advice.not_looked.size(); ++i) text += (i > 0 ? ", " : "") + advice.not_looked[i];
  return text + ". Record the program itself for them: tapelens record -- COMMAND";
}

std::string value_reads_text(const Report& report) {
  std::vector<ValueRead> reads;
  for (const ProcessFacts& process : report.processes) {
    reads.insert(reads.end(), process.value_reads.begin(), process.value_reads.end());
  }
  return peak::value_reads_text(reads);
}

std::string imported_text(const RecordingFacts& facts) {
  if (facts.imported_from.empty()) return {};
  std::string text =
      "Imported from " + facts.imported_from +
      ": it has blocks, segments and stacks, and the operators, nodes and phases that the stacks show. It has no "
      "saves, modules or steps: the holders of memory are known only if its lifetime and stacks show them, and checks "
      "that need more do not run.";
  if (!facts.imported_history) text += " It has no history: the peak is the memory at the time of the snapshot.";
  if (facts.imported_older > 0) {
    text += " " + plural(facts.imported_older, "allocation is", "allocations are") + " older than the history: when " +
            (facts.imported_older == 1 ? "it was" : "they were") + " made is not known.";
  }
  if (facts.imported_annotations > 0) {
    text += " " + plural(facts.imported_annotations, "annotation", "annotations") + " of single tensors " +
            (facts.imported_annotations == 1 ? "is" : "are") + " left out.";
  }
  return text;
}

std::string hidden_text(const std::vector<ProcessFacts>& processes) {
  const auto hidden = std::ranges::find_if(processes, [](const ProcessFacts& p) { return !p.cuda_allocator.empty(); });
  return hidden == processes.end() ? std::string() : run::hidden_text(hidden->cuda_allocator);
}

}  // namespace tapelens::report
