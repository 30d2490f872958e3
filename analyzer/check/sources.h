// Where the program's own files are, for whoever reads or names them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tapelens::check {

// What is below `root` is the program's repository, and named relative to it; everything else is somebody else's.
struct SourceTree {
  std::filesystem::path root;    // of the repository
  std::filesystem::path folder;  // that relative names of the recording begin at
};

// The repository that a folder is in; the folder itself if it is in none. Relative names begin at the folder.
SourceTree source_tree_at(const std::filesystem::path& folder);

// The file as the repository names it, "src/train.py"; empty if it is not of the repository, or in an installed
// library.
std::string in_repository(std::string_view file, const SourceTree& tree);

}  // namespace tapelens::check
