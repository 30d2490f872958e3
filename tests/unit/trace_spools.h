// Shared by the tests of spools: a reader, events to fill a spool, and a child process for tests that change process
// state.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

#include "testing/trace_builder.h"
#include "trace/spool_reader.h"

namespace tapelens::trace {

inline SpoolReader read_spool(const std::string& path) {
  auto reader = SpoolReader::open(path);
  if (!reader) throw std::runtime_error(reader.error().message);
  return std::move(*reader);
}

inline uint64_t lost(const SpoolReader& spool, Loss kind) { return spool.facts().lost[static_cast<size_t>(kind)]; }

// Runs a part of a test in a child process, because that part changes process state. The test fails unless the child
// exits with 0.
template <class Body>
void in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      code = body() ? 0 : 2;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
    _exit(code);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

inline EventRecord event_at(uint64_t ticks) {
  return {SpoolBuilder::header<EventRecord>(RecordKind::operator_end, 0, 0), ticks};
}

inline uint64_t write_events(Lane& lane, uint64_t count) {
  uint64_t written = 0;
  for (uint64_t i = 0; i < count; ++i) written += lane.write(event_at(ticks_now()));
  return written;
}
inline constexpr uint64_t kEventsOfAChunk = 128 * (kBlockPayloadBytes / sizeof(EventRecord));

}  // namespace tapelens::trace
