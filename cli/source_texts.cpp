#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include "analyzer/check/sources.h"
#include "cli/child.h"
#include "cli/run_figures_file.h"
#include "trace/checksum.h"
#include "trace/regular_file.h"

namespace tapelens::cli {

namespace {

constexpr uint64_t kMostSourceBytes = 8 << 20;       // size limit of a handwritten source file
constexpr const char* kCommits = "--max-count=200";  // that changed the file, the newest first

// The standard output of `git -C FOLDER WORDS...`; empty if git fails or is missing.
std::optional<std::string> git(const std::string& folder, const std::vector<std::string>& words) {
  std::vector<std::string> command{"git", "-C", folder};
  command.insert(command.end(), words.begin(), words.end());
  ProgramAnswer answer = ask(command);
  if (answer.exit_code != 0) return std::nullopt;
  return std::move(answer.output);
}

bool is_version(const compare::SourceVersion& version, const std::string& content) {
  return content.size() == version.bytes && trace::checksum_of(content.data(), content.size()) == version.hash;
}

std::optional<std::string> on_disk(const compare::SourceVersion& version, const std::vector<check::SourceTree>& trees) {
  std::vector<std::filesystem::path> places;
  if (std::filesystem::path(version.file).is_absolute()) {
    places.emplace_back(version.file);
  } else {
    for (const check::SourceTree& tree : trees) {
      for (const auto& folder : {tree.folder, tree.root}) places.push_back(folder / version.file);
    }
  }
  for (const auto& place : places) {
    auto content = trace::read_regular_file(place, kMostSourceBytes);
    if (content && is_version(version, *content)) return std::move(*content);
  }
  return std::nullopt;
}

// The two versions in each line ":100644 100644 OLD NEW M\tpath" of the log.
std::vector<std::string> blobs_of(const std::string& log) {
  std::vector<std::string> out;
  std::set<std::string> known;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string modes[2], blobs[2];
    words >> modes[0] >> modes[1] >> blobs[0] >> blobs[1];
    for (const std::string& blob : {blobs[1], blobs[0]}) {
      if (blob.find_first_not_of('0') != std::string::npos && known.insert(blob).second) out.push_back(blob);
    }
  }
  return out;
}

std::optional<std::string> in_git(const compare::SourceVersion& version, const check::SourceTree& tree) {
  std::string path = check::in_repository(version.file, tree);
  if (path.empty()) return std::nullopt;
  const std::string root = tree.root.string();
  const auto log =
      git(root, {"log", "--all", "--format=", "--raw", "--no-abbrev", "--no-renames", kCommits, "--", path});
  if (!log) return std::nullopt;
  for (const std::string& blob : blobs_of(*log)) {
    auto content = git(root, {"cat-file", "blob", blob});
    if (content && is_version(version, *content)) return content;
  }
  return std::nullopt;
}

}  // namespace

compare::FindText find_texts(const std::string& recording) {
  return [trees = check::source_trees(recording)](const compare::SourceVersion& version) -> std::optional<std::string> {
    if (auto content = on_disk(version, trees)) return content;
    for (const check::SourceTree& tree : trees) {
      if (auto content = in_git(version, tree)) return content;
    }
    return std::nullopt;
  };
}

}  // namespace tapelens::cli
