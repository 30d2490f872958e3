// See html.h.
#include "analyzer/report/html.h"

#include "analyzer/report/formats.h"
#include "analyzer/report/html/page.h"
#include "analyzer/report/html/parts.h"
#include "analyzer/text/escape.h"

namespace tapelens::report {

using text::Json;
using text::script_json;

namespace {

std::string page_with(const Report& report, const PageLimits& limits, std::string_view version) {
  const Json value = page_data(report, limits, version);
  const std::string data = script_json(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  const std::string nonce = parts::nonce_of(data);
  const std::string style = std::string(parts::style) + std::string(parts::fit_style);
  std::string script;
  for (const std::string_view part :
       {parts::shared_script, parts::icicle_script, parts::axis_script, parts::fit_script, parts::script}) {
    script += part;
  }
  return parts::filled(parts::skeleton, {{"nonce", nonce},
                                         {"plot_style", parts::plot_style},
                                         {"style", style},
                                         {"data", data},
                                         {"nonce", nonce},
                                         {"plot_license", parts::plot_license},
                                         {"plot_script", parts::plot_script},
                                         {"script", script}});
}

}  // namespace

std::string html_page(const Report& report, std::string_view version) {
  PageLimits limits;
  std::string page = page_with(report, limits, version);
  while (page.size() > kMostPageBytes && !limits.is_least()) {
    limits = limits.half();
    page = page_with(report, limits, version);
  }
  return page;
}

constinit extern const Format kHtml{
    .name = "html",
    .report = [](const Report& r, const Rendering& how) { return html_page(r, how.version); },
    .rows = PageLimits().blocks,
    .is_pictured = true};

}  // namespace tapelens::report
