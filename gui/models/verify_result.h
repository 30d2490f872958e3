// A verdict of `tapelens verify --format json`, as the window shows it.
#pragma once

#include <QString>

#include "analyzer/verify/verdict.h"
#include "trace/result.h"

namespace tapelens::gui {

// The error is one sentence.
trace::Result<verify::Verdict> read_verify_result(const QString& path);

// "identical, bit for bit": the verdict in a word or two.
QString verdict_title(const verify::Verdict& verdict);
// What was compared, or what differs first and where that comes from: a sentence or two.
QString verdict_text(const verify::Verdict& verdict);
// "peak 142.0 MiB → 94.0 MiB (−33.8 %), step 120 ms → 125 ms"
QString verdict_effect(const verify::Verdict& verdict);

}  // namespace tapelens::gui
