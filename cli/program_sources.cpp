#include "cli/program_sources.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "cli/output.h"
#include "trace/checksum.h"
#include "trace/regular_file.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostEntries = 20'000;            // files and folders
constexpr uint64_t kMostSourceContent = 16 << 20;  // a larger file counts by its size and time
constexpr size_t kMostSources = 4'000;             // files that are read
constexpr std::array<std::string_view, 6> kSettings = {".yaml", ".yml", ".toml", ".ini", ".cfg", ".gin"};
constexpr std::array<std::string_view, 3> kSettingsFolders = {"conf", "config", "configs"};
constexpr std::array<std::string_view, 4> kForeignFolders = {"site-packages", "dist-packages", "node_modules",
                                                             "__pycache__"};

// The paths are sorted, so that the checksum does not depend on the order in a folder.
class SourceSet {
 public:
  void add(const fs::path& file) { files_.insert(file.lexically_normal().string()); }
  // False: there are too many.
  bool add_folder(const fs::path& folder) {
    std::error_code error;
    auto at = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      if (++entries_ > kMostEntries) return false;
      std::error_code ignored;  // the entry was removed meanwhile
      if (at->is_directory(ignored)) {
        if (is_foreign(at->path())) at.disable_recursion_pending();
      } else if (is_source(at->path(), folder)) {
        add(at->path());
      }
    }
    return files_.size() <= kMostSources;
  }
  uint64_t checksum() const {
    trace::Checksum all;
    for (const std::string& file : files_) {
      all.add(file.c_str(), file.size() + 1);
      add_content(file, all);
    }
    return all.value();
  }

 private:
  static bool is_foreign(const fs::path& folder) {
    const std::string name = folder.filename().string();
    std::error_code ignored;
    return name.starts_with('.') || std::ranges::find(kForeignFolders, name) != kForeignFolders.end() ||
           fs::exists(folder / "pyvenv.cfg", ignored);
  }
  static bool is_source(const fs::path& file, const fs::path& folder) {
    const std::string extension = file.extension().string();
    if (extension == ".py") return true;
    if (std::ranges::find(kSettings, extension) == kSettings.end()) return false;
    if (file.parent_path() == folder) return true;
    const fs::path below = file.lexically_relative(folder).parent_path();
    return std::ranges::any_of(below, [](const fs::path& part) {
      return std::ranges::find(kSettingsFolders, part.string()) != kSettingsFolders.end();
    });
  }
  static void add_number(uint64_t number, trace::Checksum& all) { all.add(&number, sizeof(number)); }
  static void add_content(const std::string& path, trace::Checksum& all) {
    if (const auto content = trace::read_regular_file(path, kMostSourceContent)) {
      add_number(content->size(), all);
      all.add(content->data(), content->size());
      return;
    }
    std::error_code error;
    add_number(fs::file_size(path, error), all);
    add_number(static_cast<uint64_t>(fs::last_write_time(path, error).time_since_epoch().count()), all);
  }

  std::set<std::string> files_;
  size_t entries_ = 0;
};

// Variables that say which terminal, session or job this is.
bool is_of_session(std::string_view name) {
  constexpr std::array<std::string_view, 19> kNames = {"_",
                                                       "SHLVL",
                                                       "PWD",
                                                       "OLDPWD",
                                                       "COLUMNS",
                                                       "LINES",
                                                       "DISPLAY",
                                                       "WINDOWID",
                                                       "STY",
                                                       "COLORTERM",
                                                       "LS_COLORS",
                                                       "PS1",
                                                       "INVOCATION_ID",
                                                       "JOURNAL_STREAM",
                                                       "KRB5CCNAME",
                                                       "SLURM_JOB_ID",
                                                       "SLURM_JOBID",
                                                       "SLURM_TASK_PID",
                                                       "SYSTEMD_EXEC_PID"};
  constexpr std::array<std::string_view, 8> kBegins = {"TERM",  "TMUX",    "SSH_", "XDG_",
                                                       "DBUS_", "WAYLAND", "VTE_", "HIST"};
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kBegins, [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace

std::vector<std::string> script_folders(const std::vector<std::string>& command, const fs::path& folder) {
  std::set<std::string> folders;
  for (const std::string& word : command) {
    std::error_code ignored;
    if (word == "-m") folders.insert(folder.string());
    if (word.ends_with(".py") && fs::is_regular_file(word, ignored)) {
      folders.insert((folder / word).lexically_normal().parent_path().string());
    }
  }
  return {folders.begin(), folders.end()};
}

std::optional<uint64_t> checksum_of_sources(const std::vector<std::string>& command,
                                            const std::vector<std::string>& folders) {
  SourceSet sources;
  for (const std::string& file : files_in_command(command)) {
    if (!file.empty()) sources.add(file);
  }
  for (const std::string& folder : folders) {
    if (!sources.add_folder(folder)) return std::nullopt;
  }
  return sources.checksum();
}

uint64_t checksum_of_environment() {
  std::set<std::string_view> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!is_of_session(text.substr(0, text.find('=')))) variables.insert(text);
  }
  trace::Checksum all;
  for (const std::string_view text : variables) all.add(text.data(), text.size() + 1);
  return all.value();
}

}  // namespace tapelens::cli
