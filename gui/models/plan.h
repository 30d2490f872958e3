// Writes the ticked findings as a plan for `tapelens verify` and `tapelens run`.
#pragma once

#include <QSet>
#include <QString>
#include <string>

#include "gui/models/document.h"

namespace tapelens::gui {

// The number of ticked findings that a rewrite fixes. Only these can be in a plan.
size_t planned(const Advised& advised, const QSet<QString>& ticked);

// The text of the plan, as `tapelens advise --write-plan` writes it, but only with the sites of ticked findings.
std::string plan_text(const DocumentFacts& facts, const Advised& advised, const QSet<QString>& ticked);

// Command lines for a shell. `options`: "--apply bitwise", or plan_option(). `command`: as recorded, already quoted.
QString verify_command(const QString& options, const QString& command);
QString run_command(const QString& options, const QString& command);
QString plan_option(const QString& path);

}  // namespace tapelens::gui
