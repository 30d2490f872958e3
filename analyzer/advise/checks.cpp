#include "analyzer/advise/checks.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <system_error>

namespace tapelens::advise {

using namespace check;
using trace::Error;

trace::Status Checks::add(const Plugin* plugin, const std::string& origin) {
  if (plugin == nullptr || plugin->interface != CheckInterface::kVersion) {
    return Error{origin + ": built for the check interface " +
                 std::to_string(plugin == nullptr ? 0 : plugin->interface) + ", not for " +
                 std::to_string(CheckInterface::kVersion) + ": build it against this Tapelens' analyzer/check/check.h"};
  }
  if (plugin->built_for != CheckInterface::kBuiltFor) {
    return Error{origin +
                 ": built with another compiler or other headers than this Tapelens: build it against the same"};
  }
  std::vector<Entry> made;
  for (uint32_t index = 0; index < plugin->count; ++index) {
    try {
      std::unique_ptr<Check> check(plugin->make(index));
      const std::string id(check->info().id);
      const auto same = [&](const Entry& entry) { return entry.check->info().id == id; };
      if (id.empty()) return Error{origin + ": a check without an id"};
      if (std::ranges::any_of(entries_, same) || std::ranges::any_of(made, same)) {
        return Error{origin + ": there is a check '" + id + "' already"};
      }
      made.push_back({origin, std::move(check), plugin, index});
    } catch (const std::exception& error) {
      return Error{origin + ": its check " + std::to_string(index) + " cannot be made: " + error.what()};
    } catch (...) {
      return Error{origin + ": its check " + std::to_string(index) + " cannot be made"};
    }
  }
  std::ranges::move(made, std::back_inserter(entries_));
  std::ranges::sort(entries_, {}, [](const Entry& entry) { return entry.check->info().id; });
  return trace::Done{};
}

trace::Status Checks::load(const std::string& path) {
  // Without a slash the loader would search its own folders.
  const std::string place = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* why = dlerror();
    const std::string said = why == nullptr ? "cannot be loaded" : why;
    return Error{said.find(path) == std::string::npos ? path + ": " + said : said};
  }
  using Entrance = const Plugin* (*)();
  const auto entrance = reinterpret_cast<Entrance>(dlsym(library, "tapelens_plugin"));
  if (entrance == nullptr) return Error{path + ": not a plugin: it has no TAPELENS_CHECKS"};
  return add(entrance(), path);
}

std::vector<std::string> Checks::load_folders() {
  std::vector<std::string> refused;
  const char* folders = getenv("TAPELENS_PLUGIN_PATH");
  std::string_view list = folders != nullptr ? folders : "";
  while (!list.empty()) {
    const size_t colon = std::min(list.find(':'), list.size());
    const std::string folder(list.substr(0, colon));
    list.remove_prefix(std::min(colon + 1, list.size()));
    if (folder.empty()) continue;
    std::error_code error;
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".so") found.push_back(entry.path().string());
    }
    if (error) refused.push_back(folder + ": " + error.message());
    std::ranges::sort(found);
    for (const std::string& path : found) {
      if (const auto loaded = load(path); !loaded) refused.push_back(loaded.error().message);
    }
  }
  return refused;
}

const Checks::Entry* Checks::find(std::string_view id) const {
  const auto at = std::ranges::find(entries_, id, [](const Entry& entry) { return entry.check->info().id; });
  return at == entries_.end() ? nullptr : &*at;
}

}  // namespace tapelens::advise
