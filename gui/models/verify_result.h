// Shows a verdict of `tapelens verify --format json` in the window.
#pragma once

#include <QString>

#include "analyzer/verify/verdict.h"
#include "trace/result.h"

namespace tapelens::gui {

// The error is one sentence.
trace::Result<verify::Verdict> read_verify_result(const QString& path);

// The verdict in a word or two: "identical, bit for bit".
QString verdict_title(const verify::Verdict& verdict);
// The compared values, or the first difference and its origin, in a sentence or two.
QString verdict_text(const verify::Verdict& verdict);
// "peak 142.0 MiB → 94.0 MiB (−33.8 %), step 120 ms → 125 ms"
QString verdict_effect(const verify::Verdict& verdict);

}  // namespace tapelens::gui
