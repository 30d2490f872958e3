// tapelens record: runs a command with the preload library, then seals its spools. The exit code, output and signals
// are those of the bare command. If recording is impossible, the command runs unrecorded, with one message.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <tuple>

#include "analyzer/text/escape.h"
#include "cli/applying.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/dump_requests.h"
#include "cli/explanation.h"
#include "cli/flight_recorder.h"
#include "cli/live_screen.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/preload.h"
#include "cli/ring_keeper.h"
#include "cli/sealing.h"
#include "cli/simulating.h"
#include "cli/spool_folder.h"
#include "cli/tally.h"
#include "cli/text.h"
#include "cli/torch_fit.h"
#include "trace/recording_options.h"
#include "trace/seal.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

// The least --max-size with --last: a spool grows by 8 MiB, and the space of older steps is freed later.
constexpr uint64_t kLeastRing = uint64_t{64} << 20;

// After a failed request, --referrers searches for at most 1 s of processor time before the program has the exception.
constexpr std::chrono::milliseconds kSearchTime{1500};

struct RecordOptions {
  OutputPlace output{.path = "run.tapelens"};
  std::string steps, last, when, max_size = "8GiB", stacks = "python,cpp", spool_folder, mode = "0600";
  std::optional<RankList> ranks;
  std::string on = "oom,SIGUSR2";
  uint64_t max_dumps = 10;
  bool quiet = false, keep_spool = false, is_mode_given = false, redact = false, cupti = false, referrers = false,
       marked = false, on_demand = false, live = false;
  bool is_by_rank = false;  // with `on_demand`: `output` is a pattern with %r, for a recording of each rank
  ApplyingOptions applying;
  SimulatingOptions simulating;
};

// The error in a list of stacks; empty if none.
std::string known_stacks(const std::string& text) {
  if (text == "none" || text == "python" || text == "cpp" || text == "python,cpp" || text == "cpp,python") return {};
  return "'" + text + "' is not python, cpp, python,cpp or none";
}

// Whether the recording goes to standard output. The program's standard output then goes to standard error.
bool is_to_output(const RecordOptions& options) { return trace::descriptor_of(options.output.path) == STDOUT_FILENO; }

int run_unrecorded(const RecordOptions& options, const std::vector<std::string>& command, const std::string& reason,
                   const Simulation& simulation, const PreloadPath& preload) {
  if (is_to_output(options)) dup2(STDERR_FILENO, STDOUT_FILENO);
  say(reason + "; running the command unrecorded");
  return say_end(simulation.on() ? simulation.run(command, preload) : become_command(command));
}

// Checks the output path before the program starts, because the program may run for days.
trace::Status check_place(const trace::OutputOptions& output) {
  if (const int descriptor = trace::descriptor_of(output.path); descriptor >= 0) {
    if (isatty(descriptor) == 0) return trace::Done{};
    return trace::Error{"standard output is a terminal: choose a file with -o", trace::ErrorKind::usage};
  }
  struct stat there {};
  const bool exists = stat(output.path.c_str(), &there) == 0;
  if (exists && S_ISFIFO(there.st_mode)) {
    return trace::Error{output.path +
                            ": is a FIFO, which may have no reader when the program has ended: choose a "
                            "file with -o, or - for standard output",
                        trace::ErrorKind::usage};
  }
  // Spools cannot be made for a folder or a device; that error is reported there.
  if (exists && !S_ISREG(there.st_mode)) return trace::Done{};
  return trace::Output::check(output);
}

// Recordings on demand replace no file, so only a stream is wrong.
trace::Status check_files(const trace::OutputOptions& output) {
  if (trace::descriptor_of(output.path) < 0) return trace::Done{};
  return trace::Error{"--on-demand makes files, not a stream: choose one with -o", trace::ErrorKind::usage};
}

// The recording does not contain the environment.
std::string text_of_command(const RecordOptions& options, const std::vector<std::string>& command) {
  return options.redact ? text::shell_quote(command[0]) + " [arguments left out]" : text::shell_quote(command);
}

// Says why a run without an operator left nothing.
void say_nothing_recorded(const std::string& folder, const std::vector<std::string>& command, const ChildEnd& end,
                          const std::string& old_file) {
  const std::optional<Explanation> explanation = read_explanation(folder);
  if (explanation && explanation->was_said) {
    if (!old_file.empty()) say(old_file + " is an earlier recording: nothing was recorded now");
    return;
  }
  say("nothing was recorded: " + (explanation ? explanation->why : why_nothing_was_recorded(command, end)) +
      (old_file.empty() ? "" : "; " + old_file + " is an earlier recording"));
}

