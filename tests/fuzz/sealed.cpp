// Sealed files with right checksums and wrong columns: each file that opens is analysed, checked and rendered in every
// format. The mutator changes values of columns, so that most inputs get past the directory.
#include <algorithm>
#include <random>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/fixes.h"
#include "analyzer/report/formats.h"
#include "analyzer/report/json.h"
#include "analyzer/report/report.h"
#include "analyzer/tables/opened.h"
#include "analyzer/tables/table.h"
#include "plugins/builtin.h"
#include "testing/sealed_parts.h"
#include "tests/fuzz/files.h"
#include "trace/recording.h"

namespace {

using namespace tapelens;
using testing::SealedParts;

std::string_view as_text(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// A different id, time or count: mostly a close value, or the value of another row.
uint64_t mutated(uint64_t value, const std::vector<uint64_t>& all, std::mt19937& random) {
  switch (random() % 8) {
    case 0:
      return value + 1;
    case 1:
      return value - 1;
    case 2:
      return 0;
    case 3:
      return all.size() + random() % 3;
    case 4:
      return ~uint64_t{0} >> random() % 64;
    case 5:
      return random() % 16;
    default:
      return all[random() % all.size()];
  }
}

template <class T>
void mutate_values(SealedParts::Chunk& chunk, std::mt19937& random) {
  const trace::ChunkEntry& entry = chunk.entry;
  std::vector<T> values(entry.rows);
  trace::ColumnDecoder decoder;
  if (!decoder.decode(entry, reinterpret_cast<const std::byte*>(chunk.stored.data()), values.data())) return;
  const std::vector<uint64_t> all(values.begin(), values.end());
  for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
    T& value = values[random() % values.size()];
    value = static_cast<T>(mutated(value, all, random));
  }
  if (random() % 8 == 0) std::swap(values[random() % values.size()], values[random() % values.size()]);
  trace::ColumnKey key;
  key.width = sizeof(T);
  key.transform = trace::Transform{entry.transform};
  trace::ColumnEncoder encoder;
  const auto stored = encoder.encode(key, values.data(), values.size(), chunk.entry);
  chunk.stored.assign(reinterpret_cast<const char*>(stored.data()), stored.size());
}

void mutate(SealedParts::Chunk& chunk, std::mt19937& random) {
  chunk.entry.stored_bytes = static_cast<uint32_t>(chunk.stored.size());
  if (!trace::is_plausible(chunk.entry, reinterpret_cast<const std::byte*>(chunk.stored.data()))) return;
  switch (chunk.entry.width) {
    case 1:
      return mutate_values<uint8_t>(chunk, random);
    case 2:
      return mutate_values<uint16_t>(chunk, random);
    case 4:
      return mutate_values<uint32_t>(chunk, random);
    default:
      return mutate_values<uint64_t>(chunk, random);
  }
}

// Every column of every table that Python and exports read.
void read_tables(const std::string& path) {
  const auto opened = tables::Opened::open(path, plugins::builtin_checks);
  if (!opened) return;
  for (const tables::Table& table : tables::all_tables()) {
    if (table.name == "findings") continue;  // the report has them
    for (uint32_t process = 0; process < (table.is_shared ? 1 : (*opened)->run().processes()); ++process) {
      const auto part = (*opened)->part(table, process);
      const tables::Rows rows{0, table.rows(*part)};
      for (const tables::TableColumn& column : table.columns) fuzz::must(column.make(part, rows).rows == rows.last);
    }
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  auto parts = SealedParts::of(as_text(data, size));
  if (!parts || parts->chunks.empty() || random() % 16 == 0) return LLVMFuzzerMutate(data, size, most);
  const size_t chosen = random() % parts->chunks.size();
  switch (random() % 12) {
    case 0:
      parts->chunks.erase(parts->chunks.begin() + static_cast<std::ptrdiff_t>(chosen));
      break;
    case 1:
      parts->chunks[chosen].entry.table = static_cast<uint8_t>(random() % 45);
      break;
    case 2:
      parts->chunks[chosen].entry.base += random() % 5 - 2;
      break;
    case 3:
      if (!parts->chunks[chosen].stored.empty())
        parts->chunks[chosen].stored[random() % parts->chunks[chosen].stored.size()] ^=
            static_cast<char>(1 + random() % 255);
      break;
    default:
      for (size_t columns = 1 + random() % 3; columns > 0; --columns)
        mutate(parts->chunks[random() % parts->chunks.size()], random);
  }
  const std::string file = parts->bytes();
  if (file.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(file.begin(), file.end(), data);
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parts = SealedParts::of(as_text(data, size));
  const fuzz::MemoryFile file(parts ? parts->bytes() : std::string(as_text(data, size)));
  const auto recording = run::Run::open(file.path());
  if (!recording) return 0;
  static advise::Checks checks = plugins::builtin_checks();
  advise::AdviceOptions wanted;
  const report::Advising advising{checks, wanted, {}};
  report::Options options;
  options.by = static_cast<peak::By>(size % 7);
  const auto built = report::build(*recording, options, &advising);
  if (!built) return 0;
  text::Style style;
  style.color = size % 2 == 0;
  size_t shown = report::text(*built, style).size() + advice_text(*built, style).size();
  shown += json(*built).size() + advice_json(*built).size() + report::plan(*built).size();
  shown += markdown(*built, 10).size() + advice_markdown(*built, 10).size();
  shown += sarif(*built, {}, {}, "1").size();
  fuzz::must(shown > 0);
  read_tables(file.path());
  return 0;
}
