// The verdict as text and as JSON: docs/verify.md explains both.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "analyzer/report/format.h"
#include "analyzer/report/json.h"
#include "cli/text.h"
#include "cli/verify.h"

namespace tapelens::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::bytes_text;
using report::pad_left;
using report::pad_right;
using report::plural;

std::string compared_text(const Verdict& v) {
  return plural(v.steps, "step", "steps") + ": " + plural(v.losses, "loss", "losses") + ", " +
         plural(v.gradients, "gradient", "gradients") + ", " + plural(v.parameters, "parameter", "parameters") +
         " after their step";
}

// What was not; empty: everything was.
std::string left_out_text(const Verdict& v) {
  if (v.gradients_left_out + v.parameters_left_out == 0) return "";
  return plural(v.gradients_left_out, "gradient", "gradients") + " and " +
         plural(v.parameters_left_out, "parameter", "parameters") +
         " were not compared: they are no ordinary tensors on the CPU.";
}

// "gradient of layer1.0.weight in step 2"
std::string where_text(const Difference& d) {
  if (d.kind == "exit_code") return "exit code";
  std::string text = d.kind + (d.name.empty() ? "" : " of " + d.name) + " in step " + std::to_string(d.step);
  return d.rank >= 0 ? text + " of rank " + std::to_string(d.rank) : text;
}

std::string or_none(const std::string& value) { return value.empty() ? "none" : value; }

// The last lines of what a run wrote, for the user to see why it failed.
std::string end_of(const std::string& log) {
  constexpr size_t kMost = 2000;
  FILE* file = log.empty() ? nullptr : fopen(log.c_str(), "r");
  if (file == nullptr) return {};
  std::string text(kMost, '\0');
  if (fseek(file, -static_cast<long>(kMost), SEEK_END) != 0) rewind(file);
  text.resize(fread(text.data(), 1, kMost, file));
  fclose(file);
  return text;
}

// Those that were applied, of any process.
std::string names_of_reordering(const Verdict& v) {
  std::string names;
  for (const rewrites::Site& site : v.rewritten.applied) {
    if (!rewrites::reorders_sums(site.rewrite) || names.find(site.rewrite) != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + site.rewrite;
  }
  return names;
}

// How far each gradient is from that of the bare run, and both from float64.
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
  const std::string left_out = left_out_text(v).empty() ? "" : " " + left_out_text(v);
  if (v.identical) return "Identical, bit for bit, in " + compared_text(v) + "." + left_out;
  if (!v.difference) {
    return "No verdict: no gradient and no parameter was compared. The same in " + plural(v.steps, "step", "steps") +
           ": " + plural(v.losses, "loss", "losses") + "." + left_out;
  }
  const Difference& d = *v.difference;
  if (v.rounding) {
    return "Not the same bits: " + names_of_reordering(v) +
           " adds in another order, and all else is identical. First the " + where_text(d) + " differs.";
  }
  if (!v.deterministic) {
    return "The program is not deterministic by itself: two bare runs differ first in the " + where_text(d) +
           ". Nothing can be said of the rewrites; seed it, or see torch.use_deterministic_algorithms.";
  }
  std::string line = "Different: first the " + where_text(d) + " (" + or_none(d.bare) + " bare, " +
                     or_none(d.rewritten) + " rewritten).";
  if (d.site) return line + " It comes from " + describe(*d.site) + ".";
  if (!d.rewrite.empty()) return line + " It comes from " + d.rewrite + ", at no single site that could be found.";
  return line + " No single rewrite was found that it comes from.";
}

std::string change_text(model::Bytes before, model::Bytes after) {
  if (before.value <= 0) return "";
  char text[40];
  const double change = 100.0 * static_cast<double>(after.value - before.value) / static_cast<double>(before.value);
  std::snprintf(text, sizeof text, "%+.1f %%", change);
  return text;
}

std::string row(const char* what, const std::string& bare, const std::string& rewritten, const std::string& change) {
  const std::string all = pad_left(bare, 11) + pad_left(rewritten, 12) + (change.empty() ? "" : pad_left(change, 12));
  return "  " + pad_right(what, 13) + all + "\n";
}

std::string table(const Verdict& v) {
  const auto time = [](std::optional<int64_t> ns) { return ns ? report::time_text(model::Time{*ns}) : "unknown"; };
  std::string ratio;
  if (v.bare.step_ns && v.rewritten.step_ns && *v.bare.step_ns > 0) {
    char text[40];
    std::snprintf(text, sizeof text, "x%.2f",
                  static_cast<double>(*v.rewritten.step_ns) / static_cast<double>(*v.bare.step_ns));
    ratio = text;
  }
  return row("", "bare", "rewritten", "") +
         row("peak", bytes_text(v.bare.peak), bytes_text(v.rewritten.peak),
             change_text(v.bare.peak, v.rewritten.peak)) +
         row("in last step", bytes_text(v.bare.last_step_peak), bytes_text(v.rewritten.last_step_peak),
             change_text(v.bare.last_step_peak, v.rewritten.last_step_peak)) +
         row("saved peak", bytes_text(v.bare.saved_peak), bytes_text(v.rewritten.saved_peak),
             change_text(v.bare.saved_peak, v.rewritten.saved_peak)) +
         row("step, median", time(v.bare.step_ns), time(v.rewritten.step_ns), ratio);
}

