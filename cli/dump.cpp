// tapelens dump: asks a running `tapelens record --on-demand` for a recording.
#include <string>

#include "cli/commands.h"
#include "cli/dump_requests.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"

namespace tapelens::cli {
namespace {

int dump(pid_t pid) {
  const auto folders = recorders_of(pid);
  if (!folders) return fail(folders.error());
  int code = kFine;
  for (const std::string& folder : *folders) {
    const auto answer = request_dump(folder);
    if (!answer || answer->files.empty()) {
      code = fail(answer ? trace::Error{answer->refused} : answer.error());
      continue;
    }
    for (const std::string& file : answer->files) {
      if (const int written = print_output(file + "\n"); written != kFine) code = written;
    }
  }
  return code;
}

}  // namespace

CommandFunction declare_dump(CLI::App& sub) {
  sub.footer(
      "Examples:\n"
      "  tapelens record --on-demand -o oom.tapelens -- python train.py &\n"
      "  tapelens dump $!\n"
      "  tapelens report \"$(tapelens dump 4711)\"\n"
      "\n"
      "Prints the path of each recording on standard output when it is complete. The program goes on, and does not "
      "notice. Exit code 3: the process is not recorded on demand, or the recording could not be made.");
  const auto pid = std::make_shared<int64_t>(0);
  sub.add_option("PID", *pid,
                 "The process of `tapelens record --on-demand`, one of its program, or a launcher of several")
      ->required()
      ->check(whole_number(1, INT32_MAX))
      ->type_name("");
  return [pid](const Words&) { return dump(static_cast<pid_t>(*pid)); };
}

}  // namespace tapelens::cli
