#include "simulated/settings/settings.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tapelens::simulated {
namespace {

// The only list of the fields in the text, in order: numbers separated by semicolons, then the name.
constexpr uint64_t GpuSettings::*kNumbers[] = {
    &GpuSettings::count,
    &GpuSettings::world,
    &GpuSettings::bytes,
    &GpuSettings::major,
    &GpuSettings::minor,
    &GpuSettings::processors,
    &GpuSettings::l2_bytes,
    &GpuSettings::bus_bits,
    &GpuSettings::shared_per_block,
    &GpuSettings::shared_per_processor,
    &GpuSettings::threads_per_processor,
    &GpuSettings::blocks_per_processor,
    &GpuSettings::cuda,
    &GpuSettings::cudnn,
    &GpuSettings::nccl,
    &GpuSettings::cudnn_workspace,
};

}  // namespace

int write(const GpuSettings& settings, char* text, size_t room) {
  size_t length = 0;
  const auto left = [&] { return length < room ? room - length : 0; };
  const auto end = [&] { return left() > 0 ? text + length : nullptr; };
  for (const auto number : kNumbers) {
    length +=
        static_cast<size_t>(std::snprintf(end(), left(), "%llu;", static_cast<unsigned long long>(settings.*number)));
  }
  length += static_cast<size_t>(
      std::snprintf(end(), left(), "%.*s", static_cast<int>(sizeof(settings.name)) - 1, settings.name));
  return static_cast<int>(length);
}

bool read(const char* text, GpuSettings& settings) {
  GpuSettings read;
  for (const auto number : kNumbers) {
    if (*text < '0' || *text > '9') return false;
    char* end = nullptr;
    errno = 0;
    read.*number = std::strtoull(text, &end, 10);
    if (errno != 0 || *end != ';') return false;
    text = end + 1;
  }
  const size_t length = std::strlen(text);
  if (length >= sizeof(read.name) || read.count == 0 || read.bytes == 0) return false;
  std::memcpy(read.name, text, length);
  settings = read;
  return true;
}

}  // namespace tapelens::simulated
