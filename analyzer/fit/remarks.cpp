// Computes the remarks of fit_text.h.
#include <algorithm>

#include "analyzer/fit/fit_text.h"
#include "analyzer/peak/external_memory.h"
#include "analyzer/text/format.h"

namespace tapelens::fit {
namespace {

using text::bytes_text;

std::string text_of(uint64_t size) { return std::to_string(size); }

// The sizes with unknown results between the answer and the smallest size that does not fit: "12 to 15".
std::string open_text(const Series& series) {
  const Point *fits = largest(series), *full = too_large(series);
  uint64_t first = 0, last = 0;
  for (const uint64_t size : series.sizes) {
    if ((fits != nullptr && size <= fits->size) || (full != nullptr && size >= full->size)) continue;
    if (first == 0) first = size;
    last = size;
  }
  return first == last ? text_of(first) : text_of(first) + " to " + text_of(last);
}

std::string answer_of_one(const Series& series) {
  if (series.points.empty()) return "It is not known whether it fits: it was not run.";
  switch (series.points.front().outcome) {
    case Outcome::measured:
      return "It fits.";
    case Outcome::out_of_memory:
      return "It does not fit.";
    default:
      return "It is not known whether it fits.";
  }
}

bool is_failed(const Point& point) { return point.outcome == Outcome::failed; }

void add_order(const Series& series, std::vector<std::string>& all) {
  const Point* fits = largest(series);
  if (fits == nullptr) return;
  for (const Point& point : series.points) {
    if (point.outcome == Outcome::out_of_memory && point.size < fits->size) {
      all.push_back(text_of(point.size) + " does not fit, although " + text_of(fits->size) + " does.");
    }
  }
  const Point* before = nullptr;
  for (const Point& point : series.points) {
    if (point.outcome != Outcome::measured) continue;
    if (before != nullptr && point.measured.allocated < before->measured.allocated) {
      all.push_back("The peak does not grow with the size: at " + text_of(point.size) + " it is " +
                    bytes_text(point.measured.allocated) + ", at " + text_of(before->size) + " " +
                    bytes_text(before->measured.allocated) +
                    ". Sizes that were not run may fit or not: --all runs them.");
    }
    before = &point;
  }
}

}  // namespace

std::string outcome_text(const Point& point) {
  const std::string why = point.why.empty() ? "" : ": " + why_text(point);
  switch (point.outcome) {
    case Outcome::measured:
      return "fits, " + bytes_text(point.measured.allocated) + " allocated";
    case Outcome::out_of_memory:
      return "does not fit" + why;
    case Outcome::failed:
      return "failed" + why;
    case Outcome::cut_off:
      break;
  }
  return "not known" + why;
}

std::string answer_text(const Series& series) {
  if (series.sizes.size() == 1 && series.sizes.front() == 0) return answer_of_one(series);
  const Point *fits = largest(series), *full = too_large(series);
  const std::string rest = is_settled(series) ? "" : " Of " + open_text(series) + " it is not known.";
  if (fits == nullptr) {
    if (rest.empty()) return "None fits: " + text_of(full->size) + " does not.";
    return "None is known to fit" + (full != nullptr ? ": " + text_of(full->size) + " does not." : ".") + rest;
  }
  if (!rest.empty()) {
    return "At least " + text_of(fits->size) + " fits" +
           (full != nullptr ? ", " + text_of(full->size) + " does not." : ".") + rest;
  }
  if (full == nullptr) return "All requested sizes fit, up to " + text_of(fits->size) + ".";
  return "Largest that fits: " + text_of(fits->size) + ". " + text_of(full->size) + " does not.";
}

std::vector<std::string> remarks(const Series& series, uint64_t steps) {
  std::vector<std::string> all;
  if (series.was_given_up) {
    all.push_back("The search was given up: too many runs said nothing of the memory.");
  }
  if (std::ranges::any_of(series.points, [](const Point& point) {
        return point.exit_code != 0 && is_failed(point) && !point.measured.value_reads.empty();
      })) {
    all.push_back(
        "A run that failed had read values that the simulated GPU does not compute and returns as zero: if such a "
        "value is why, only a real GPU has it.");
  }
  add_order(series, all);
  const Point* fits = largest(series);
  if (fits == nullptr) return all;
  const std::string of = fits->size == 0 ? "" : " at " + text_of(fits->size);
  if (fits->measured.grew) {
    all.push_back("The peak" + of + " still grew in the last of " +
                  text::plural(fits->measured.optimizer_steps, "step", "steps") +
                  ": a longer run may not fit (--steps).");
  }
  if (fits->was_ended && fits->measured.fewest_optimizer_steps < steps) {
    all.push_back("A process that uses a GPU had made " +
                  text::plural(fits->measured.fewest_optimizer_steps, "step", "steps") + " of " + text_of(steps) + of +
                  " when the run was ended: its own peak may be larger.");
  }
  if (fits->measured.optimizer_steps == 0 && !fits->was_ended && steps > 0) {
    all.push_back("No step of an optimizer ended" + of + ": this is the peak of the whole run, to its end.");
  }
  if (!fits->measured.value_reads.empty()) all.push_back(fits->measured.value_reads);
  if (!series.setting.apply.empty()) {
    all.push_back("Rewrites" + of + ": " + fits->rewritten +
                  (fits->was_rewritten ? "." : "; this is what fits without --apply."));
  }
  if (series.setting.apply == kAuto && fits->was_rewritten) {
    all.push_back("tapelens run --fit " + std::to_string(series.setting.memory.value >> 20) +
                  "MiB applies only what a size needs of these rewrites.");
  }
  if (const Bytes left = series.setting.memory - fits->measured.reserved; left < peak::kUsualExternalMemory) {
    all.push_back("The headroom" + of + ", " + bytes_text(left) +
                  ", may not hold what is outside of PyTorch's allocator on a real GPU.");
  }
  return all;
}

}  // namespace tapelens::fit