std::string rewrites(const Verdict& v) {
  std::string text;
  for (const peak::RewrittenTotal& total : v.rewritten.rewritten.applied) {
    text += "  applied  " + pad_right(total.rewrite, 18) + " " + std::string(rewrites::level_name(total.level)) +
            " at " + plural(total.sites, "site", "sites") + ", " + bytes_text(total.bytes) + " kept as " +
            bytes_text(total.kept) + "\n";
  }
  for (const peak::RewrittenTotal& total : v.rewritten.rewritten.skipped) {
    text += "  skipped  " + pad_right(total.rewrite, 18) + " " + total.reason + " at " +
            plural(total.sites, "site", "sites") + "\n";
  }
  return text.empty() ? "  nothing was applied\n" : text;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

Json run_json(const VerifiedRun& run) {
  Json loss = Json::array(), gradients = Json::array();
  for (const double value : run.loss) loss.push_back(number(value));
  for (const uint64_t value : run.gradient_checksum) gradients.push_back(hex(value));
  return {{"exit_code", run.exit_code},
          {"peak_bytes", run.peak.value},
          {"last_step_peak_bytes", run.last_step_peak.value},
          {"saved_peak_bytes", run.saved_peak.value},
          {"step_ns", run.step_ns ? Json(*run.step_ns) : Json(nullptr)},
          {"loss", std::move(loss)},
          {"gradient_checksum", std::move(gradients)}};
}

Json site_json(const rewrites::Site& site) {
  return {{"rewrite", site.rewrite}, {"module", site.module},
          {"operator", site.op},     {"node", site.node},
          {"field", site.field},     {"source", site.file.empty() ? "" : site.file + ":" + std::to_string(site.line)}};
}

Json difference_json(const Difference& d) {
  const auto value = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"kind", d.kind},
          {"step", d.kind == "exit_code" ? Json(nullptr) : Json(d.step)},
          {"rank", d.rank >= 0 ? Json(d.rank) : Json(nullptr)},
          {"parameter", d.name},
          {"bare", value(d.bare)},
          {"rewritten", value(d.rewritten)},
          {"rewrite", value(d.rewrite)},
          {"site", d.site ? site_json(*d.site) : Json(nullptr)}};
}

Json rounding_json(const Rounding& rounding) {
  Json gradients = Json::array();
  for (const GradientError& one : rounding.gradients) {
    gradients.push_back({{"parameter", one.name},
                         {"difference", number(one.difference)},
                         {"bare_error", number(one.bare)},
                         {"rewritten_error", number(one.rewritten)}});
  }
  return {{"unknown", rounding.unknown.empty() ? Json(nullptr) : Json(rounding.unknown)},
          {"gradients", std::move(gradients)},
          {"left_out", rounding.left_out}};
}

}  // namespace

std::string verdict_text(const Verdict& v) {
  std::string text = verdict_line(v) + "\n";
  if (v.difference && v.difference->kind == "exit_code" && v.deterministic) {
    if (const std::string end = end_of(v.rewritten.log); !end.empty())
      text += "\nWhat the rewritten run wrote last:\n" + end;
  }
  if (v.rounding) text += rounding_text(*v.rounding);
  return text + "\n" + table(v) + "\n" + rewrites(v);
}

std::string verdict_json(const Verdict& v) {
  Json applied = Json::array(), skipped = Json::array();
  for (const peak::RewrittenTotal& total : v.rewritten.rewritten.applied) {
    applied.push_back({{"rewrite", total.rewrite},
                       {"level", total.level},
                       {"sites", total.sites},
                       {"times", total.times},
                       {"bytes", total.bytes.value},
                       {"kept_bytes", total.kept.value}});
  }
  for (const peak::RewrittenTotal& total : v.rewritten.rewritten.skipped) {
    skipped.push_back(
        {{"rewrite", total.rewrite}, {"reason", total.reason}, {"sites", total.sites}, {"bytes", total.bytes.value}});
  }
  const Json all = {
      {"verdict", !v.has_verdict ? "none"
                  : v.identical  ? "identical"
                                 : "different"},
      {"identical", v.identical},
      {"deterministic", v.deterministic},
      {"first_difference", v.difference ? difference_json(*v.difference) : Json(nullptr)},
      {"rounding", v.rounding ? rounding_json(*v.rounding) : Json(nullptr)},
      {"compared",
       {{"steps", v.steps}, {"losses", v.losses}, {"gradients", v.gradients}, {"parameters", v.parameters}}},
      {"not_compared", {{"gradients", v.gradients_left_out}, {"parameters", v.parameters_left_out}}},
      {"bare", run_json(v.bare)},
      {"rewritten", run_json(v.rewritten)},
      {"applied", std::move(applied)},
      {"skipped", std::move(skipped)}};
  // Names come from the program and need not be UTF-8.
  return report::dumped(all);
}

}  // namespace tapelens::cli
