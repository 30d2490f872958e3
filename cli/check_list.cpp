
#include <CLI/CLI.hpp>
#include <algorithm>

#include "analyzer/text/format.h"
#include "analyzer/text/layout.h"
#include "cli/checking.h"
#include "cli/markdown.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/text.h"
#include "plugins/builtin.h"

namespace tapelens::cli {
namespace {

using text::Page;
using text::Paint;

void list(Page& page, const advise::Checks& checks) {
  unsigned width = 0;
  for (const std::string& id : ids(checks)) width = std::max(width, text::columns(id));
  for (const advise::Checks::Entry& entry : checks.entries()) {
    const check::CheckInfo info = entry.check->info();
    const std::string id = text::pad_right(info.id, width);
    const std::string origin = entry.is_built_in() ? "" : " (" + entry.origin + ")";
    page.line(page.paint(Paint::bold, id) + "  " + std::string(info.title) + page.paint(Paint::dim, origin));
  }
}

void explain(Page& page, const advise::Checks::Entry& entry) {
  const check::CheckInfo info = entry.check->info();
  if (const std::string_view text = plugins::page(info.id); entry.is_built_in() && !text.empty()) {
    show_markdown(page, text);
  } else {
    page.line(page.paint(Paint::bold, std::string(info.id) + ": " + std::string(info.title)));
    page.line("");
    page.paragraph("", info.help);
  }
  if (!info.options.empty())
    page.heading("Options", "tapelens advise FILE --option " + std::string(info.id) + ".NAME=VALUE");
  for (const check::Option& option : info.options) {
    page.paragraph("  " + std::string(option.name) + "  ",
                   std::string(option.help) + " [default: " + std::string(option.default_value) + "]");
  }
  page.line("");
  std::string facts = "Version " + std::to_string(info.version) + ", " + entry.origin;
  if (entry.is_built_in()) facts += "; its page: plugins/" + std::string(info.id) + "/README.md";
  if (info.is_alternative) facts += ". Its findings do not count for the peak with all findings fixed";
  page.paragraph("", facts + ".", Paint::dim);
}

}  // namespace

int list_checks(const std::string& id, const std::vector<std::string>& plugins, const std::string& color) {
  const advise::Checks checks = all_checks(plugins);
  Page page(style_of({}, color));
  if (id.empty()) {
    list(page, checks);
    page.line("");
    page.paragraph("", "tapelens advise --list CHECK explains one.", Paint::dim);
    return print_output(page.take());
  }
  const advise::Checks::Entry* entry = checks.find(id);
  if (entry == nullptr) {
    const auto meant = nearest(id, ids(checks));
    throw CLI::ValidationError(
        "unknown check '" + id + "'" +
        (meant ? ", did you mean '" + *meant + "'?" : ": tapelens advise --list lists the checks"));
  }
  explain(page, *entry);
  return print_output(page.take());
}

}  // namespace tapelens::cli
