// The plan lists the findings that rewrites fix. docs/advise.md explains the file.
#include "analyzer/report/plan.h"

#include "analyzer/report/findings_text.h"
#include "analyzer/report/json.h"
#include "policy/plan.h"

namespace tapelens::report {

using text::dumped;
using text::Json;

std::string plan(const Report& report) {
  Json sites = Json::array();
  for (const advise::Finding& f : report.advice->findings) {
    if (f.fix.kind != check::FixKind::rewrite) continue;
    sites.push_back({{"finding", f.id},
                     {"rewrite", f.fix.rewrite},
                     {"check", f.check},
                     {"module", f.module},
                     {"operator", f.op},
                     {"node", f.node},
                     {"field", f.field},
                     {"source", source_text(f.innermost)},
                     {"bytes", f.bytes.value},
                     {"enabled", true}});
  }
  return dumped({{"tapelens_plan", policy::kPlanVersion},
                 {"torch", report.recording.torch_version},
                 {"command", report.recording.command},
                 {"sites", std::move(sites)}});
}

}  // namespace tapelens::report
