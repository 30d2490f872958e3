// tapelens export: converts a recording to the formats of other tools.
#include "analyzer/export/export.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "analyzer/report/escape.h"
#include "analyzer/report/format.h"
#include "cli/ask.h"
#include "cli/checking.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

constexpr const char* kParquet = "parquet";  // written by Tapelens' Python package

struct ExportCommand {
  std::string file, to, output, device, python;
  int64_t process = 0;
  bool is_forced = false, process_given = false;
};

// "run" of "folder/run.tapelens": exports are written to the current folder.
std::string stem_of(const std::string& file) { return std::filesystem::path(file).stem().string(); }

int to_parquet(const ExportCommand& command) {
  if (command.process_given || !command.device.empty() || command.output == "-") {
    say("--to parquet writes a folder with all processes and devices: choose them by folder and column");
    return kUsage;
  }
  const std::string python = command.python.empty() ? "python3" : command.python;
  const ProgramAnswer has = ask({python, "-c",
                                 "import importlib.util as u, sys\n"
                                 "sys.exit(not (u.find_spec('tapelens') and u.find_spec('tapelens.parquet')))"});
  if (has.exit_code == 126 || has.exit_code == 127) {
    say(python + ": cannot be run: --to parquet needs a Python with the package tapelens: name it with --python");
    return kUnreadable;
  }
  if (has.exit_code != 0) {
    say("--to parquet needs the Python package: " + report::shell_quote(python) +
        " -m pip install 'tapelens[parquet]', or name a Python that has it with --python");
    return kUnreadable;
  }
  const std::string output = command.output.empty() ? stem_of(command.file) + ".parquet" : command.output;
  std::vector<std::string> words = {python, "-m", "tapelens.parquet", command.file, "-o", output};
  if (command.is_forced) words.emplace_back("--force");
  return say_end(become_command(words));
}

int export_command(const ExportCommand& command) {
  if (command.to == kParquet) return to_parquet(command);
  if (!command.python.empty()) {
    say("--python is for --to parquet");
    return kUsage;
  }
  if (command.output == "-" && isatty(STDOUT_FILENO) != 0) {
    say("standard output is a terminal: choose a file with -o");
    return kUsage;
  }
  stay_within_memory();
  const auto recording = trace::Recording::open(command.file);
  if (!recording) return fail(recording.error());
  const exporting::Format& format = *exporting::format_of(command.to);
  advise::Checks checks = all_checks();
  exporting::Wanted wanted;
  if (command.process_given) wanted.process = static_cast<uint32_t>(command.process);
  if (!command.device.empty()) wanted.device = command.device;
  wanted.version = TAPELENS_VERSION;
  wanted.checks = &checks;
  wanted.sources = check::source_trees(command.file);
  wanted.advised = say_refused;
  wanted.progress = progress_of_parts();
  const std::string output = command.output.empty() ? stem_of(command.file) + format.suffix : command.output;
  const auto written = exporting::export_recording(*recording, wanted, format,
                                                   {output, command.is_forced, command.file}, watch_unfinished);
  clear_progress_line();
  if (!written) return fail(written.error());
  struct stat made {};
  const bool is_file = output != "-" && trace::descriptor_of(output) < 0;
  if (is_file && stat(output.c_str(), &made) == 0 && S_ISREG(made.st_mode)) {
    say(report::shell_quote(output) + " (" + report::bytes_text(trace::Bytes{made.st_size}) + "): " + format.what);
  }
  return kFine;
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  CLI::App* sub = app.add_subcommand("export", "Write a recording in the format of another tool");
  std::vector<std::string> names;
  std::string what;
  for (const exporting::Format* format : exporting::formats()) {
    names.emplace_back(format->name);
    what += "  " + names.back() + std::string(12 - names.back().size(), ' ') + format->what + "\n";
  }
  names.emplace_back(kParquet);
  what += "  parquet     a folder of tables, by Tapelens' Python package: DuckDB, pandas, Spark\n";
  sub->footer("Formats:\n" + what +
              "\nExamples:\n"
              "  tapelens export run.tapelens --to perfetto       run.perfetto-trace, for ui.perfetto.dev\n"
              "  tapelens export run.tapelens --to snapshot --device cpu    run.pickle, for pytorch.org/memory_viz\n"
              "  tapelens export run.tapelens --to speedscope -o - | gzip > run.speedscope.json.gz\n"
              "  tapelens export run.tapelens --to sqlite -o run.db --force && sqlite3 run.db 'SELECT * FROM "
              "peak_by_source'\n\n"
              "Exit codes: 0 fine, 2 wrong usage, 3 the recording cannot be read or the file not be written.\n"
              "More: docs/export.md");
  const auto options = std::make_shared<ExportCommand>();
  sub->add_option("FILE", options->file, "The recording")->required()->type_name("");
  sub->add_option("--to", options->to, "The format")
      ->required()
      ->check(one_of(names))
      ->type_name("{" + joined(names, ",") + "}");
  sub->add_option("-o,--output", options->output,
                  "The file, or with parquet the folder; - is standard output, but for sqlite and parquet; if not "
                  "given, it is named after the recording")
      ->type_name("PATH");
  CLI::Option* process = sub->add_option("--process", options->process,
                                         "A process by its pid; if not given all, in a snapshot the one with the "
                                         "largest peak")
                             ->type_name("PID")
                             ->check(CLI::Range(int64_t{1}, int64_t{UINT32_MAX}));
  sub->add_option("--device", options->device, "A device, like cpu or cuda:0; all if not given")->type_name("NAME");
  add_force_option(*sub, options->is_forced);
  sub->add_option("--python", options->python,
                  "The Python that has the package tapelens, for --to parquet; python3 if not given")
      ->type_name("PATH");
  sub->callback([options, process, &exit_code] {
    options->process_given = process->count() > 0;
    exit_code = export_command(*options);
  });
}

}  // namespace tapelens::cli
