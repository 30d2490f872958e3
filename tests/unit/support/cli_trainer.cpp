// A program without training: writes the spool of two steps like a probe, with the rewrites of three sites that its
// settings request, and checksums. Options: `--wrong N` (site N changes a gradient where it is rewritten), `--crash N`
// (it fails there), `--random` (every run has another loss), `--exit CODE`, `--lossy` (reports lost data),
// `--no-steps`, `--no-losses`, `--plain` (no rewrites), `--record-only` (rewriting is impossible), `--no-room` (no
// spool can be written), `--print TEXT`. Writes "out" and "err".
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "policy/tally_file.h"
#include "trace/spool_writer.h"
#include "trace/variables.h"

namespace {

using namespace tapelens::trace;

std::string setting(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

struct Site {
  const char* rewrite;
  uint8_t level;
  const char* node;
  uint32_t line;
};
constexpr Site kSites[] = {{"unneeded-save", 0, "ConvolutionBackward0", 1},
                           {"wide-save", 1, "ReluBackward0", 2},
                           {"wide-save", 1, "ReluBackward0", 3}};

bool g_can_rewrite = true;

bool is_rewritten(const Site& site) {
  if (!g_can_rewrite || setting("TAPELENS_REWRITE").empty()) return false;
  const std::string apply = setting("TAPELENS_APPLY");
  if (site.level <= (apply == "bitwise" ? 2 : apply == "lossless" ? 1 : -1)) return true;
  if (("," + setting("TAPELENS_ALLOW") + ",").find("," + std::string(site.rewrite) + ",") != std::string::npos)
    return true;
  std::ifstream plan(setting("TAPELENS_PLAN"));
  for (std::string line; std::getline(plan, line);) {
    if (line.starts_with(std::string(site.rewrite) + "\t") && line.ends_with("\ttrain.py:" + std::to_string(site.line)))
      return true;
  }
  return false;
}

class Spool {
 public:
  Spool() {
    SpoolLimits limits;
    const std::string path = setting("TAPELENS_SPOOL") + "/" + std::to_string(getpid()) + ".spool";
    if (writer_.open(path.c_str(), limits) != 0) _exit(97);
    writer_.attach(lane_, static_cast<uint32_t>(getpid()));
    put(RecordKind::device, 0, 1, DeviceRecord{{}, string("cpu"), 0});
  }
  uint32_t string(std::string_view text) {
    uint32_t& id = strings_[std::string(text)];
    if (id == 0) {
      id = static_cast<uint32_t>(strings_.size());
      put(RecordKind::string, 0, id, StringRecord{{}, static_cast<uint32_t>(text.size()), 0}, text.data(), text.size());
    }
    return id;
  }
  uint32_t stack(uint32_t line) {
    put(RecordKind::frame, 0, line, FrameRecord{{}, string("train.py"), string("main"), line, 0});
    put(RecordKind::stack, 0, line, StackRecord{{}, 1, 0}, &line, sizeof(line));
    return line;
  }
  template <class Record>
  void put(RecordKind kind, uint8_t flags, uint32_t id, Record record, const void* tail = nullptr, size_t bytes = 0) {
    const size_t size = (sizeof(Record) + bytes + 7) / 8 * 8;
    record.header = {kind, flags, static_cast<uint16_t>(size / 8), id};
    auto* place = static_cast<char*>(lane_.reserve(size));
    if (place == nullptr) _exit(99);
    std::memset(place, 0, size);
    std::memcpy(place, &record, sizeof(record));
    if (bytes != 0) std::memcpy(place + sizeof(record), tail, bytes);
    lane_.commit(size);
  }
  void event(RecordKind kind, uint32_t id = 0) { put(kind, 0, id, NamedEventRecord{{}, ticks_now()}); }
  void checksum(ChecksumOf of, std::string_view name, uint64_t step, uint64_t value) {
    if (setting("TAPELENS_CHECKSUMS").empty()) return;
    const uint32_t id = name.empty() ? 0 : string(name);
    put(RecordKind::checksum, static_cast<uint8_t>(of), id, ChecksumRecord{{}, ticks_now(), step, value, 0});
  }
  void lose() { writer_.count(Loss::size_limit, 5); }
  void finish() {
    lane_.finish();
    writer_.finish();
  }

 private:
  SpoolWriter writer_;
  Lane lane_;
  std::map<std::string, uint32_t> strings_;
};

uint64_t number(int argc, char** argv, std::string_view option, uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == option) return std::strtoull(argv[i + 1], nullptr, 10);
  return otherwise;
}
std::string text(int argc, char** argv, std::string_view option, const char* otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == option) return argv[i + 1];
  return otherwise;
}
bool given(int argc, char** argv, std::string_view option) {
  for (int i = 1; i < argc; ++i)
    if (argv[i] == option) return true;
  return false;
}

// Writes into the file that the command line made, as the preload library does.
void explain(const char* folder, const std::string& why, bool is_said) {
  std::fstream file(setting(folder) + "/" TAPELENS_EXPLANATION, std::ios::in | std::ios::out | std::ios::binary);
  if (!file) _exit(96);
  file << (is_said ? '1' : '0') << why;
  if (is_said) std::fprintf(stderr, "tapelens: %s\n", why.c_str());
}

