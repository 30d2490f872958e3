// A program that records itself: writes a spool of one operator with one allocation to TAPELENS_SPOOL, as a probe
// would. `--linger FILE` leaves a child that writes on until FILE exists; `--die` kills itself before it is finished.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "trace/spool_writer.h"

namespace {

using namespace tapelens::trace;

void write_string(Lane& lane, uint32_t id, std::string_view text) {
  const size_t bytes = sizeof(StringRecord) + (text.size() + 7) / 8 * 8;
  StringRecord record{{RecordKind::string, 0, static_cast<uint16_t>(bytes / 8), id}, uint32_t(text.size()), 0};
  void* place = lane.reserve(bytes);
  if (place == nullptr) _exit(99);
  std::memset(place, 0, bytes);
  std::memcpy(place, &record, sizeof(record));
  std::memcpy(static_cast<char*>(place) + sizeof(record), text.data(), text.size());
  lane.commit(bytes);
}

template <class Record>
void write(Lane& lane, RecordKind kind, uint8_t flags, uint32_t id, Record record) {
  record.header = {kind, flags, sizeof(Record) / 8, id};
  if (!lane.write(record)) _exit(99);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  const char* folder = std::getenv("TAPELENS_SPOOL");
  if (folder == nullptr) return 98;
  if (how == "--linger" && fork() != 0) {
    // The command ends as soon as its child records.
    const std::string begun = std::string(argv[2]) + ".begun";
    while (access(begun.c_str(), F_OK) != 0) usleep(1000);
    return 0;
  }
  // The child does not keep the test's pipes open.
  if (how == "--linger") {
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(file);
  }
  SpoolWriter writer;
  SpoolLimits limits;
  limits.epoch_ns = std::strtoull(std::getenv("TAPELENS_EPOCH_NS"), nullptr, 10);
  limits.max_bytes = std::strtoull(std::getenv("TAPELENS_MAX_BYTES"), nullptr, 10);
  const std::string path = std::string(folder) + "/" + std::to_string(getpid()) + ".spool";
  if (writer.open(path.c_str(), limits) != 0) return 97;
  Lane lane;
  writer.attach(lane, static_cast<uint32_t>(getpid()));
  write_string(lane, 1, "cpu");
  write_string(lane, 2, "aten::ones");
  if (const char* rank = std::getenv("RANK")) {
    write_string(lane, 3, "rank");
    write_string(lane, 4, rank);
    write(lane, RecordKind::information, 0, 3, InformationRecord{{}, 4, 0});
  }
  write(lane, RecordKind::device, 0, 1, DeviceRecord{{}, 1, 0});
  write(lane, RecordKind::operator_begin, 0, 2, OperatorRecord{{}, ticks_now(), UINT64_MAX, 0, 0});
  write(lane, RecordKind::allocation, 1, 0, AllocationRecord{{}, ticks_now(), 0x1000, 3 << 20});
  write(lane, RecordKind::operator_end, 0, 0, EventRecord{{}, ticks_now()});
  if (how == "--die") raise(SIGKILL);
  if (how == "--linger") {
    const std::string begun = std::string(argv[2]) + ".begun";
    std::fclose(std::fopen(begun.c_str(), "w"));
    // Waits until the test creates the file or removes its folder.
    while (access(argv[2], F_OK) != 0 && access(begun.c_str(), F_OK) == 0) usleep(1000);
  }
  lane.finish();
  writer.finish();
  return 0;
}
