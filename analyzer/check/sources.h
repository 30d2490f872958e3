// Finds the program's own files.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapelens::model {
struct Text;
}

namespace tapelens::check {

// Files below `root` belong to the program's repository and have names relative to it. All other files are foreign.
struct SourceTree {
  std::filesystem::path root;    // the repository's root
  std::filesystem::path folder;  // that relative names of the recording begin at
};

// The repository that a folder is in; the folder itself if it is in none. Relative names begin at the folder.
SourceTree source_tree_at(const std::filesystem::path& folder);

// The trees that the program of a recording may be of, the best first. That of `current`, the folder that the user
// stands in and types `git apply` in; if it has not the program's files, the repository that the recording lies in.
// Folders that are in no repository come last, and that of the recording only if the user stands in none.
std::vector<SourceTree> source_trees(const std::filesystem::path& recording, const std::filesystem::path& current);
// For a command, or a window: `current` is its working directory.
std::vector<SourceTree> source_trees(const std::filesystem::path& recording);
// The first that has a file of the recording's stacks; if none has, the first. `trees`: not empty.
const SourceTree& source_tree_of(const model::Text& text, std::span<const SourceTree> trees);

// The file as the repository names it, "src/train.py"; empty if it is not of the repository, or in an installed
// library.
std::string in_repository(std::string_view file, const SourceTree& tree);

// A Python file of the repository, if it still holds what the recorded program was read from: nothing after it changed.
std::optional<std::string> recorded_source(const model::Text& text, std::string_view file, const SourceTree& tree);

// Whether it is there, but does not hold that any more: recorded lines may be others now.
bool has_changed(const model::Text& text, std::string_view file, const SourceTree& tree);

}  // namespace tapelens::check
