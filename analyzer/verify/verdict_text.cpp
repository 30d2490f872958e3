#include "analyzer/verify/verdict_text.h"

#include <algorithm>
#include <cstdio>

#include "analyzer/text/format.h"
#include "policy/catalog.h"

namespace tapelens::verify {

namespace {

using text::bytes_text;
using text::pad_left;
using text::pad_right;
using text::plural;

// The tensors that were not compared; empty if all were.
std::string left_out_text(const Compared& c) {
  if (c.gradients_left_out + c.parameters_left_out == 0) return "";
  return " " + plural(c.gradients_left_out, "gradient", "gradients") + " and " +
         plural(c.parameters_left_out, "parameter", "parameters") +
         " were not compared: they are not ordinary tensors on the CPU.";
}

std::string or_none(const std::string& value) { return value.empty() ? "none" : value; }

// Reordering rewrites of the process with the largest peak. The names in other processes are not known here.
std::string names_of_reordering(const Verdict& v) {
  std::string names;
  for (const Applied& one : v.applied) {
    if (policy::reorders_sums(one.rewrite)) names += (names.empty() ? "" : ", ") + one.rewrite;
  }
  return names.empty() ? "a rewrite" : names;
}

// The distance of each gradient to that of the bare run, and of both to float64.
std::string rounding_text(const Rounding& rounding) {
  if (!rounding.unknown.empty()) return "\nHow far they are apart is not known: " + rounding.unknown + ".\n";
  constexpr size_t kMost = 8;
  const auto figure = [](double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.1e", value);
    return pad_left(text, 12);
  };
  const size_t shown = std::min(kMost, rounding.gradients.size());
  size_t width = 30;
  for (size_t i = 0; i < shown; ++i) width = std::max(width, std::min<size_t>(60, rounding.gradients[i].name.size()));
  std::string text = "\n  " + pad_right("gradient, first step", width) + "  difference  bare error   rewritten error\n";
  for (size_t i = 0; i < shown; ++i) {
    const GradientError& one = rounding.gradients[i];
    text += "  " + pad_right(one.name, width) + figure(one.difference) + figure(one.bare) + "    " +
            figure(one.rewritten) + "\n";
  }
  if (shown < rounding.gradients.size()) {
    text +=
        "  and " + plural(rounding.gradients.size() - shown, "gradient", "gradients") + " with smaller differences\n";
  }
  if (rounding.left_out > 0) {
    text += "  " + plural(rounding.left_out, "gradient", "gradients") + " could not be followed in float64\n";
  }
  return text +
         "  The error is the largest difference from the same program in float64, relative to the largest element.\n";
}

std::string verdict_line(const Verdict& v) {
  const std::string left_out = left_out_text(v.compared);
  if (v.answer() == Answer::identical && v.compared.values() == 0) {
    return "The same output, byte for byte, and the same exit code: " + compared_text(v.compared) +
           ". The runs had no gradient and no parameter to compare." + left_out + (v.patch ? patch_text(*v.patch) : "");
  }
  if (v.answer() == Answer::identical) {
    return "Identical, bit for bit, in " + compared_text(v.compared) + "." + left_out +
           (v.patch ? patch_text(*v.patch) : "");
  }
  if (!v.difference && !v.why_nothing_applied.empty()) {
    return "No verdict: nothing was rewritten: " + v.why_nothing_applied + ". The runs are the same in " +
           compared_text(v.compared) + "." + left_out;
  }
  if (!v.difference && v.patch) {
    return "No verdict: no gradient and no parameter was compared, and the program writes nothing to standard output." +
           left_out + patch_text(*v.patch);
  }
  if (!v.difference) {
    return "No verdict: no gradient and no parameter was compared. The same in " +
           plural(v.compared.steps, "step", "steps") + ": " + plural(v.compared.losses, "loss", "losses") + "." +
           left_out;
  }
  const Difference& d = *v.difference;
  if (v.rounding) {
    return "Not the same bits: " + names_of_reordering(v) +
           " adds in another order, and all else is identical. First the " + where_text(d) + " differs.";
  }
  if (!v.is_deterministic) return "The program is not deterministic by itself: " + not_deterministic_text(v);
  return "Different: first the " + where_text(d) + " (" + values_text(v) + "). " + origin_text(v) +
         (v.patch ? patch_text(*v.patch) : "");
}

std::string change_text(Bytes before, Bytes after) {
  if (before.value <= 0) return "";
  char text[40];
  const double change = 100.0 * static_cast<double>(after.value - before.value) / static_cast<double>(before.value);
  std::snprintf(text, sizeof text, "%+.1f %%", change);
  return text;
}

std::string row(const char* what, const std::string& bare, const std::string& rewritten, const std::string& change) {
  const std::string all =
      pad_left(bare, 11) + pad_left(rewritten, 12) + (change.empty() ? "" : "   " + pad_left(change, 9));
  return "  " + pad_right(what, 13) + all + "\n";
}

std::string table(const Verdict& v) {
  const auto time = [](const std::optional<StepTimes>& step) {
    return step ? text::time_text(model::Time{step->median}) : "unknown";
  };
  return row("", "bare", v.second(), "") +
         row("peak", bytes_text(v.bare.peak), bytes_text(v.rewritten.peak),
             change_text(v.bare.peak, v.rewritten.peak)) +
         row("in last step", bytes_text(v.bare.last_step_peak), bytes_text(v.rewritten.last_step_peak),
             change_text(v.bare.last_step_peak, v.rewritten.last_step_peak)) +
         row("saved peak", bytes_text(v.bare.saved_peak), bytes_text(v.rewritten.saved_peak),
             change_text(v.bare.saved_peak, v.rewritten.saved_peak)) +
         row("step, median", time(v.bare.step), time(v.rewritten.step), time_ratio_text(v));
}

std::string rewrites_text(const Verdict& v) {
  std::string text;
  if (v.patch) {
    for (const std::string& file : v.patch->files) text += "  patched  " + file + "\n";
    return text;
  }
  for (const Applied& total : v.applied) {
    text += "  applied  " + pad_right(total.rewrite, 18) + " " + std::string(policy::level_name(total.level)) + " at " +
            plural(total.sites, "site", "sites") + ", " + bytes_text(total.bytes) + " kept as " +
            bytes_text(total.kept) + "\n";
  }
  for (const Skipped& total : v.skipped) {
    text += "  skipped  " + pad_right(total.rewrite, 18) + " " + total.reason + " at " +
            plural(total.sites, "site", "sites") + "\n";
  }
  return text.empty() ? "  nothing was applied\n" : text;
}

}  // namespace

std::string compared_text(const Compared& c) {
  if (c.output_lines > 0) {
    const std::string losses = c.losses > 0 ? ", " + plural(c.losses, "loss", "losses") : "";
    return plural(c.output_lines, "line", "lines") + losses;
  }
  std::string text = plural(c.steps, "step", "steps") + ": " + plural(c.losses, "loss", "losses");
  const bool has_steps = c.gradients + c.parameters > 0;
  if (has_steps || c.returned_gradients == 0) {
    text += ", " + plural(c.gradients, "gradient", "gradients") + ", " +
            plural(c.parameters, "parameter", "parameters") + " after their step";
  }
  if (c.returned_gradients > 0) {
    text += ", " + plural(c.returned_gradients, "gradient", "gradients") + " returned by torch.autograd.grad";
  }
  return text;
}

std::string where_text(const Difference& d) {
  if (d.kind == Difference::Kind::exit_code) return "exit code";
  if (d.kind == Difference::Kind::output) return "line " + std::to_string(d.step) + " of the output";
  const bool is_returned = d.kind == Difference::Kind::returned_gradient;
  const std::string what = is_returned ? "gradient that torch.autograd.grad returned for " + d.name
                                       : kind_name(d.kind) + (d.name.empty() ? "" : " of " + d.name);
  const std::string text = what + " in step " + std::to_string(d.step);
  return d.rank >= 0 ? text + " of rank " + std::to_string(d.rank) : text;
}

std::string values_text(const Verdict& v) {
  return or_none(v.difference->bare) + " bare, " + or_none(v.difference->rewritten) + " " + v.second();
}

std::string origin_text(const Verdict& v) {
  if (v.patch) return "It comes from the patch.";
  const Difference& d = *v.difference;
  if (d.site) return "It comes from " + describe(*d.site) + ".";
  if (!d.rewrite.empty()) return "It comes from " + d.rewrite + ", at no single site that could be found.";
  return "No single rewrite was found that it comes from.";
}

std::string not_deterministic_text(const Verdict& v) {
  return "two bare runs differ first in the " + where_text(*v.difference) + ". The " +
         (v.patch ? "patch" : "rewrites") +
         " cannot be verified; seed the program, or see torch.use_deterministic_algorithms.";
}

std::string time_ratio_text(const Verdict& v) {
  const auto time = time_ratio(v);
  if (!time) return "";
  const auto times = [](double value) {
    char text[40];
    std::snprintf(text, sizeof text, "x%.2f", value);
    return std::string(text);
  };
  if (time->is_too_short) {
    return "not measurable (" + plural(std::min(v.bare.step->steps, v.rewritten.step->steps), "step", "steps") + ")";
  }
  const std::string range = " (" + times(time->low) + " to " + times(time->high) + ")";
  return (time->is_measurable() ? times(time->ratio) : "not measurable") + range;
}

std::string patch_text(const Patch& patch) {
  std::string text;
  if (patch.gradients_of_bare > 0) {
    text += " " + plural(patch.gradients_of_bare, "gradient", "gradients") + " of the bare run " +
            (patch.gradients_of_bare == 1 ? "is" : "are") + " not computed with the patch.";
  }
  if (patch.gradients_of_patched > 0) {
    text += " " + plural(patch.gradients_of_patched, "gradient", "gradients") + " of the patched run " +
            (patch.gradients_of_patched == 1 ? "is" : "are") + " not computed without it.";
  }
  for (const std::string& file : patch.unseen) {
    text += " No operator was called from the patched " + file + ": whether it ran is not known.";
  }
  return text;
}

std::string verdict_text(const Verdict& v, std::string_view last_words) {
  std::string text = verdict_line(v) + "\n";
  if (v.difference && v.difference->kind == Difference::Kind::exit_code && v.is_deterministic && !last_words.empty()) {
    text += "\nLast output of the " + std::string(v.second()) + " run:\n" + std::string(last_words);
  }
  if (v.rounding) text += rounding_text(*v.rounding);
  return text + "\n" + table(v) + "\n" + rewrites_text(v);
}

}  // namespace tapelens::verify
