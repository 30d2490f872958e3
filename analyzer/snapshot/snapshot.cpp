#include "analyzer/snapshot/snapshot.h"

#include <algorithm>

#include "analyzer/pickle/memo.h"
#include "analyzer/pickle/window.h"
#include "analyzer/snapshot/maker.h"
#include "trace/regular_file.h"

namespace tapelens::snapshot {

trace::Result<Snapshot> read_snapshot(const std::string& path, trace::SharedTables& shared,
                                      const std::function<void(double)>& progress) {
  const auto file = trace::RegularFile::open(path);
  if (!file) return trace::Error{path + ": cannot be read: " + file.error().message};
  // Two passes over the opcodes: the first finds the objects that later opcodes refer to.
  constexpr double kFirst = 0.25;
  const auto told = [&](double from, double part) -> std::function<void(uint64_t)> {
    if (!progress) return {};
    const auto whole = static_cast<double>(std::max<uint64_t>(1, file->bytes()));
    return
        [&progress, whole, from, part](uint64_t bytes) { progress(from + part * static_cast<double>(bytes) / whole); };
  };
  try {
    pickle::Window first(*file);
    const pickle::MemoUse memo = pickle::MemoUse::of(first, told(0, kFirst));
    pickle::Window second(*file);
    Snapshot snapshot;
    SnapshotMaker maker(snapshot, shared);
    if (!SnapshotMaker::is_snapshot(pickle::read(second, memo, maker, told(kFirst, 1 - kFirst)))) {
      throw pickle::Malformed{0, "a pickle of something else: a snapshot has 'segments' and 'device_traces'"};
    }
    return snapshot;
  } catch (const pickle::Malformed& malformed) {
    return trace::Error{path + ": offset " + std::to_string(malformed.offset) + ": " + malformed.what +
                        ": give the path of a file that torch.cuda.memory._dump_snapshot wrote"};
  }
}

}  // namespace tapelens::snapshot
