// The available checks: Tapelens' own, and those of shared libraries.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/check/check.h"
#include "trace/result.h"

namespace tapelens::advise {

using namespace model;

class Checks {
 public:
  struct Entry {
    std::string origin;                   // "built in", or the path of the shared library
    std::unique_ptr<check::Check> check;  // for info(); never runs
    const check::Plugin* plugin;
    uint32_t index;  // in its plugin

    bool is_built_in() const { return origin == "built in"; }
    // For one run of a process and a device. The object's state must not reach another run.
    std::unique_ptr<check::Check> for_a_run() const { return std::unique_ptr<check::Check>(plugin->make(index)); }
  };

  // An error, in one line: a different interface version or layout, or an id that exists already.
  trace::Status add(const check::Plugin* plugin, const std::string& origin);
  // Adds a shared library, which stays loaded until the process exits. An error contains the path.
  trace::Status load(const std::string& path);
  // Adds every *.so of the folders in TAPELENS_PLUGIN_PATH (separated by colons). Returns one line for each refused
  // file.
  std::vector<std::string> load_folders();

  const std::vector<Entry>& entries() const { return entries_; }  // sorted by id
  const Entry* find(std::string_view id) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace tapelens::advise
