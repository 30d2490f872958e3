// `tapelens verify` from the window: the plan of the ticked findings, the command lines, and the verdict.
#pragma once

#include <QSet>
#include <QString>
#include <string>

#include "analyzer/verify/verdict.h"
#include "gui/models/document.h"
#include "trace/result.h"

namespace tapelens::gui {

// The number of ticked findings that a rewrite fixes. Only these can be in a plan.
size_t planned(const Advised& advised, const QSet<QString>& ticked);

// The text of the plan, as `tapelens advise --write-plan` writes it, but only with the sites of ticked findings.
std::string plan_text(const DocumentFacts& facts, const Advised& advised, const QSet<QString>& ticked);

// Command lines for a shell. `options`: "--apply bitwise", or plan_option(). `command`: as recorded, already quoted.
QString verify_command(const QString& options, const QString& command);
QString run_command(const QString& options, const QString& command);
QString plan_option(const QString& path);

// ---- the verdict of `tapelens verify --format json`

// The error is one sentence.
trace::Result<verify::Verdict> read_verify_result(const QString& path);

// The verdict in a word or two: "identical, bit for bit".
QString verdict_title(const verify::Verdict& verdict);
// The compared values, or the first difference and its origin, in a sentence or two.
QString verdict_text(const verify::Verdict& verdict);
// "peak 142.0 MiB → 94.0 MiB (−33.8 %), step 120 ms → 125 ms"
QString verdict_effect(const verify::Verdict& verdict);

}  // namespace tapelens::gui
