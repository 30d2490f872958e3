// Applies a patch to a copy of a repository, for a command to run in. The copy is a temporary folder of links. The
// files that the patch changes, and the folders and Python files around them, are real copies.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analyzer/check/patch.h"
#include "analyzer/verify/verify.h"
#include "cli/child.h"
#include "cli/scoped_files.h"
#include "trace/output.h"
#include "trace/result.h"

namespace tapelens::cli {

class PatchedCopy {
 public:
  // `command` runs in `folder` inside the repository `root`; paths in the patch are relative to `root`. An error means
  // that the patch is unreadable or does not fit the files.
  static trace::Result<std::unique_ptr<PatchedCopy>> make(const std::string& patch, const std::filesystem::path& root,
                                                          const std::filesystem::path& folder,
                                                          const std::vector<std::string>& command);

  // The same command for the copy. Absolute paths of the repository's Python files point to the copy; so do folders in
  // PYTHONPATH that contain a patched file.
  const std::vector<std::string>& command() const { return command_; }
  std::string folder() const { return (folder_.empty() ? copy_ : copy_ / folder_).string(); }
  Environment environment() const;
  std::string root() const { return root_.string(); }  // root of the repository; copy() is that of its copy
  std::string copy() const { return copy_.string(); }

  const std::vector<verify::PatchedFile>& files() const { return files_; }

 private:
  PatchedCopy(std::filesystem::path root, const std::filesystem::path& folder) : root_(std::move(root)) {
    if (folder != root_) folder_ = folder.lexically_relative(root_);
  }

  // `path` relative to the repository's root; empty if it is outside.
  std::filesystem::path below_root(const std::filesystem::path& path) const;
  void add_folders_of(const std::filesystem::path& file);
  std::string in_copy(const std::string& path) const;
  trace::Status take(const check::FileEdit& file);
  void take_command(const std::vector<std::string>& command);
  trace::Status write();

  TemporaryFolder temporary_;
  std::filesystem::path root_, copy_;
  std::filesystem::path folder_;             // below the root
  std::set<std::filesystem::path> folders_;  // real folders below the root, not links; parents before their children
  std::vector<std::string> texts_;           // texts of the patched files
  std::vector<verify::PatchedFile> files_;
  std::vector<std::string> command_;
};

// ---- the patch that `tapelens advise --patch` writes

// Writes the edits of files below `root` as one diff. Leaves out a file that Python can parse before but not after its
// edits, with a message; another message says if no Python could check the files. Returns an exit code; prints why if
// it is not kFine.
int write_patch(check::FileEdits files, const std::filesystem::path& root, const trace::OutputOptions& output);

}  // namespace tapelens::cli
