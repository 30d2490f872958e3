#include "analyzer/fit/fit_text.h"

#include <algorithm>

#include "analyzer/text/format.h"

namespace tapelens::fit {
namespace {

using text::bytes_text;
using text::pad_left;
using text::pad_right;

constexpr unsigned kFigure = 12;

std::string verdict(const Point& point, const Series& series) {
  switch (point.outcome) {
    case Outcome::measured:
      return &point == largest(series) && series.points.size() > 1 ? "yes, the largest" : "yes";
    case Outcome::out_of_memory:
      return "no: " + why_text(point);
    case Outcome::failed:
      return "failed: " + point.why;
    case Outcome::cut_off:
      break;
  }
  return "not known: " + point.why;
}

std::string row(const Point& point, const Series& series, unsigned width) {
  const bool is_known = point.measured.allocated.value > 0;
  const auto figure = [&](bool is_shown, Bytes bytes) { return pad_left(is_shown ? bytes_text(bytes) : "-", kFigure); };
  const std::string size = point.size == 0 ? "" : std::to_string(point.size);
  return "  " + pad_left(size, width) + figure(is_known, point.measured.allocated) +
         figure(is_known, point.measured.reserved) +
         figure(point.outcome == Outcome::measured, series.setting.memory - point.measured.reserved) + "   " +
         verdict(point, series) + "\n";
}

std::string last_words(const Series& series) {
  for (const Point& point : series.points) {
    const std::string of = point.size == 0 ? "" : " with " + std::to_string(point.size);
    if (std::string words = last_words_text(point, of); !words.empty()) return "\n  " + words;
  }
  return {};
}

std::string table(const Series& series, uint64_t steps) {
  unsigned width = 4;
  for (const Point& point : series.points) {
    width = std::max(width, static_cast<unsigned>(std::to_string(point.size).size()));
  }
  std::string text =
      label(series.setting) + ": " + series.setting.name + ", " + bytes_text(series.setting.memory) + "\n";
  text += "  " + pad_left(series.sizes.front() == 0 ? "" : "size", width) + pad_left("allocated", kFigure) +
          pad_left("reserved", kFigure) + pad_left("headroom", kFigure) + "   fits\n";
  for (const Point& point : series.points) text += row(point, series, width);
  text += "  " + answer_text(series) + "\n";
  for (const std::string& remark : remarks(series, steps)) text += "  " + remark + "\n";
  return text + last_words(series) + "\n";
}

// The answers of several searches in one table.
std::string overview(const Fit& fit) {
  std::string text = "Largest that fits\n";
  unsigned width = 0;
  for (const Series& series : fit.series) width = std::max(width, text::columns(label(series.setting)));
  for (const Series& series : fit.series) {
    const Point* fits = largest(series);
    const bool is_open = !is_settled(series);
    std::string answer = fits == nullptr ? (is_open ? "not known" : "none") : std::to_string(fits->size);
    if (fits != nullptr && fits->size == 0) answer = "it fits";
    if (fits != nullptr && is_open) answer += " or more";
    if (fits != nullptr && fits->size != 0 && !is_open && too_large(series) == nullptr) {
      answer += "; larger sizes were not requested";
    }
    text += "  " + pad_right(label(series.setting), width) + "  " + answer + "\n";
  }
  return text + "\n";
}

bool is_auto_without_host(const Fit& fit) {
  const auto has = [&](std::string_view apply) {
    return std::ranges::any_of(fit.series, [&](const Series& series) { return series.setting.apply == apply; });
  };
  return has(kAuto) && !has(kAutoOffload);
}

}  // namespace

std::string label(const Setting& setting) {
  return setting.gpu + (setting.apply.empty() ? "" : " with " + setting.apply);
}

std::string fit_text(const Fit& fit) {
  std::string text;
  for (const Series& series : fit.series) text += table(series, fit.steps);
  if (fit.series.size() > 1) text += overview(fit);
  if (is_auto_without_host(fit)) {
    text +=
        "With --host-memory SIZE, auto is searched once more with saves in the host's memory (--allow offload).\n\n";
  }
  if (fit.was_interrupted) text += "Interrupted: results of the runs so far.\n";
  return text +
         "Headroom is the memory of the GPU that PyTorch's allocator does not reserve. CUDA's context (a few hundred "
         "MiB), NCCL's\nbuffers and the allocations of other libraries are not simulated and must fit in it.\n";
}

}  // namespace tapelens::fit
