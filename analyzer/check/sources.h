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
  std::filesystem::path folder;  // base of the recording's relative names
};

// The repository that contains a folder; the folder itself if none does. Relative names begin at the folder.
SourceTree source_tree_at(const std::filesystem::path& folder);

// The possible trees of a recording's program, the best first. The tree of `current` comes first, because the user
// types `git apply` there. If it does not have the program's files, the repository of the recording comes first.
// Folders outside repositories come last. The recording's folder is among them only if `current` is outside every
// repository.
std::vector<SourceTree> source_trees(const std::filesystem::path& recording, const std::filesystem::path& current);
// For a command, or a window: `current` is its working directory.
std::vector<SourceTree> source_trees(const std::filesystem::path& recording);
// The first tree with a file of the recording's stacks; if none has one, the first tree. `trees`: not empty.
const SourceTree& source_tree_of(const model::Text& text, std::span<const SourceTree> trees);

// The repository's name of a file, "src/train.py"; empty if the file is outside the repository or in an installed
// library.
std::string in_repository(std::string_view file, const SourceTree& tree);

// A Python file of the repository, if it has not changed since the recording.
std::optional<std::string> recorded_source(const model::Text& text, std::string_view file, const SourceTree& tree);

// Whether the file exists but has changed, so that recorded lines may be wrong.
bool has_changed(const model::Text& text, std::string_view file, const SourceTree& tree);

}  // namespace tapelens::check
