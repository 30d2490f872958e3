#include <fstream>
#include <utility>

#include "cli/child.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/patches.h"
#include "cli/scoped_files.h"
#include "trace/regular_file.h"

namespace tapelens::cli {
namespace {

constexpr uint64_t kMostPatchBytes = 64 << 20;  // size limit of a source file

// Compares a file with its patched version. Prints 'unknown' if this Python, which may be older than the program's,
// cannot read the original.
constexpr const char* kPatchQuestion =
    "import ast, sys\n"
    "def error(name):\n"
    "  try: ast.parse(open(name, 'rb').read())\n"
    "  except (SyntaxError, ValueError) as e: return f'line {getattr(e, \"lineno\", 0)}: {getattr(e, \"msg\", e)}'\n"
    "  return ''\n"
    "print('unknown' if error(sys.argv[1]) else error(sys.argv[2]) or 'fine')\n";

struct Answer {
  bool is_known = false;
  std::string error;  // syntax error in the edited file; empty: none
};

Answer ask_of(const std::string& before, const std::string& after) {
  const TemporaryFolder folder;
  if (!folder) return {};
  const std::string old_file = folder.path() + "/before", new_file = folder.path() + "/after";
  std::ofstream(old_file, std::ios::binary) << before;
  std::ofstream(new_file, std::ios::binary) << after;
  for (const char* python : {"python3", "python"}) {
    ProgramAnswer answer = ask({python, "-c", kPatchQuestion, old_file, new_file});
    while (answer.output.ends_with('\n')) answer.output.pop_back();
    if (answer.exit_code != 0 || answer.output.empty()) continue;
    if (answer.output == "unknown") return {};
    return {true, answer.output == "fine" ? "" : answer.output};
  }
  return {};
}

}  // namespace

int write_patch(check::FileEdits files, const std::filesystem::path& root, const trace::OutputOptions& output) {
  const bool has_patches = !files.empty();
  bool was_asked = true;
  std::erase_if(files, [&](const check::FileEdit& file) {
    const auto before = trace::read_regular_file((root / file.path).string(), kMostPatchBytes);
    const auto after = before ? check::applied(file, *before) : before;
    if (!after) {
      say("the patch of " + file.path + " is left out: " + after.error().message);
      return true;
    }
    const Answer answer = ask_of(*before, *after);
    was_asked &= answer.is_known;
    if (!answer.error.empty())
      say("the patch of " + file.path + " is left out: the patched file would not be valid Python: " + answer.error);
    return !answer.error.empty();
  });
  if (!was_asked)
    say("whether Python understands the patched files was not checked: no python3 that reads them was found");
  if (files.empty()) {
    say((has_patches ? "no patch is left: " : "no finding has a patch: ") + output.path + " is empty");
  }
  return write_output(check::unified_diff(files), output);
}

}  // namespace tapelens::cli
