// tapelens diff: shows the changes between two runs.
#include <algorithm>
#include <memory>

#include "analyzer/compare/renderings.h"
#include "cli/checking.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/run_figures_file.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

struct DiffCommand {
  std::string a, b, format = "text", color = "auto";
  OutputPlace output;
  std::vector<std::string> by{"category", "module", "field", "operator", "line"};
  int64_t top = 5;
};

int diff_command(const DiffCommand& command) {
  const trace::OutputOptions output =
      rendering(command.output, result_kind("diff", command.format), {command.a, command.b});
  if (const int code = check_outputs({output})) return code;
  stay_within_memory();
  advise::Checks checks = all_checks();
  const compare::FindText text_of_a = find_texts(command.a), text_of_b = find_texts(command.b);
  auto a = read_run_figures(command.a, "A", checks, text_of_a);
  if (!a) return fail(a.error());
  auto b = read_run_figures(command.b, "B", checks, text_of_b);
  if (!b) return fail(b.error());
  const auto comparison = compare::compare(std::move(*a), std::move(*b), text_of_a, text_of_b);
  if (!comparison) return fail({command.b + ": " + comparison.error().message, comparison.error().kind});
  std::vector<compare::By> by;
  for (const std::string& word : command.by) {
    by.push_back(static_cast<compare::By>(std::ranges::find(compare::kByNames, word) - compare::kByNames));
  }
  compare::Rendering how{style_of(command.output, command.color), {}, TAPELENS_VERSION};
  how.style.rows = static_cast<size_t>(command.top);
  const auto format = std::ranges::find(compare::kDiffFormats, command.format, &compare::DiffFormat::name);
  return write_output(format->render(*comparison, by, how), output);
}

}  // namespace

CommandFunction declare_diff(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens diff main.tapelens run.tapelens   the memory that grew, shrank, came and went\n"
      "  tapelens diff main.tapelens run.tapelens --by line   by the lines that allocate it\n"
      "  tapelens diff memory.json run.tapelens --top 20   with a baseline file\n"
      "  tapelens diff main.tapelens run.tapelens --format html -o diff.html   the modules as a picture\n"
      "  tapelens diff main.tapelens run.tapelens --format json | jq '.devices[0]'\n"
      "\n"
      "Exit codes:\n"
      "  0   success; tapelens check fails on changes\n"
      "  2   wrong usage\n"
      "  3   a file cannot be read\n"
      "  5   nothing to compare");
  const auto options = std::make_shared<DiffCommand>();
  sub.add_option("A", options->a, "The run before: a recording, or a file of check --write-baseline (.json)")
      ->required()
      ->type_name("");
  sub.add_option("B", options->b, "The run after")->required()->type_name("");
  repeatable(with_choices(
      sub.add_option("--by", options->by, "Group the change by this; may be given more than once; by default all"),
      {std::begin(compare::kByNames), std::end(compare::kByNames)}));
  std::vector<std::string> names;
  for (const compare::DiffFormat& format : compare::kDiffFormats) names.emplace_back(format.name);
  add_format_option(sub, options->format, "Output for a person, a pull request, a browser or a program", names);
  add_output_option(sub, options->output);
  add_top_option(sub, options->top, "List at most this many rows of each kind in text and Markdown");
  add_color_option(sub, options->color);
  return [options](const Words&) { return diff_command(*options); };
}

}  // namespace tapelens::cli
