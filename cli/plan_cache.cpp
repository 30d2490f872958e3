#include "cli/plan_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "analyzer/model/words.h"
#include "analyzer/plan/plan_json.h"
#include "analyzer/plan/plan_text.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/json.h"
#include "cli/applying.h"
#include "cli/doctor_probe.h"
#include "cli/plan_file.h"
#include "cli/preload.h"
#include "cli/program_sources.h"
#include "cli/scoped_files.h"
#include "cli/torch_fit.h"
#include "simulated/settings/settings.h"
#include "trace/checksum.h"
#include "trace/regular_file.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPlans = 64;
constexpr uint64_t kMostKeptBytes = 4 << 20;       // the largest plan that is read
constexpr uint64_t kMostRecordedBytes = 16 << 20;  // as for the sources of a recording
constexpr std::string_view kPlanSuffix = ".plan.json";

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 32> text{};
  localtime_r(&now, &local);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local);
  return text.data();
}

// Another build of the same version may rewrite in another way.
text::Json this_tapelens() {
  struct stat facts {};
  if (stat("/proc/self/exe", &facts) != 0) return nullptr;
  return {TAPELENS_VERSION, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file);  // /proc says that its files are empty
  std::ostringstream content;
  content << stream.rdbuf();
  return std::move(content).str();
}

// The simulated GPUs, or the GPUs and the driver of this machine.
text::Json devices_of(const ToFit& wanted) {
  if (wanted.gpu) {
    std::array<char, 1024> text{};
    simulated::write(*wanted.gpu, text.data(), text.size());
    return text.data();
  }
  std::vector<std::string> facts;
  std::error_code error;
  for (const fs::directory_entry& gpu : fs::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    facts.push_back(content_of(gpu.path() / "information"));
  }
  std::ranges::sort(facts);
  facts.push_back(content_of("/proc/driver/nvidia/version"));
  return facts;
}

// The content of each file is the recorded one.
bool are_unchanged(const text::Json& sources) {
  return std::ranges::all_of(sources, [](const text::Json& source) {
    const auto content = trace::read_regular_file(source.at(0).get<std::string>(), kMostRecordedBytes);
    return content && content->size() == source.at(1).get<uint64_t>() &&
           trace::checksum_of(content->data(), content->size()) == source.at(2).get<uint64_t>();
  });
}

// A file that another user could have written is ignored.
bool is_mine(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && facts.st_uid == geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Under its name only when it is complete: another run may read it at any time.
void write_whole(const std::string& path, const std::string& content) {
  const std::string part = path + "." + std::to_string(getpid());
  bool is_written = false;
  {
    const OpenFile file(part, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file.descriptor() < 0) return;
    is_written = write(file.descriptor(), content.data(), content.size()) == static_cast<ssize_t>(content.size());
  }
  if (!is_written || rename(part.c_str(), path.c_str()) != 0) unlink(part.c_str());
}

void remove_oldest(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> plans;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    // Also the parts that a killed run left.
    if (entry.path().filename().string().find(kPlanSuffix) == std::string::npos) continue;
    std::error_code gone;
    plans.emplace_back(entry.last_write_time(gone), entry.path());
  }
  if (plans.size() <= kMostPlans) return;
  std::ranges::sort(plans);
  for (size_t i = 0; i + kMostPlans < plans.size(); ++i) fs::remove(plans[i].second, error);
}

}  // namespace

PlanCache::PlanCache(const ToFit& wanted) : gpu_(wanted.gpu_text), command_(wanted.command) {
  const std::string cache = cache_folder(), python = interpreter_of(command_.front());
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (cache.empty() || python.empty() || error) return;
  const PythonFacts facts = ask_python(python, {});
  if (!facts.error.empty() || facts.torch.empty()) return;
  folders_ = script_folders(command_, here);
  sources_ = checksum_of_sources(command_, folders_);
  if (!sources_) return;
  const text::Json key = {
      {"tapelens", this_tapelens()},
      {"python", {facts.executable, facts.version}},
      {"torch", {facts.torch, facts.torch_folder}},
      {"devices", devices_of(wanted)},
      {"size_bytes", wanted.size},
      {"host_memory_bytes", wanted.host_memory ? text::Json(*wanted.host_memory) : text::Json(nullptr)},
      {"folder", here.string()},
      {"command", text::shell_quote(command_)},
      {"environment", model::hex_text(checksum_of_environment())}};
  key_ = text::dumped(key);
  folder_ = cache + "/plans";
  path_ = folder_ + "/" + model::hex_text(trace::checksum_of(key_.data(), key_.size())) + std::string(kPlanSuffix);
}

std::optional<KeptPlan> PlanCache::read() const {
  if (key_.empty() || !is_mine(path_)) return std::nullopt;
  const auto content = trace::read_regular_file(path_, kMostKeptBytes);
  if (!content) return std::nullopt;
  KeptPlan kept;
  try {
    const text::Json json = text::parse_bounded<text::Json>(*content);
    const text::Json& about = json.at("kept");
    if (about.at("key") != key_ || !are_unchanged(about.at("sources"))) return std::nullopt;
    if (checksum_of_sources(command_, about.at("folders").get<std::vector<std::string>>()) !=
        about.at("checksum").get<uint64_t>())
      return std::nullopt;
    kept.made = about.at("made").get<std::string>();
    kept.options = about.at("options").get<std::string>();
    kept.bytes = plan::Bytes{json.at("predicted").at("bytes").get<int64_t>()};
  } catch (const text::Json::exception&) {
    return std::nullopt;
  }
  auto selection = read_plan(path_, known_rewrites());
  if (!selection) return std::nullopt;
  kept.rewrites.on = !selection->level.empty();
  static_cast<policy::RewriteSelection&>(kept.rewrites) = std::move(*selection);
  return kept;
}

void PlanCache::write(const plan::Plan& plan) const {
  if (key_.empty() || checksum_of_sources(command_, folders_) != sources_) return;  // changed during the runs
  const plan::Tried& chosen = plan.tried[*plan.chosen];
  std::vector<std::string> folders = folders_;
  text::Json sources = text::Json::array();
  for (const experiment::CodeFile& source : chosen.measured.sources) {
    sources.push_back({source.path, source.bytes, source.hash});
    if (source.is_own) folders.push_back(fs::path(source.path).parent_path().string());
  }
  std::ranges::sort(folders);
  const auto repeated = std::ranges::unique(folders);
  folders.erase(repeated.begin(), repeated.end());
  const auto checksum = checksum_of_sources(command_, folders);
  if (!checksum) return;
  try {
    text::Json json = text::Json::parse(plan::plan_json(plan, text::shell_quote(command_), gpu_));
    json["kept"] = {{"made", now_text()},    {"options", plan::options_of(chosen.choice)},
                    {"key", key_},           {"folders", std::move(folders)},
                    {"checksum", *checksum}, {"sources", std::move(sources)}};
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) return;
    write_whole(path_, text::dumped(json));
    remove_oldest(folder_);
  } catch (const std::exception&) {
    // The next run makes the plan again.
  }
}

}  // namespace tapelens::cli
