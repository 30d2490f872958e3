#include "cli/machine_gpus.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "analyzer/peak/external_memory.h"
#include "cli/simulating.h"
#include "simulated/cards/cards.h"

namespace tapelens::cli {
namespace {

struct Memory {  // nvmlMemory_t
  unsigned long long total = 0, free = 0, used = 0;
};

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// The functions of NVML. Each returns 0 if it succeeds.
struct Nvml {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, void**) = nullptr;
  int (*name)(void*, char*, unsigned) = nullptr;
  int (*uuid)(void*, char*, unsigned) = nullptr;
  int (*memory)(void*, Memory*) = nullptr;
  int (*end)() = nullptr;
  int (*division)(void*, unsigned* current, unsigned* pending) = nullptr;  // null in old versions

  explicit Nvml(void* library)
      : init(find<decltype(init)>(library, "nvmlInit_v2")),
        count(find<decltype(count)>(library, "nvmlDeviceGetCount_v2")),
        handle(find<decltype(handle)>(library, "nvmlDeviceGetHandleByIndex_v2")),
        name(find<decltype(name)>(library, "nvmlDeviceGetName")),
        uuid(find<decltype(uuid)>(library, "nvmlDeviceGetUUID")),
        memory(find<decltype(memory)>(library, "nvmlDeviceGetMemoryInfo")),
        end(find<decltype(end)>(library, "nvmlShutdown")),
        division(find<decltype(division)>(library, "nvmlDeviceGetMigMode")) {}
  bool is_complete() const {
    return init != nullptr && count != nullptr && handle != nullptr && name != nullptr && uuid != nullptr &&
           memory != nullptr && end != nullptr;
  }
};

std::optional<MachineGpu> read_gpu(const Nvml& nvml, unsigned index) {
  void* handle = nullptr;
  std::array<char, 128> name{}, uuid{};
  Memory memory;
  if (nvml.handle(index, &handle) != 0 || nvml.name(handle, name.data(), name.size()) != 0 ||
      nvml.uuid(handle, uuid.data(), uuid.size()) != 0 || nvml.memory(handle, &memory) != 0) {
    return std::nullopt;
  }
  unsigned current = 0, pending = 0;
  const bool is_divided = nvml.division != nullptr && nvml.division(handle, &current, &pending) == 0 && current != 0;
  return MachineGpu{name.data(), uuid.data(), memory.total, memory.free, is_divided};
}

// All or none: with a part of them, the program's GPU could be another.
std::vector<MachineGpu> read_gpus(const Nvml& nvml) {
  unsigned count = 0;
  if (nvml.count(&count) != 0) return {};
  std::vector<MachineGpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    auto gpu = read_gpu(nvml, index);
    if (!gpu) return {};
    gpus.push_back(std::move(*gpu));
  }
  return gpus;
}

bool are_alike(const std::vector<MachineGpu>& gpus) {
  return std::ranges::all_of(
      gpus, [&](const MachineGpu& gpu) { return gpu.name == gpus.front().name && gpu.bytes == gpus.front().bytes; });
}

const simulated::Card* card_of(std::string_view name) {
  const auto cards = simulated::cards();
  const auto found = std::ranges::find(cards, name, &simulated::Card::name);
  return found != cards.end() ? &*found : nullptr;
}

}  // namespace

std::vector<MachineGpu> machine_gpus(const char* library) {
  void* loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL);  // never closed: drivers do not expect it
  if (loaded == nullptr) return {};
  const Nvml nvml(loaded);
  if (!nvml.is_complete() || nvml.init() != 0) return {};
  std::vector<MachineGpu> gpus = read_gpus(nvml);
  nvml.end();
  return gpus;
}

std::optional<std::vector<MachineGpu>> visible_gpus(const std::vector<MachineGpu>& all, const char* visible,
                                                    const char* order) {
  if (std::ranges::any_of(all, &MachineGpu::is_divided)) return std::nullopt;
  if (visible == nullptr) return all;
  const bool are_in_order = are_alike(all) || (order != nullptr && std::string_view(order) == "PCI_BUS_ID");
  std::vector<MachineGpu> gpus;
  std::string_view rest = visible;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.starts_with("GPU-")) {
      const auto is_named = [&](const MachineGpu& gpu) { return std::string_view(gpu.uuid).starts_with(word); };
      if (std::ranges::count_if(all, is_named) != 1) return std::nullopt;
      gpus.push_back(*std::ranges::find_if(all, is_named));
      continue;
    }
    int index = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), index);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size()) return std::nullopt;
    // CUDA shows the GPUs before the first invalid number.
    if (index < 0 || static_cast<size_t>(index) >= all.size()) break;
    if (!are_in_order) return std::nullopt;
    gpus.push_back(all[static_cast<size_t>(index)]);
  }
  return gpus;
}

const std::vector<MachineGpu>& gpus_of_programs() {
  static const std::vector<MachineGpu> gpus =
      visible_gpus(machine_gpus(), std::getenv("CUDA_VISIBLE_DEVICES"), std::getenv("CUDA_DEVICE_ORDER"))
          .value_or(std::vector<MachineGpu>());
  return gpus;
}

std::optional<simulated::GpuSettings> simulated_like(const std::vector<MachineGpu>& gpus) {
  if (gpus.empty() || gpus.size() > simulated::kMostCards || !are_alike(gpus)) return std::nullopt;
  const simulated::Card* card = card_of(gpus.front().name);
  if (card == nullptr) return std::nullopt;
  return settings_of(*card, card->bytes(), static_cast<uint32_t>(gpus.size()));
}

uint64_t usable_bytes(uint64_t free, const std::string& name) {
  const simulated::Card* card = card_of(name);
  const auto outside = static_cast<uint64_t>(
      (card != nullptr ? peak::usual_context(card->processors) : peak::kUsualExternalMemory).value);
  return free > outside ? free - outside : 0;
}

}  // namespace tapelens::cli