// The end of a run with --on-demand: removes the spools, and reports that no recording was made.
void finish_on_demand(const RecordOptions& options, const FlightRecorder& flight, const std::string& folder,
                      const std::vector<std::string>& command, const ChildEnd& end, const std::string& remarks,
                      const Simulation& simulation) {
  if (!options.quiet && !flight.has_out_of_memory()) simulation.explain(end);
  if (!options.quiet && spools_in(folder).empty()) {
    say_nothing_recorded(folder, command, end, "");
  } else if (!options.quiet && flight.recordings() == 0) {
    say("no recording was made: none of its events happened (--on " + options.on + ", tapelens dump)" + remarks);
  } else if (!options.quiet && !remarks.empty()) {
    say(remarks.substr(2));
  }
  if (options.keep_spool) return;
  // A process that outlives the command ends its recording at its next step, or when its spool has to grow.
  if (!living_processes(folder).empty()) {
    for (const std::string& spool : spools_in(folder)) std::ignore = trace::stop_after_steps(spool, 1);
  }
  remove_spool_folder(folder);
}

// Seals the recording, removes the spools, prints the last lines. Errors here never change the command's exit code.
void finish(const RecordOptions& options, trace::OutputOptions output, const std::vector<std::string>& command,
            const ChildEnd& end, const std::string& folder, int64_t duration_ns, const std::string& remarks,
            const Simulation& simulation) {
  trace::SealOptions sealing;
  sealing.directory = folder;
  sealing.command = text_of_command(options, command);
  sealing.duration_ns = duration_ns;
  if (!options.quiet) sealing.progress = progress_line();
  const std::vector<uint32_t> living = living_processes(folder);
  sealing.running = living;
  const trace::Result<trace::SealSummary> sealed =
      spools_in(folder).empty() ? trace::SealSummary{} : seal_into(std::move(output), sealing, options.ranks);
  clear_progress_line();
  const bool is_out_of_memory =
      sealed && std::ranges::any_of(sealed->processes, [](const auto& process) { return process.out_of_memory > 0; });
  if (!options.quiet && !is_out_of_memory) simulation.explain(end);
  // Suggests another file if this one may not be written: the program may have written its own file there.
  const bool is_refused = !sealed && sealed.error().kind == trace::ErrorKind::usage;
  const std::string by_hand =
      (options.mode == "0600" ? "tapelens seal " : "tapelens seal --mode " + options.mode + " ") +
      text::shell_quote(folder) + " -o " + (is_refused ? "FILE" : text::shell_quote(options.output.path));
  if (!sealed) {
    say("the recording could not be sealed: " + sealed.error().message + "; its spools are kept: " + by_hand);
    return;
  }
  // A process that outlives the command goes on writing to its spool; the file has the data up to now.
  const bool keep = options.keep_spool || !living.empty();
  if (!options.quiet && sealed->processes.empty()) {
    const bool is_old = trace::is_of_kind(options.output.path, trace::recording_kind());
    say_nothing_recorded(folder, command, end, is_old ? text::shell_quote(options.output.path) : "");
  }
  if (!keep || spools_in(folder).empty()) remove_spool_folder(folder);
  if (options.quiet || sealed->processes.empty()) return;
  std::string line = describe(*sealed, options.output.path, living.size()) + remarks;
  if (!living.empty()) {
    line += "; " + std::to_string(living.size()) +
            (living.size() == 1 ? " process still runs" : " processes still run") + " (pid " +
            std::to_string(living.front()) + "), when it has ended: " + by_hand + " --remove";
  } else {
    line += next_of(options.output);
  }
  say(line);
}

// A folder that no other recorder uses. Spools that an earlier run left stay: a job must start again after a crash.
SpoolFolder folder_on_demand(const RecordOptions& options) {
  const std::string file = options.is_by_rank ? *expand_output(options.output.path, "ranks") : options.output.path;
  for (uint64_t number = 1;; ++number) {
    const std::string name = numbered_name(file, number);
    SpoolFolder folder = make_spool_folder(name, options.spool_folder, false);
    const bool is_used = folder.state != SpoolFolder::State::cannot && has_recorder(folder.path);
    if (!is_used && options.output.is_forced) folder = make_spool_folder(name, options.spool_folder, true);
    if (!is_used && folder.state != SpoolFolder::State::holds_spools) return folder;
    if (!is_used && !options.quiet) {
      say(text::shell_quote(folder.path) + " holds the last steps of a run that was killed. Keep them: tapelens seal " +
          text::shell_quote(folder.path) + " -o FILE --remove");
    }
  }
}