void write_tally(uint64_t applied) {
  using namespace tapelens::policy;
  const auto file = std::make_unique<TallyFile>();
  file->magic = kTallyMagic;
  const auto row = [&](const char* rewrite, const char* reason, uint32_t level, uint64_t sites, uint64_t bytes,
                       uint64_t kept) {
    TallyRow& made = file->row[file->rows++];
    std::strcpy(made.rewrite, rewrite);
    std::strcpy(made.reason, reason);
    made.level = level;
    made.sites = sites;
    made.times = 2 * sites;
    made.bytes = bytes;
    made.kept = kept;
  };
  if (applied > 0) row("wide-save", "", 1, applied, 2097152, 65536);
  row("late-gradient", "the gradients are clipped", 0, 1, 4096, 0);
  std::ofstream(setting("TAPELENS_TALLY") + "/" + std::to_string(getpid()), std::ios::binary)
      .write(reinterpret_cast<const char*>(file.get()), sizeof(*file));
}

}  // namespace

int main(int argc, char** argv) {
  std::puts("out");
  std::fputs("err\n", stderr);
  const uint64_t wrong = number(argc, argv, "--wrong", 0), crash = number(argc, argv, "--crash", 0);
  bool is_wrong = false;
  uint64_t applied = 0;
  if (const std::string words = text(argc, argv, "--print", ""); !words.empty()) std::puts(words.c_str());
  const bool is_record_only = given(argc, argv, "--record-only");
  g_can_rewrite = !is_record_only && !given(argc, argv, "--plain");
  if (is_record_only && !setting("TAPELENS_TALLY").empty()) {
    explain("TAPELENS_TALLY", "this probe only records", setting("TAPELENS_QUIET").empty());
  }
  if (given(argc, argv, "--no-room") && !setting("TAPELENS_SPOOL").empty()) {
    explain("TAPELENS_SPOOL", "a.spool: cannot be written: No space left on device; the program runs unrecorded",
            setting("TAPELENS_QUIET").empty());
    return 0;
  }
  for (const Site& site : kSites) {
    if (!is_rewritten(site)) continue;
    ++applied;
    if (site.line == crash) {
      std::fputs("the site does not work\n", stderr);
      return 70;
    }
    is_wrong |= site.line == wrong;
  }
  if (!setting("TAPELENS_TALLY").empty() && !is_record_only) write_tally(applied);
  if (setting("TAPELENS_SPOOL").empty()) return 0;
  Spool spool;
  uint32_t stacks[4] = {};
  for (const Site& site : kSites) stacks[site.line] = spool.stack(site.line);
  for (uint64_t step = 0; step < 2; ++step) {
    for (const Site& site : kSites) {
      const uint64_t address = 0x1000 * (step * 8 + site.line);
      spool.put(RecordKind::operator_begin, 0, spool.string("aten::op"),
                OperatorRecord{{}, ticks_now(), UINT64_MAX, stacks[site.line], 0});
      spool.put(RecordKind::allocation, 1, 0, AllocationRecord{{}, ticks_now(), address, 1 << 20});
      spool.put(RecordKind::node, 0, spool.string(site.node),
                NodeRecord{{}, ticks_now(), address + 1, address, 0, 0, 0});
      const uint32_t field = spool.string("self");
      spool.put(RecordKind::save, 0, field, SaveRecord{{}, ticks_now(), address + 1, address, 1 << 20, 0, 0, 0});
      if (is_rewritten(site)) {
        spool.put(RecordKind::rewrite, site.level, spool.string(site.rewrite),
                  RewriteRecord{{}, ticks_now(), address + 1, field, 0, 0, 0, 1 << 20, 1024});
        spool.put(RecordKind::free, 1, 0, FreeRecord{{}, ticks_now(), address});
      }
      spool.event(RecordKind::operator_end);
    }
    if (!given(argc, argv, "--no-losses"))
      spool.checksum(ChecksumOf::loss, "", step,
                     std::bit_cast<uint64_t>(given(argc, argv, "--random") ? static_cast<double>(ticks_now()) : 0.5));
    const std::string kinds = text(argc, argv, "--checksums", "all");
    if (kinds == "all") spool.checksum(ChecksumOf::gradient, "weight", step, is_wrong && step == 1 ? 12 : 11);
    if (kinds == "returned") {
      spool.checksum(ChecksumOf::returned_gradient, "weight", step, is_wrong && step == 1 ? 42 : 41);
      spool.checksum(ChecksumOf::returned_gradient, "input 1", step, 0);
    }
    if (kinds == "left-out") {
      spool.checksum(ChecksumOf::gradient_left_out, "", step, 0);
      spool.checksum(ChecksumOf::parameter_left_out, "", step, 0);
    }
    if (given(argc, argv, "--two")) {  // two models of the same kind, in either order
      const bool is_first = setting("TAPELENS_REWRITE").empty();
      const uint64_t other = is_wrong && step == 1 ? 32 : 31;
      spool.checksum(ChecksumOf::gradient, is_first ? "bias" : "bias#2", step, 30);
      spool.checksum(ChecksumOf::gradient, is_first ? "bias#2" : "bias", step, other);
    }
    if (!given(argc, argv, "--no-steps")) spool.event(RecordKind::optimizer_begin, spool.string("SGD"));
    if (kinds == "all") spool.checksum(ChecksumOf::parameter, "weight", step, 21);
    if (!given(argc, argv, "--no-steps")) spool.event(RecordKind::optimizer_end);
  }
  if (given(argc, argv, "--lossy")) spool.lose();
  spool.finish();
  return static_cast<int>(number(argc, argv, "--exit", 0));
}
