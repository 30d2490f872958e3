#include "simulated/settings/settings.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tapelens::simulated {
namespace {

// The only list of the fields in the text, in order: numbers separated by semicolons, then the name.
constexpr uint64_t Settings::*kNumbers[] = {
    &Settings::count,
    &Settings::world,
    &Settings::bytes,
    &Settings::major,
    &Settings::minor,
    &Settings::processors,
    &Settings::l2_bytes,
    &Settings::bus_bits,
    &Settings::shared_per_block,
    &Settings::shared_per_processor,
    &Settings::threads_per_processor,
    &Settings::blocks_per_processor,
    &Settings::cuda,
    &Settings::cudnn,
    &Settings::nccl,
    &Settings::cudnn_workspace,
};

}  // namespace

int write(const Settings& settings, char* text, size_t room) {
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

bool read(const char* text, Settings& settings) {
  Settings read;
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
