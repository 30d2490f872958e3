#include "cli/simulating.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "analyzer/text/escape.h"
#include "cli/doctor_probe.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/preload.h"
#include "cli/text.h"
#include "simulated/cards/cards.h"
#include "simulated/start/stand_ins.h"
#include "simulated/stubs/stub_library.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;
using simulated::GpuSettings;
using trace::Error;

constexpr uint64_t kMostSimulatedRanks = 1 << 20;

// The Python that runs a command: the command itself, one of its words (`nice python train.py`), the interpreter in the
// script's first line, or the shell's.
std::string interpreter_of(const std::vector<std::string>& command) {
  const auto is_python = [](const fs::path& path) { return path.filename().string().starts_with("python"); };
  const ProgramFacts facts = look_into(command[0]);
  for (const std::string& word : command) {
    if (is_python(word) && look_into(word).error.empty()) return word;
  }
  std::istringstream shebang(facts.shebang);
  for (std::string word; shebang >> word;) {
    if (is_python(word)) return word;
  }
  return look_into("python3").error.empty() ? "python3" : "python";
}

// A port of this machine without a listener.
uint16_t free_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return 29500;
  auto* general = reinterpret_cast<sockaddr*>(&address);
  const bool known = bind(descriptor, general, sizeof(address)) == 0 && getsockname(descriptor, general, &length) == 0;
  close(descriptor);
  return known ? ntohs(address.sin_port) : 29500;
}

// The variables that torchrun sets for rank 0. The others wait for rank 0, so only it can run alone. All NCCL ids come
// from one rank, instead of one of every 128 ranks.
void put_rank(Environment& environment, const GpuSettings& gpu) {
  environment.insert(environment.end(), {{"WORLD_SIZE", std::to_string(gpu.world)},
                                         {"LOCAL_WORLD_SIZE", std::to_string(gpu.count)},
                                         {"RANK", "0"},
                                         {"LOCAL_RANK", "0"},
                                         {"GROUP_RANK", "0"},
                                         {"MASTER_ADDR", "127.0.0.1"},
                                         {"MASTER_PORT", std::to_string(free_port())},
                                         {"TORCH_NCCL_RANKS_PER_ROOT", std::to_string(gpu.world)}});
}

// The loader splits LD_PRELOAD at these characters, and expands `$`.
bool can_be_preloaded(const std::string& path) { return path.find_first_of(" :$\t\n") == std::string::npos; }

std::string row(const simulated::Card& card) {
  char line[160];
  std::snprintf(line, sizeof(line), "%-14s%9.2f GiB   %2u.%-10u %4u    %4u MiB  %s\n", std::string(card.id).c_str(),
                static_cast<double>(card.mebibytes) / 1024, card.major, card.minor, card.processors, card.l2_mebibytes,
                std::string(card.name).c_str());
  return line;
}

}  // namespace

void add_simulating_options(CLI::App& sub, SimulatingOptions& options) {
  sub.add_option("--gpu", options.gpu,
                 "Simulate GPUs, with PyTorch's own CUDA allocator: a GPU of tapelens fit --list-gpus, its memory, and "
                 "the number of GPUs (H100, H100:24GiB, H100x8)")
      ->type_name("GPU");
  add_simulation_details(sub, options);
}

void add_simulation_details(CLI::App& sub, SimulatingOptions& options) {
  sub.add_option("--world", options.world,
                 "With --gpu: run as rank 0 of this many ranks; NCCL's collectives return at once")
      ->type_name("RANKS");
  sub.add_option("--cudnn-workspace", options.workspace,
                 "With --gpu: the workspace that cuDNN requests for each convolution (default: an estimate)")
      ->type_name("SIZE");
}

GpuSettings settings_of(const simulated::Card& card, uint64_t bytes, uint32_t count) {
  GpuSettings gpu;
  gpu.count = count;
  gpu.bytes = bytes;
  const simulated::Capability& capability = simulated::capability_of(card);
  gpu.major = card.major;
  gpu.minor = card.minor;
  gpu.processors = card.processors;
  gpu.l2_bytes = uint64_t{card.l2_mebibytes} << 20;
  gpu.bus_bits = card.bus_bits;
  gpu.shared_per_block = capability.shared_per_block;
  gpu.shared_per_processor = capability.shared_per_processor;
  gpu.threads_per_processor = capability.threads_per_processor;
  gpu.blocks_per_processor = capability.blocks_per_processor;
  card.name.copy(gpu.name, sizeof(gpu.name) - 1);
  return gpu;
}

