// What is ticked, as a plan that `tapelens verify` and `tapelens run` take.
#pragma once

#include <QSet>
#include <QString>
#include <string>

#include "gui/models/document.h"

namespace tapelens::gui {

// How many of the ticked findings a rewrite fixes: those that a plan can hold.
size_t planned(const Advised& advised, const QSet<QString>& ticked);

// The text of the plan: that of `tapelens advise --write-plan`, with the sites of what is ticked alone.
std::string plan_text(const DocumentFacts& facts, const Advised& advised, const QSet<QString>& ticked);

// For a shell. `options`: "--apply bitwise", or plan_option(). `command`: as it was recorded, quoted already.
QString verify_command(const QString& options, const QString& command);
QString run_command(const QString& options, const QString& command);
QString plan_option(const QString& path);

}  // namespace tapelens::gui
