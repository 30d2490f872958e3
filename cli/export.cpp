// tapelens export: converts a recording to the formats of other tools.
#include "analyzer/export/export.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "cli/checking.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

constexpr const char* kParquet = "parquet";  // written by Tapelens' Python package

struct ExportCommand {
  std::string file, format, output, device, python;
  int64_t process = 0;
  bool is_forced = false, process_given = false;
};

// "run" of "folder/run.tapelens": exports are written to the current folder.
std::string stem_of(const std::string& file) { return std::filesystem::path(file).stem().string(); }

int to_parquet(const ExportCommand& command) {
  if (command.process_given || !command.device.empty() || command.output == "-") {
    say("--format parquet writes a folder with all processes and devices: choose them by folder and column");
    return kUsage;
  }
  const std::string python = command.python.empty() ? "python3" : command.python;
  const ProgramAnswer has = ask({python, "-c",
                                 "import importlib.util as u, sys\n"
                                 "sys.exit(not (u.find_spec('tapelens') and u.find_spec('tapelens.parquet')))"});
  if (has.exit_code == 126 || has.exit_code == 127) {
    say(python + ": cannot be run: --format parquet needs a Python with the package tapelens: name it with --python");
    return kUnreadable;
  }
  if (has.exit_code != 0) {
    say("--format parquet needs the Python package: " + text::shell_quote(python) +
        " -m pip install 'tapelens[parquet]', or name a Python that has it with --python");
    return kUnreadable;
  }
  const std::string output = command.output.empty() ? stem_of(command.file) + ".parquet" : command.output;
  std::vector<std::string> words = {python, "-m", "tapelens.parquet", command.file, "-o", output};
  if (command.is_forced) words.emplace_back("--force");
  return say_end(become_command(words));
}

int export_command(const ExportCommand& command) {
  if (command.format == kParquet) return to_parquet(command);
  if (!command.python.empty()) {
    say("--python is for --format parquet");
    return kUsage;
  }
  if (command.output == "-" && isatty(STDOUT_FILENO) != 0) {
    say("standard output is a terminal: choose a file with -o");
    return kUsage;
  }
  stay_within_memory();
  const auto run = run::Run::open(command.file);
  if (!run) return fail(run.error());
  const exporting::Format& format = *exporting::format_of(command.format);
  advise::Checks checks = all_checks();
  exporting::ExportSelection wanted;
  if (command.process_given) wanted.process = static_cast<uint32_t>(command.process);
  if (!command.device.empty()) wanted.device = command.device;
  wanted.version = TAPELENS_VERSION;
  wanted.checks = &checks;
  wanted.sources = check::source_trees(command.file);
  wanted.advised = say_refused;
  wanted.progress = progress_of_parts();
  const std::string output = command.output.empty() ? stem_of(command.file) + format.suffix : command.output;
  const auto written =
      exporting::export_recording(*run, wanted, format, {output, command.is_forced, command.file}, watch_unfinished);
  clear_progress_line();
  if (!written) return fail(written.error());
  struct stat made {};
  const bool is_file = output != "-" && trace::descriptor_of(output) < 0;
  if (is_file && stat(output.c_str(), &made) == 0 && S_ISREG(made.st_mode)) {
    say(text::shell_quote(output) + " (" + text::bytes_text(trace::Bytes{made.st_size}) + "): " + format.what);
  }
  return kFine;
}

}  // namespace

CommandFunction declare_export(CLI::App& sub) {
  std::vector<std::string> names;
  std::string formats;
  for (const exporting::Format* format : exporting::formats()) {
    names.emplace_back(format->name);
    formats += "  " + names.back() + "   " + format->what + "\n";
  }
  names.emplace_back(kParquet);
  formats += "  parquet   a folder of tables, by Tapelens' Python package: DuckDB, pandas, Spark\n";
  sub.footer("Formats:\n" + formats +
             "\nExamples:\n"
             "  tapelens export run.tapelens --format perfetto   run.perfetto-trace, for ui.perfetto.dev\n"
             "  tapelens export run.tapelens --format snapshot   run.pickle, for pytorch.org/memory_viz\n"
             "  tapelens export run.tapelens --format speedscope -o - | gzip > run.json.gz\n"
             "  tapelens export run.tapelens --format sqlite -o run.db   then: sqlite3 run.db 'SELECT * FROM "
             "peak_by_source'\n\n"
             "Exit codes:\n"
             "  0   success\n"
             "  2   wrong usage\n"
             "  3   the recording cannot be read, or the file cannot be written");
  const auto options = std::make_shared<ExportCommand>();
  sub.add_option("FILE", options->file, "The recording")->required()->type_name("");
  with_choices(sub.add_option("--format", options->format, "The format to write"), names)->required();
  sub.add_option("-o,--output", options->output,
                 "The file, or with parquet the folder; by default named after the recording; - is standard "
                 "output, but not for sqlite and parquet")
      ->type_name("PATH");
  CLI::Option* process = add_process_option(
      sub, options->process, "Select the process with this pid; by default all, for a snapshot the one with the peak");
  sub.add_option("--device", options->device, "Select a device, like cpu or cuda:0; by default all")->type_name("NAME");
  add_force_option(sub, options->is_forced);
  sub.add_option("--python", options->python,
                 "With --format parquet: the Python that has the package tapelens; by default python3")
      ->type_name("PATH");
  return [options, process](const Words&) {
    options->process_given = process->count() > 0;
    return export_command(*options);
  };
}

}  // namespace tapelens::cli
