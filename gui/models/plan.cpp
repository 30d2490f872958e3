#include "gui/models/plan.h"

#include <algorithm>

#include "analyzer/report/escape.h"
#include "analyzer/report/findings.h"

namespace tapelens::gui {

namespace {

bool is_planned(const advise::Finding& finding, const QSet<QString>& ticked) {
  return finding.fix.kind == check::FixKind::rewrite && ticked.contains(QString::fromStdString(finding.id));
}

}  // namespace

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

QString verify_command(const QString& option, const QString& value, const QString& command) {
  return "tapelens verify " + option + ' ' + QString::fromStdString(report::shell_quote(value.toStdString())) + " -- " +
         command;
}

}  // namespace tapelens::gui
