// Spools whose blocks have right checksums and arbitrary records: the sealed result opens, and has every table.
//
// A seed is a spool without its empty space (tests/fuzz/seeds.py): for each block u8 lane, u8 flags (1: finished), u16
// words of payload, then the payload.
#include "trace/spool.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "analyzer/model/load.h"
#include "tests/fuzz/files.h"
#include "trace/checksum.h"
#include "trace/record.h"
#include "trace/seal.h"

namespace {

using namespace tapelens;

constexpr size_t kMostBlocks = 8;

std::string spool_of(std::string_view seed) {
  std::string file(trace::kSpoolHeaderBytes, '\0');
  size_t numbers[256] = {};
  uint64_t blocks = 0;
  bool finished = true;
  while (seed.size() >= 4 && blocks < kMostBlocks) {
    const auto lane = static_cast<uint8_t>(seed[0]);
    const bool whole = (seed[1] & 1) != 0;
    uint16_t words = 0;
    std::memcpy(&words, seed.data() + 2, sizeof(words));
    seed.remove_prefix(4);
    const size_t bytes = std::min({size_t{words} * 8, trace::kBlockPayloadBytes, seed.size() / 8 * 8});
    trace::BlockHeader header{};
    header.magic = trace::kBlockMagic;
    header.lane = lane;
    header.os_thread = 1000U + lane;
    header.number = static_cast<uint32_t>(numbers[lane]++);
    header.anchor_ticks = header.anchor_ns = 1;
    header.committed.store(static_cast<uint32_t>(bytes));
    header.finished.store(whole ? 1 : 0);
    header.checksum = trace::checksum_of(seed.data(), bytes);
    finished = finished && whole;
    std::string block(reinterpret_cast<const char*>(&header), sizeof(header));
    block += seed.substr(0, bytes);
    block.resize(trace::kBlockBytes);
    file += block;
    seed.remove_prefix(bytes);
    ++blocks;
  }
  auto* header = reinterpret_cast<trace::SpoolHeader*>(file.data());
  header->magic = trace::kSpoolMagic;
  header->major = trace::kSpoolMajor;
  header->minor = trace::kSpoolMinor;
  header->block_bytes = trace::kBlockBytes;
  header->pid = 7;
  header->start_ticks = header->start_ns = 1;
  header->claimed_blocks.store(blocks);
  header->state.store(static_cast<uint32_t>(finished ? trace::SpoolState::finished : trace::SpoolState::recording));
  header->end_ticks = header->end_ns = finished ? uint64_t{1} << 40 : 0;
  return file;
}

void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  folder.put("1.spool", spool_of({reinterpret_cast<const char*>(data), size}));
  trace::SealOptions options;
  options.directory = folder.path();
  options.output = folder.path() + "/run.tapelens";
  const auto sealed = trace::seal(options);
  if (!sealed || sealed->processes.empty()) return 0;
  const auto recording = trace::Recording::open(options.output);
  if (!recording) fail(recording.error().message);
  const model::Text text = model::load_text(*recording);
  const model::Process process = load_process(*recording, text, {});
  // A spool may have sizes and extents that sum to more than 2^63 bytes. All other faults are bugs of the sealer.
  for (const auto* left_out : {&text.left_out, &process.left_out})
    for (const model::LeftOut& table : *left_out)
      if (table.why.find("2^6") == std::string::npos && table.why.find("left out") == std::string::npos)
        fail(table.name + ": " + table.why);
  return 0;
}
