// The files that a program consists of, to find whether it is still the same program: `run --fit` keeps plans.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tapelens::cli {

// The folders of the scripts that a command names; with `-m`, also the working directory.
std::vector<std::string> script_folders(const std::vector<std::string>& command, const std::filesystem::path& folder);

// One checksum for the names and contents of: the files that the command names, all *.py below the folders, and the
// settings (*.yaml, *.toml, *.ini, ...) directly in them and below a folder named conf, config or configs. Hidden
// folders, installed packages and virtual environments are left out. A large file counts by its size and time.
// None: the folders have too many files to read them before each run.
std::optional<uint64_t> checksum_of_sources(const std::vector<std::string>& command,
                                            const std::vector<std::string>& folders);

// The checksum of this process's environment, without variables that differ between two terminals or jobs.
uint64_t checksum_of_environment();

}  // namespace tapelens::cli