FlightSettings flight_settings(const RecordOptions& options, const trace::OutputOptions& output,
                               const std::string& folder, const std::vector<std::string>& command,
                               const trace::RecordingOptions& recording) {
  FlightSettings settings;
  settings.output = output;
  settings.is_by_rank = options.is_by_rank;
  settings.directory = folder;
  settings.command = text_of_command(options, command);
  settings.begin_ns = recording.epoch_ns;
  settings.last = recording.last;
  settings.most = options.max_dumps;
  settings.triggers = *parse_triggers(options.on);
  if (options.referrers) settings.settles = kSearchTime;
  settings.quiet = options.quiet;
  return settings;
}

int record(const RecordOptions& options, const policy::RewriteSettings& applying,
           const std::optional<simulated::GpuSettings>& gpu, const std::vector<std::string>& command) {
  const Simulation simulation(gpu, command);
  if (!simulation.reason().empty()) {  // the program would behave differently without its GPU
    say(simulation.reason());
    return kUsage;
  }
  const PreloadPath preload;
  std::vector<std::string> inputs = files_in_command(command);
  std::ranges::move(files_in(options.applying), std::back_inserter(inputs));
  trace::OutputOptions output =
      recording_output(options.output, options.mode, options.is_mode_given, std::move(inputs));
  if (options.on_demand) output.unfinished = {};  // written beside the running program, whose signals come first
  if (const auto may = options.on_demand ? check_files(output) : check_place(output); !may) {
    if (may.error().kind == trace::ErrorKind::usage) return fail(may.error());
    return run_unrecorded(options, command, may.error().message, simulation, preload);
  }
  if (!preload.reason().empty()) return run_unrecorded(options, command, preload.reason(), simulation, preload);
  const bool is_stream = trace::descriptor_of(options.output.path) >= 0;
  const SpoolFolder folder = options.on_demand ? folder_on_demand(options)
                                               : make_spool_folder(is_stream ? "run.tapelens" : options.output.path,
                                                                   options.spool_folder, options.output.is_forced);
  if (folder.state == SpoolFolder::State::cannot) {
    return run_unrecorded(options, command, folder.reason, simulation, preload);
  }
  output.spare_folder = folder.path;
  if (folder.state == SpoolFolder::State::holds_spools) {
    say(text::shell_quote(folder.path) + " holds a recording that was never sealed. Keep it: tapelens seal " +
        text::shell_quote(folder.path) + " -o FILE --remove. Discard it: tapelens record --force");
    return kUsage;
  }
  const Rewriting rewriting(applying);
  if (!rewriting.reason().empty()) {
    remove_spool_folder(folder.path);
    return run_unrecorded(options, command, rewriting.reason(), simulation, preload);
  }

  if (const std::string why = options.quiet ? "" : why_no_probe(command); !why.empty()) {
    say(why);
    write_explanation(folder.path, why);
  }
  const uint64_t begin = monotonic_now();
  Environment environment = rewriting.environment();
  std::ranges::move(preload.environment(simulation.preloads()), std::back_inserter(environment));
  std::ranges::copy(simulation.environment(), std::back_inserter(environment));
  const trace::RecordingOptions recording{
      .spool = folder.path,
      .epoch_ns = begin,
      .steps = trace::step_window_of(options.steps),
      .marked = options.marked,
      .last = options.last.empty() ? 0 : std::stoull(options.last),
      .max_bytes = std::stoull(options.max_size),
      .stacks = {.python = options.stacks.find("python") != std::string::npos,
                 .cpp = options.stacks.find("cpp") != std::string::npos},
      .cupti = options.cupti,
      .referrers = options.referrers,
      .quiet = options.quiet,
  };
  std::ranges::move(trace::environment_of(recording), std::back_inserter(environment));
  const trace::KeepSteps keep{recording.last, options.when.empty() ? 0 : *parse_peak(options.when)};
  std::optional<FlightRecorder> flight;
  if (options.on_demand) flight.emplace(flight_settings(options, output, folder.path, command, recording));
  RingKeeper ring(folder.path, keep, recording.max_bytes, flight ? &*flight : nullptr);
  const Streams streams{-1, is_to_output(options) ? STDERR_FILENO : -1, -1};
  OwnSignals own;
  if (flight) {
    own.signals = parse_triggers(options.on)->signals;
    own.arrived = [&flight](int number) { flight->signal_arrived(number); };
  }
  LiveScreen live(options.live ? folder.path : "", options.output.path);
  const ChildEnd end = run_command(command, environment, streams, {}, own);
  live.finish();
  signal(SIGPIPE, SIG_IGN);  // a closed standard error must not change the exit code
  if (!end.started) {
    if (flight) flight->end();
    remove_spool_folder(folder.path);
    return say_end(end);
  }
  ring.finish();
  std::string remarks = applying.on ? "; " + describe(rewriting.tally()) : "";
  if (flight) {
    flight->end();
    finish_on_demand(options, *flight, folder.path, command, end, remarks, simulation);
    return end.exit_code;
  }
  if (keep.when != 0 && !ring.is_reached())
    remarks += "; " + options.when + " was never reached: these are the last steps";
  finish(options, std::move(output), command, end, folder.path, static_cast<int64_t>(monotonic_now() - begin), remarks,
         simulation);
  return end.exit_code;
}

}  // namespace

