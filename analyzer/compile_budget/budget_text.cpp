#include <algorithm>

#include "analyzer/compile_budget/renderings.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"

namespace tapelens::compile_budget {
namespace {

using text::bytes_text;
using text::pad_left;
using text::pad_right;

constexpr unsigned kFigure = 12, kChange = 9, kSaves = 7, kBar = 20;

std::string note(const Sweep& sweep, const Point& point) {
  if (&point == knee(sweep)) return &point == lowest(sweep) ? "knee, the lowest" : "knee";
  if (&point == lowest(sweep)) return &point == base(sweep) ? "" : "the lowest";
  const Point* other = no_lower_than(sweep, point);
  if (other == nullptr) return {};
  const bool is_same = point.measured.kept == other->measured.kept;
  return (is_same ? "keeps the same as " : "no lower than ") + budget_name(other->budget);
}

std::string row(const Sweep& sweep, const Point& point, const text::Style& style) {
  const Point* with = base(sweep);
  std::string text = "  " + pad_left(budget_name(point.budget), 6);
  if (point.outcome != Outcome::measured || !point.measured.is_compiled) {
    return text + "   " + outcome_text(point) + "\n";
  }
  if (!is_measured(point)) return text + "   not known: the program sets another\n";
  const Measurement &now = point.measured, &before = with->measured;
  const auto change = [&](int64_t value, int64_t of) {
    return pad_left(&point == with || value == 0 ? "" : change_text(value, of), kChange);
  };
  text += pad_left(bytes_text(now.peak), kFigure) + change(now.peak.value, before.peak.value);
  text += pad_left(now.step_ns > 0 ? text::time_text(trace::Time{now.step_ns}) : "-", kFigure) +
          change(now.step_ns, before.step_ns);
  text += pad_left(bytes_text(now.kept.bytes), kFigure) + pad_left(text::count_text(now.kept.saves), kSaves);
  int64_t highest = 1;
  for (const Point& other : sweep.points) {
    if (is_measured(other)) highest = std::max(highest, other.measured.peak.value);
  }
  const double part = static_cast<double>(now.peak.value) / static_cast<double>(highest);
  text += "  " + pad_right(text::bar(part, kBar), kBar);
  const std::string said = note(sweep, point);
  while (said.empty() && text.ends_with(' ')) text.pop_back();
  if (!said.empty()) text += "  " + said;
  if (style.color && &point == knee(sweep)) text = "\033[1m" + text + "\033[0m";
  return text + "\n";
}

std::string last_words(const Sweep& sweep) {
  for (const Point& point : sweep.points) {
    const std::string words = last_words_text(point, " with " + budget_name(point.budget));
    if (!words.empty()) return "\n" + words;
  }
  return {};
}

}  // namespace

std::string budget_text(const Sweep& sweep, const text::Style& style) {
  std::string text;
  if (const Point* with = base(sweep)) {
    const uint64_t steps = with->measured.steps;
    text += "Peak on " + text::printable(with->measured.device) + " by activation_memory_budget, " +
            text::plural(steps, "step", "steps") + " a run\n";
    text += "  " + pad_left("budget", 6) + pad_left("peak", kFigure) + pad_left("change", kChange) +
            pad_left("step", kFigure) + pad_left("change", kChange) + pad_left("kept", kFigure) +
            pad_left("saves", kSaves) + "  peak\n";
    for (const Point& point : sweep.points) text += row(sweep, point, style);
    text += "\n";
  } else if (sweep.stop == Stop::none || sweep.stop == Stop::interrupted) {
    for (const Point& point : sweep.points) text += row(sweep, point, style);
  }
  text += answer_text(sweep) + "\n";
  for (const std::string& remark : remarks(sweep)) text += remark + "\n";
  if (const Point* at = knee(sweep)) {
    text +=
        "\nTo use this budget, before the first call of the compiled function:\n"
        "  torch._functorch.config.activation_memory_budget = " +
        budget_name(at->budget) + "\n";
  }
  return text + last_words(sweep);
}

}  // namespace tapelens::compile_budget
