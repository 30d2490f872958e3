// A repository with a patch in it, for a command to run in: a temporary folder of links, in which the files that the
// patch changes, and the folders and Python files around them, are the command's own.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analyzer/check/patch.h"
#include "analyzer/verify/verify.h"
#include "cli/child.h"
#include "cli/temporary_folder.h"
#include "trace/result.h"

namespace tapelens::cli {

class PatchedCopy {
 public:
  // `command` runs in `folder`, which is in the repository `root`, as the paths of the patch are. An error: the patch
  // cannot be read, or does not fit the files as they are.
  static trace::Result<std::unique_ptr<PatchedCopy>> make(const std::string& patch, const std::filesystem::path& root,
                                                          const std::filesystem::path& folder,
                                                          const std::vector<std::string>& command);

  // How the same command runs in the copy: absolute paths of Python files of the repository are those of the copy, and
  // so are the folders of PYTHONPATH that a patched file is in.
  const std::vector<std::string>& command() const { return command_; }
  std::string folder() const { return (folder_.empty() ? copy_ : copy_ / folder_).string(); }
  Environment environment() const;
  std::string root() const { return root_.string(); }  // of the repository, and of its copy
  std::string copy() const { return copy_.string(); }

  const std::vector<verify::PatchedFile>& files() const { return files_; }

 private:
  PatchedCopy(std::filesystem::path root, const std::filesystem::path& folder) : root_(std::move(root)) {
    if (folder != root_) folder_ = folder.lexically_relative(root_);
  }

  // What of the repository is at `path`, as the repository names it; empty: it is not in there.
  std::filesystem::path below_root(const std::filesystem::path& path) const;
  void add_folders_of(const std::filesystem::path& file);
  std::string in_copy(const std::string& path) const;
  trace::Status take(const check::FileEdit& file);
  void take_command(const std::vector<std::string>& command);
  trace::Status write();

  TemporaryFolder temporary_;
  std::filesystem::path root_, copy_;
  std::filesystem::path folder_;             // below the root
  std::set<std::filesystem::path> folders_;  // that are no links, below the root; parents before what is in them
  std::vector<std::string> texts_;           // of the patched files
  std::vector<verify::PatchedFile> files_;
  std::vector<std::string> command_;
};

}  // namespace tapelens::cli
