#include "gui/models/verifying.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyzer/report/fixes.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "analyzer/verify/verdict.h"
#include "analyzer/verify/verdict_text.h"
#include "gui/models/visible_text.h"
#include "trace/regular_file.h"

namespace tapelens::gui {
namespace {

using verify::Answer;

// The largest value over all gradients; a value that is not finite counts as the largest.
QString largest(const verify::Rounding& rounding, double verify::GradientError::*figure) {
  double most = 0;
  for (const verify::GradientError& one : rounding.gradients) {
    most = std::max(most, std::isnan(one.*figure) ? std::numeric_limits<double>::infinity() : one.*figure);
  }
  return QString::number(most, 'e', 1);
}

QString rounding_text(const verify::Rounding& rounding, const QString& where) {
  const QString cause =
      "Rewrites that add in another order make the first difference, in the " + where + ", and all others. ";
  if (!rounding.unknown.empty()) return cause + "How large they are is not known: " + visible(rounding.unknown) + ".";
  return cause + "In the first step no gradient differs by more than " +
         largest(rounding, &verify::GradientError::difference) +
         " of its largest element. From float64 the bare program's are off by up to " +
         largest(rounding, &verify::GradientError::bare) + ", the rewritten one's by up to " +
         largest(rounding, &verify::GradientError::rewritten) + ".";
}

bool is_planned(const advise::Finding& finding, const QSet<QString>& ticked) {
  return finding.fix.kind == check::FixKind::rewrite && ticked.contains(QString::fromStdString(finding.id));
}

}  // namespace

trace::Result<verify::Verdict> read_verify_result(const QString& path) {
  constexpr uint64_t kMostBytes = 64 << 20;
  const auto text = trace::read_regular_file(path.toStdString(), kMostBytes);
  if (!text) return trace::Error{path.toStdString() + " cannot be read: " + text.error().message + "."};
  return verify::read_verdict(*text, path.toStdString());
}

QString verdict_title(const verify::Verdict& v) {
  if (v.answer() == Answer::identical) return "identical, bit for bit";
  if (!v.is_deterministic) return "not deterministic by itself";
  if (v.answer() == Answer::none) return "no verdict";
  return v.rounding ? "not the same bits" : "different";
}

QString verdict_text(const verify::Verdict& v) {
  const QString compared = "Compared were " + visible(verify::compared_text(v.compared)) + ".";
  if (!v.difference) {
    if (!v.why_nothing_applied.empty()) {
      return "Nothing was rewritten: " + visible(v.why_nothing_applied) + ". " + compared;
    }
    return v.answer() == Answer::none ? "No gradient and no parameter could be compared. " + compared
                                      : compared + (v.patch ? visible(verify::patch_text(*v.patch)) : QString());
  }
  const verify::Difference& d = *v.difference;
  if (!v.is_deterministic) {
    QString text = visible(verify::not_deterministic_text(v));
    text[0] = text[0].toUpper();
    return text;
  }
  const QString where = visible(verify::where_text(d));
  if (v.rounding) return rounding_text(*v.rounding, where);
  return "First differs the " + where + ": " + visible(verify::values_text(v)) + ". " +
         visible(verify::origin_text(v)) + (v.patch ? visible(verify::patch_text(*v.patch)) : QString());
}

QString verdict_effect(const verify::Verdict& v) {
  const auto change = [](model::Bytes before, model::Bytes after) -> QString {
    if (before.value <= 0 || before == after) return "";
    return QString(" (%1%2)")
        .arg(after < before ? "\u2212" : "+")
        .arg(visible(text::percent_text(after < before ? before - after : after - before, before)));
  };
  QString text = "Peak " + visible(text::bytes_text(v.bare.peak)) + " \u2192 " +
                 visible(text::bytes_text(v.rewritten.peak)) + change(v.bare.peak, v.rewritten.peak);
  if (v.bare.step && v.rewritten.step) {
    text += ", a step " + visible(text::time_text(model::Time{v.bare.step->median})) + " \u2192 " +
            visible(text::time_text(model::Time{v.rewritten.step->median}));
    if (const std::string ratio = verify::time_ratio_text(v); !ratio.empty()) text += ", " + visible(ratio);
  }
  return text;
}

size_t planned(const Advised& advised, const QSet<QString>& ticked) {
  return static_cast<size_t>(std::ranges::count_if(
      advised.advice.findings, [&](const advise::Finding& finding) { return is_planned(finding, ticked); }));
}

std::string plan_text(const DocumentFacts& facts, const Advised& advised, const QSet<QString>& ticked) {
  report::Report report;
  report.recording.torch_version = facts.torch_version.toStdString();
  report.recording.command = facts.command.toStdString();
  report.advice.emplace();
  std::ranges::copy_if(advised.advice.findings, std::back_inserter(report.advice->findings),
                       [&](const advise::Finding& finding) { return is_planned(finding, ticked); });
  return report::plan(report);
}

QString verify_command(const QString& options, const QString& command) {
  return "tapelens verify " + options + " -- " + command;
}

QString run_command(const QString& options, const QString& command) {
  return "tapelens run " + options + " -- " + command;
}

QString plan_option(const QString& path) {
  return "--apply " + QString::fromStdString(text::shell_quote(path.toStdString()));
}

}  // namespace tapelens::gui
