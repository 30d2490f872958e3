#include "gui/models/plan.h"

#include <algorithm>

#include "analyzer/report/fixes.h"
#include "analyzer/text/escape.h"

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
