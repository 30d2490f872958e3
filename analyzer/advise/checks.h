// The checks that there are: Tapelens' own, and those of shared libraries.
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
    std::unique_ptr<check::Check> check;  // says what it is, and runs never
    const check::Plugin* plugin;
    uint32_t index;  // in the plugin

    // For one run of a process and a device. The object's state must not reach another run.
    std::unique_ptr<check::Check> for_a_run() const { return std::unique_ptr<check::Check>(plugin->make(index)); }
  };

  // An error, one line: another interface version or layout, an id that there is already.
  trace::Status add(const check::Plugin* plugin, const std::string& origin);
  // A shared library; it stays loaded to the end of the process. An error has the path in it.
  trace::Status load(const std::string& path);
  // Every *.so of the folders that TAPELENS_PLUGIN_PATH lists, separated by colons; a line for each that is refused.
  std::vector<std::string> load_folders();

  const std::vector<Entry>& entries() const { return entries_; }  // sorted by id
  const Entry* find(std::string_view id) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace tapelens::advise