CommandFunction declare_record(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens record -- python train.py --epochs 1\n"
      "  tapelens record --steps 2:4 -- torchrun --nproc-per-node 2 ddp.py\n"
      "  tapelens record -o runs/%h-%r.tapelens -- python ddp.py   one file for each rank\n"
      "  tapelens record --last 3 -- python train.py\n"
      "  tapelens record --when 'peak>60GiB' -- python train.py\n"
      "  tapelens record --on-demand -o oom.tapelens -- python train.py\n"
      "  tapelens record --on-demand -o oom-%h-%r.tapelens -- torchrun ddp.py\n"
      "  tapelens record --stacks none --max-size 500MiB -- ./trainer\n"
      "  tapelens record --apply lossless -- python train.py\n"
      "  tapelens record --apply plan.json --allow expanded-save -- python train.py\n"
      "  tapelens record --gpu H100 -- python train.py\n"
      "  tapelens record --cupti --referrers -- python train.py\n"
      "\n"
      "The exit code is the command's: 128+N if signal N ended it, 127 if it was not found, 126 if it cannot run. If a "
      "file cannot be written or the program cannot be recorded, one line gives the reason, and the command still "
      "runs. Exit code 2 is wrong usage, and the command does not run: for example, FILE exists and is not a "
      "recording, or the command names it.");
  const auto options = std::make_shared<RecordOptions>();
  sub.add_option("-o,--output", options->output.path,
                 "The recording; it replaces an older one when it is complete. %h is the host's name, %r the rank, %p "
                 "the process; with one of them, record makes the folder. With -, the recording goes to standard "
                 "output, and the program's standard output to standard error")
      ->type_name("FILE")
      ->capture_default_str();
  sub.add_option("--ranks",
                 "Keep the events of these ranks only, and a summary of all others: tapelens ranks reads both")
      ->type_name("LIST")
      ->each([options](const std::string& text) {
        options->ranks = parse_ranks(text);
        if (!options->ranks) throw CLI::ValidationError("'" + text + "' is not a list of ranks, like 0,7 or 0-7");
      });
  sub.add_option("--steps", options->steps, "Record only these training steps: from A up to, not including, B")
      ->type_name("A:B")
      ->transform([](const std::string& text) {
        const auto steps = parse_steps(text);
        if (!steps) throw CLI::ValidationError("'" + text + "' is not A:B, like 2:4");
        return *steps;
      });
  sub.add_flag("--marked", options->marked, "Record only between tapelens.start() and tapelens.stop() in the program")
      ->excludes("--steps");
  sub.add_option("--last", options->last,
                 "Keep only the last K training steps, and the names of older allocations that are alive: for a run "
                 "that fails late")
      ->type_name("K")
      ->check([](const std::string& text) -> std::string {
        uint32_t steps = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
        const bool is_number = error == std::errc() && end == text.data() + text.size() && steps > 0;
        return is_number ? "" : "'" + text + "' is not a number of steps, like 3";
      })
      ->excludes("--steps");
  sub.add_option("--when", options->when,
                 "Keep the steps around the first peak above SIZE: --last steps before and after it, or 3")
      ->type_name("'peak>SIZE'")
      ->check([](const std::string& text) -> std::string {
        return parse_peak(text) ? "" : "'" + text + "' is not a condition, like 'peak>60GiB'";
      })
      ->excludes("--steps");
  auto* on_demand =
      sub.add_flag("--on-demand", options->on_demand,
                   "Make a recording of the last steps whenever a request for memory fails, a signal arrives or "
                   "`tapelens dump` asks, while the program runs on. No file is replaced: after run.tapelens comes "
                   "run.2.tapelens. A run without such an event leaves no recording")
          ->excludes("--steps")
          ->excludes("--marked")
          ->excludes("--when")
          ->excludes("--ranks");
  sub.add_option("--on", options->on,
                 "The events of --on-demand besides `tapelens dump`, a list separated by commas. A signal is one to "
                 "tapelens, which does not pass it on")
      ->type_name("{oom,SIGUSR1,SIGUSR2,none}")
      ->check([](const std::string& text) -> std::string {
        return parse_triggers(text) ? "" : "'" + text + "' is not a list of oom, SIGUSR1 and SIGUSR2, or none";
      })
      ->capture_default_str()
      ->needs(on_demand);
  sub.add_option("--max-dumps", options->max_dumps, "Make at most N recordings on demand, of each rank with %r")
      ->type_name("N")
      ->check(whole_number(1))
      ->capture_default_str()
      ->needs(on_demand);
  sub.add_option("--max-size", options->max_size,
                 "Stop recording a process when its spool, the file that it writes during the run, reaches this size")
      ->type_name("SIZE")
      ->capture_default_str();
  sub.add_option("--stacks", options->stacks, "Kinds of stacks to record, a list separated by commas")
      ->type_name("{python,cpp,none}")
      ->check(known_stacks)
      ->capture_default_str();
  sub.add_option("--spool", options->spool_folder,
                 "The folder of FILE.spool/, to which the processes write during the run; by default beside FILE")
      ->type_name("DIR");
  add_mode_option(sub, options->mode);
  sub.add_flag("--cupti", options->cupti,
               "Also record GPU memory outside of PyTorch's allocator, by library (NCCL, cuBLAS, ...)");
  sub.add_flag("--referrers", options->referrers,
               "Name the Python variable that holds each remaining tensor: at steps, near the peak and after an out of "
               "memory. A search takes at most 100 ms, after an out of memory 1 s");
  sub.add_flag("--redact", options->redact, "Leave the arguments of the command out of the recording");
  sub.add_flag("--live", options->live,
               "Show the memory on the terminal while the program runs, as tapelens top does, if the program's output "
               "goes elsewhere: tapelens record --live -- CMD > log 2>&1");
  sub.add_flag("--quiet", options->quiet, "Print no closing line");
  sub.add_flag("--keep-spool", options->keep_spool, "Keep the spools of the processes, FILE.spool/, after sealing");
  sub.add_flag("--force", options->output.is_forced,
               "Discard the spools of an earlier recording that was never sealed, and replace FILE even if it is not a "
               "recording; never a file that the command names");
  add_applying_options(sub, options->applying);
  add_simulating_options(sub, options->simulating);
  return [&sub, options](const Words& command) {
    if (command.empty()) {
      throw CLI::ParseError("no command to record: tapelens record -- python train.py", kUsage);
    }
    const auto bytes = parse_bytes(options->max_size);
    if (!bytes || *bytes == 0)
      throw CLI::ValidationError("--max-size", "'" + options->max_size + "' is not a size, like 8GiB");
    RecordOptions ready = *options;
    if (ready.last.empty() && (ready.on_demand || !ready.when.empty())) ready.last = "3";
    if (!ready.last.empty() && *bytes < kLeastRing)
      throw CLI::ValidationError("--max-size", "with --last, --when and --on-demand it is at least 64MiB");
    ready.max_size = std::to_string(*bytes);
    ready.is_mode_given = sub.count("--mode") > 0;
    if (has_pattern(ready.output.path)) {
      const std::string rank = rank_of_this_process();
      // A launcher's own recorder learns the ranks from the spools.
      ready.is_by_rank = ready.on_demand && rank.empty() && has_rank(ready.output.path);
      const auto output = expand_output(ready.output.path, ready.is_by_rank ? "ranks" : rank);
      if (!output) throw CLI::ValidationError(output.error().message);
      if (!ready.is_by_rank) ready.output.path = *output;
      std::error_code ignored;  // a failure is reported when the output is written
      fs::create_directories(fs::path(*output).parent_path(), ignored);
    }
    return record(ready, read_applying(sub, options->applying), read_simulating(sub, options->simulating), command);
  };
}

}  // namespace tapelens::cli