GpuSettings settings_of(const SimulatingOptions& options) {
  if (!stubs::kRunHere) {
    throw CLI::ValidationError("--gpu",
                               "GPUs are simulated on x86-64 only: the libraries that replace CUDA's are x86-64 code. "
                               "Leave --gpu out to use this machine's GPU, or simulate on an x86-64 machine");
  }
  const auto request = simulated::read_request(options.gpu, parse_bytes);
  if (!request) throw CLI::ValidationError("--gpu", request.error().message);
  GpuSettings gpu = settings_of(*request->card, request->bytes, request->count);
  if (!options.world.empty()) {
    const char* end = options.world.data() + options.world.size();
    const auto read = std::from_chars(options.world.data(), end, gpu.world);
    if (read.ec != std::errc() || read.ptr != end || gpu.world == 0 || gpu.world > kMostSimulatedRanks) {
      throw CLI::ValidationError("--world", "'" + options.world + "' is not a number of ranks, like 1024");
    }
  }
  const auto workspace = options.workspace.empty() ? simulated::kEstimated : parse_bytes(options.workspace);
  if (!workspace) {
    throw CLI::ValidationError("--cudnn-workspace", "'" + options.workspace + "' is not a size, like 64MiB");
  }
  gpu.cudnn_workspace = *workspace;
  return gpu;
}

std::optional<GpuSettings> read_simulating(const CLI::App& sub, const SimulatingOptions& options) {
  if (!options.gpu.empty()) return settings_of(options);
  for (const char* dependent : {"--world", "--cudnn-workspace"}) {
    if (sub.get_option(dependent)->count() > 0) {
      throw CLI::ValidationError(dependent, "nothing is simulated without --gpu");
    }
  }
  if (sub.get_option("--gpu")->count() > 0) {
    throw CLI::ValidationError("--gpu", "'' is not a GPU: tapelens fit --list-gpus lists them");
  }
  return {};
}

Simulation::Simulation(const std::optional<GpuSettings>& gpu, const std::vector<std::string>& command) {
  if (!gpu) return;
  on_ = true;
  if (const auto made = make(*gpu, command); !made) reason_ = made.error().message;
}

ChildEnd Simulation::run(const std::vector<std::string>& command, const PreloadPath& preload) const {
  Environment environment = environment_;
  std::ranges::move(preload.reason().empty() ? preload.environment(preloads_) : preloading(preloads_),
                    std::back_inserter(environment));
  return run_command(command, environment);
}

void Simulation::explain(const ChildEnd& end) const {
  const bool was_asked_to_end = end.exit_code == 128 + SIGINT || end.exit_code == 128 + SIGTERM;
  if (!on_ || !end.started || end.exit_code == 0 || was_asked_to_end) return;
  std::error_code error;
  if (fs::is_empty(reads_, error) || error) return;
  say("the program ended with exit code " + std::to_string(end.exit_code) +
      " after it read values that the simulated GPU does not compute and returns as zero: if such a value is why, "
      "only a real GPU has it");
}

trace::Status Simulation::make(GpuSettings gpu, const std::vector<std::string>& command) {
  const std::string device = library_folder() + "/" + simulated::kLibraryName;
  std::error_code error;
  if (!fs::is_regular_file(device, error)) {
    return Error{std::string(simulated::kLibraryName) + " is not installed beside this tapelens"};
  }
  const std::string python = interpreter_of(command);
  const PythonFacts facts = ask_python(python, "");
  if (!facts.error.empty() || facts.torch_folder.empty()) {
    return Error{
        (facts.error.empty() ? python + " has no PyTorch" : python + " could not be asked: " + facts.error) +
        ", whose CUDA libraries a simulated GPU stands in for: activate the environment that has it, or name its "
        "interpreter (-- PATH/python train.py)"};
  }
  const auto torch = simulated::find_torch_cuda(facts.torch_folder);
  if (!torch) return torch.error();
  gpu.cuda = torch->cuda;
  gpu.cudnn = torch->cudnn;
  gpu.nccl = torch->nccl;
  if (!folder_.emplace()) return Error{folder_->reason()};
  if (!can_be_preloaded(folder_->path())) {
    return Error{text::shell_quote(folder_->path()) +
                 " cannot be preloaded from: set TMPDIR to a path without spaces and colons"};
  }
  const auto made = simulated::write_stand_ins(*torch, device, folder_->path());
  if (!made) return made.error();
  preloads_ = joined(made->preloads, ":");
  reads_ = folder_->path() + "/reads";
  std::error_code not_made;
  fs::create_directory(reads_, not_made);  // without it, reads of unknown values are not reported
  std::string text(static_cast<size_t>(simulated::write(gpu, nullptr, 0)) + 1, '\0');
  simulated::write(gpu, text.data(), text.size());
  text.pop_back();
  environment_ = {{simulated::kSettingsVariable, text},
                  {"TRITON_LIBCUDA_PATH", made->driver_folder},
                  {TAPELENS_SIMULATED_READS, reads_}};
  if (gpu.world > 0) put_rank(environment_, gpu);
  return trace::Done{};
}

int list_gpus() {
  std::string text = "GPU              memory       capability    SMs          L2  as the driver calls it\n";
  for (const simulated::Card& card : simulated::cards()) text += row(card);
  return print_output(text);
}

}  // namespace tapelens::cli
