// See html.h.
#include "analyzer/report/html.h"

#include <array>
#include <functional>
#include <stdexcept>
#include <utility>

#include "analyzer/report/formats.h"
#include "analyzer/report/html/parts.h"
#include "analyzer/text/escape.h"

namespace tapelens::report {

using text::Json;
using text::script_json;

namespace {

// The nonce identifies the page's own scripts. A browser runs no other script, even if the escaping missed one.
std::string nonce_of(const std::string& data) { return std::to_string(std::hash<std::string>()(data)); }

// The skeleton with each {{name}} replaced, once and in this order. Inserted text is not searched again.
std::string filled(const std::array<std::pair<std::string_view, std::string_view>, 8>& values) {
  std::string out;
  std::string_view rest = parts::skeleton;
  for (const auto& [name, value] : values) {
    const std::string mark = "{{" + std::string(name) + "}}";
    const size_t at = rest.find(mark);
    if (at == std::string_view::npos) throw std::logic_error("page.html has no " + mark);
    out += rest.substr(0, at);
    out += value;
    rest.remove_prefix(at + mark.size());
  }
  return out += rest;
}

std::string page_with(const Report& report, const PageLimits& limits, std::string_view version) {
  const Json value = page_data(report, limits, version);
  const std::string data = script_json(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  const std::string nonce = nonce_of(data);
  const std::string style = std::string(parts::style) + std::string(parts::fit_style);
  const std::string script = std::string(parts::fit_script) + std::string(parts::script);
  return filled({{{"nonce", nonce},
                  {"plot_style", parts::plot_style},
                  {"style", style},
                  {"data", data},
                  {"nonce", nonce},
                  {"plot_license", parts::plot_license},
                  {"plot_script", parts::plot_script},
                  {"script", script}}});
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
