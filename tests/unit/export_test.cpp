// Exports small recordings, reads them back, and compares the sums with the report.
#include "analyzer/export/export.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analyzer/export/database.h"
#include "analyzer/export/packets.h"
#include "analyzer/export/pickle.h"
#include "analyzer/report/report.h"
#include "analyzer/text/escape.h"
#include "plugins/builtin.h"
#include "testing/sealed_parts.h"
#include "tests/unit/support/pickle_reader.h"
#include "tests/unit/support/scenes.h"

namespace tapelens::exporting {
namespace {

using nlohmann::json;
using testing::Scene;
using trace::SpoolBuilder;
using trace::TestFolder;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<std::unique_ptr<const Scene>>& all_scenes() {
  static const auto kScenes = testing::scenes();
  return kScenes;
}

run::Run opened(const std::string& path) {
  auto recording = run::Run::open(path);
  if (!recording) throw std::runtime_error(recording.error().message);
  return std::move(*recording);
}

// The exported content. The test fails if the export fails.
std::string exported(const run::Run& recording, std::string_view to, const ExportSelection& wanted = {}) {
  const TestFolder folder;
  const std::string path = folder / "out";
  const auto written = export_recording(recording, wanted, *format_of(to), {path});
  EXPECT_TRUE(written) << (written ? "" : written.error().message);
  return content(path);
}

report::Report reported(const run::Run& recording) {
  auto built = report::build(recording, {});
  if (!built) throw std::runtime_error(built.error().message);
  return std::move(*built);
}

// A module, a file, a function and a parameter with malicious names.
run::Run hostile(SpoolBuilder& b) {
  const std::string evil = "\x1b[2J\n\xff\xc3</script>\"'; DROP TABLE saves; --\xe2\x80\xae";
  b.enter(evil, evil).op(evil, {}, b.stack({b.frame(evil, 7, evil)})).alloc(0x10, 4096);
  b.node(evil, 0xa).save(0xa, evil, 0x10, 4096, b.layout(evil, 4, {1024}, {1})).end_op().leave();
  b.role(trace::Role::parameter, evil, 0x20, 64).range(evil).end_range();
  return b.seal();
}

bool is_printable_utf8(std::string_view text) { return text::printable(text) == text; }

// ---- perfetto

struct Trace {
  std::vector<perfetto::TracePacket> packets;
  std::map<uint64_t, perfetto::TrackDescriptor> tracks;
  std::map<uint64_t, std::string> names, texts, notes;

  explicit Trace(std::string_view bytes) {
    while (!bytes.empty()) {
      EXPECT_EQ(bytes[0], '\x0a');
      size_t at = 1, size = 0;
      for (int shift = 0;; shift += 7) {
        size |= static_cast<size_t>(bytes.at(at) & 0x7f) << shift;
        if ((bytes[at++] & 0x80) == 0) break;
      }
      perfetto::TracePacket packet;
      EXPECT_TRUE(packet.ParseFromArray(bytes.data() + at, static_cast<int>(size)));
      bytes.remove_prefix(at + size);
      if (packet.has_track_descriptor()) tracks[packet.track_descriptor().uuid()] = packet.track_descriptor();
      for (const auto& one : packet.interned_data().event_names()) names[one.iid()] = one.name();
      for (const auto& one : packet.interned_data().debug_annotation_names()) notes[one.iid()] = one.name();
      for (const auto& one : packet.interned_data().debug_annotation_string_values()) texts[one.iid()] = one.str();
      packets.push_back(std::move(packet));
    }
  }

  // Ordered by time on each track, as the reader sorts them.
  std::map<uint64_t, std::vector<const perfetto::TracePacket*>> by_track() const {
    std::map<uint64_t, std::vector<const perfetto::TracePacket*>> all;
    for (const auto& packet : packets) {
      if (packet.has_track_event()) all[packet.track_event().track_uuid()].push_back(&packet);
    }
    for (auto& [track, events] : all) {
      std::ranges::stable_sort(events, {}, [](const auto* packet) { return packet->timestamp(); });
    }
    return all;
  }
  int64_t highest(const std::string& track) const {
    int64_t most = INT64_MIN;
    for (const auto& packet : packets) {
      if (!packet.has_track_event()) continue;
      const auto& event = packet.track_event();
      if (event.type() == perfetto::TrackEvent::TYPE_COUNTER && tracks.at(event.track_uuid()).name() == track) {
        most = std::max(most, event.counter_value());
      }
    }
    return most;
  }
};

TEST(ExportPerfetto, SlicesAreClosedInTheirOrderAndNamesAreThereBeforeThem) {
  for (const auto& scene : all_scenes()) {
    const Trace trace(exported(opened(scene->path()), "perfetto"));
    for (const auto& [track, events] : trace.by_track()) {
      ASSERT_TRUE(trace.tracks.contains(track)) << scene->name();
      int depth = 0;
      for (const auto* packet : events) {
        using Event = perfetto::TrackEvent;
        const Event& event = packet->track_event();
        if (event.type() == Event::TYPE_SLICE_BEGIN) ++depth;
        if (event.type() == Event::TYPE_SLICE_END) --depth;
        ASSERT_GE(depth, 0) << scene->name();
        if (event.type() == Event::TYPE_SLICE_BEGIN || event.type() == Event::TYPE_INSTANT) {
          EXPECT_TRUE(trace.names.contains(event.name_iid())) << scene->name();
        }
        for (const auto& note : event.debug_annotations()) {
          EXPECT_TRUE(trace.notes.contains(note.name_iid()));
          EXPECT_TRUE(!note.has_string_value_iid() || trace.texts.contains(note.string_value_iid()));
        }
      }
      EXPECT_EQ(depth, 0) << scene->name() << ": " << trace.tracks.at(track).name();
    }
  }
}

TEST(ExportPerfetto, CountersReachTheReportsPeaks) {
  for (const auto& scene : all_scenes()) {
    const run::Run recording = opened(scene->path());
    const Trace trace(exported(recording, "perfetto"));
    const report::Report report = reported(recording);
    for (const report::DeviceFacts& device : report.processes[0].devices) {
      EXPECT_EQ(trace.highest(device.device + " live bytes"), device.peak.value) << scene->name();
      if (!device.blocks) continue;
      EXPECT_EQ(trace.highest(device.device + " blocks allocated"), device.blocks->allocated_peak.value);
      EXPECT_EQ(trace.highest(device.device + " reserved"), device.blocks->segments->reserved_peak.value);
    }
  }
}

TEST(ExportPerfetto, EachSaveThatIsReleasedHasAFlow) {
  for (const auto& scene : all_scenes()) {
    const run::Run recording = opened(scene->path());
    const Trace trace(exported(recording, "perfetto"));
    std::map<uint64_t, uint64_t> begins;
    std::set<uint64_t> ends;
    for (const auto& packet : trace.packets) {
      for (const uint64_t flow : packet.track_event().flow_ids()) begins[flow] = packet.timestamp();
    }
    for (const auto& packet : trace.packets) {
      for (const uint64_t flow : packet.track_event().terminating_flow_ids()) {
        EXPECT_TRUE(ends.insert(flow).second);
        ASSERT_TRUE(begins.contains(flow));
        EXPECT_LE(begins[flow], packet.timestamp());
      }
    }
    EXPECT_EQ(begins.size(), ends.size());
    const auto first = recording.process(0);
    const Process& process = first->process();
    size_t released = 0;
    for (const SaveId id : process.saves.ids()) released += process.saves.released[id] != kNever ? 1 : 0;
    EXPECT_EQ(ends.size(), released) << scene->name();
  }
}

// ---- snapshot

json snapshot(const run::Run& recording, const ExportSelection& wanted = {}) {
  return testing::PickleReader(exported(recording, "snapshot", wanted)).read();
}

// The highest sum of active blocks. A block is active until `free_completed`.
int64_t most_active(const json& trace) {
  int64_t now = 0, most = 0;
  std::map<uint64_t, int64_t> alive;
  for (const json& event : trace) {
    if (event["action"] == "alloc") {
      EXPECT_TRUE(alive.emplace(event["addr"].get<uint64_t>(), event["size"].get<int64_t>()).second);
      now += event["size"].get<int64_t>();
    } else if (event["action"] == "free_completed") {
      now -= event["size"].get<int64_t>();
      EXPECT_EQ(alive.erase(event["addr"].get<uint64_t>()), 1u);
    }
    most = std::max(most, now);
  }
  return most;
}

TEST(ExportSnapshot, TracesReachTheReportsPeaksAndSegmentsAreFull) {
  for (const auto& scene : all_scenes()) {
    const run::Run recording = opened(scene->path());
    const json made = snapshot(recording);
    const report::Report report = reported(recording);
    ASSERT_EQ(made["devices"].size(), made["device_traces"].size());
    for (const report::DeviceFacts& device : report.processes[0].devices) {
      const auto at = std::ranges::find(made["devices"], json(device.device)) - made["devices"].begin();
      const json& trace = made["device_traces"][static_cast<size_t>(at)];
      const Bytes most = device.blocks ? device.blocks->active_peak : device.peak;
      EXPECT_EQ(most_active(trace), most.value) << scene->name() << " " << device.device;
      int64_t alive = 0;
      for (const json& segment : made["segments"]) {
        int64_t size = 0;
        uint64_t address = segment["address"].get<uint64_t>();
        for (const json& block : segment["blocks"]) {
          EXPECT_EQ(block["address"], address);
          address += block["size"].get<uint64_t>();
          size += block["size"].get<int64_t>();
          if (segment["device"] == at) alive += block["requested_size"].get<int64_t>();
        }
        EXPECT_EQ(size, segment["total_size"]);
      }
      EXPECT_EQ(alive, device.live_at_end.value) << scene->name() << " " << device.device;
    }
  }
}

TEST(ExportSnapshot, ADeviceHasItsOwnPlaceAndTheOthersComeBehind) {
  SpoolBuilder b;
  b.op("aten::empty").alloc(0x10, 64).block(0x100, 512, 512, "cuda:2").alloc(0x20, 64, "xpu:0").end_op();
  const json made = snapshot(b.seal());
  EXPECT_EQ(made["devices"], json::array({"", "", "cuda:2", "cpu", "xpu:0"}));
  EXPECT_EQ(made["device_traces"][2].size(), 1u);
  EXPECT_EQ(made["device_traces"][3][1]["size"], 64);
}

TEST(ExportSnapshot, OutOfMemorySaysWhatWasFree) {
  const auto& scenes = all_scenes();
  const auto device = std::ranges::find(scenes, "device", [](const auto& scene) { return scene->name(); });
  const json made = snapshot(opened((*device)->path()));
  std::vector<json> failed;
  for (const json& event : made["device_traces"][0]) {
    if (event["action"] == "oom") failed.push_back(event);
  }
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0]["device_free"], 5 * testing::kMiB);
  EXPECT_EQ(failed[0]["size"], 64 * testing::kMiB);
  EXPECT_EQ(failed[0]["frames"][0]["line"], 5);
}

TEST(Pickle, NumbersOfAllSizes) {
  const TestFolder folder;
  const std::string path = folder / "numbers";
  std::vector<json> all = {0,
                           255,
                           256,
                           65535,
                           65536,
                           INT32_MAX,
                           uint64_t{INT32_MAX} + 1,
                           uint64_t{1} << 39,
                           (uint64_t{1} << 40) - 1,
                           uint64_t{INT64_MAX},
                           UINT64_MAX,
                           -1,
                           INT32_MIN,
                           INT64_MIN};
  {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    ByteSink sink(fileno(file));
    Pickle out(sink);
    out.begin_list();
    for (const json& one : all) {
      out.item();
      if (one.is_number_unsigned()) {
        out.number_of(one.get<uint64_t>());
      } else {
        out.number(one.get<int64_t>());
      }
    }
    out.end_list();
    out.finish();
    sink.flush();
    std::fclose(file);
  }
  EXPECT_EQ(testing::PickleReader(content(path)).read(), json(all));
}

// ---- speedscope

TEST(ExportSpeedscope, WeightsAreThePeakAndAllThatWasAllocated) {
  for (const auto& scene : all_scenes()) {
    const run::Run recording = opened(scene->path());
    const json made = json::parse(exported(recording, "speedscope"));
    const report::Report report = reported(recording);
    std::map<std::string, int64_t> total;
    for (const json& profile : made["profiles"]) {
      ASSERT_EQ(profile["samples"].size(), profile["weights"].size());
      for (const json& weight : profile["weights"]) total[profile["name"]] += weight.get<int64_t>();
      EXPECT_EQ(profile["endValue"], total[profile["name"]]);
      for (const json& stack : profile["samples"]) {
        for (const json& frame : stack) EXPECT_LT(frame.get<size_t>(), made["shared"]["frames"].size());
      }
    }
    EXPECT_EQ(total["alive at the peak, " + report.peak.device], report.peak.bytes.value) << scene->name();
    int64_t allocated = 0;
    for (const report::Step& step : report.steps) allocated += step.allocated.value;
    EXPECT_EQ(total["allocated over the run, " + report.peak.device], allocated) << scene->name();
  }
}

// ---- sqlite

class Query {
 public:
  explicit Query(const std::string& bytes) : path_(folder_ / "out.sqlite") {
    std::ofstream(path_, std::ios::binary) << bytes;
    EXPECT_EQ(sqlite3_open_v2(path_.c_str(), &database_, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() { sqlite3_close(database_); }

  // Rows as text.
  std::vector<std::vector<std::string>> rows(const std::string& query) const {
    std::vector<std::vector<std::string>> out;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database_, query.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_) << ": " << query;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      out.emplace_back();
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        out.back().emplace_back(text == nullptr ? "NULL" : text);
      }
    }
    sqlite3_finalize(statement);
    return out;
  }
  int64_t number(const std::string& query) const {
    const auto all = rows(query);
    return all.empty() ? -1 : std::stoll(all[0][0]);
  }

 private:
  TestFolder folder_;
  std::string path_;
  sqlite3* database_ = nullptr;
};

TEST(ExportSqlite, TotalsAreTheReports) {
  advise::Checks checks = plugins::builtin_checks();
  for (const auto& scene : all_scenes()) {
    const run::Run recording = opened(scene->path());
    ExportSelection wanted;
    wanted.checks = &checks;
    const Query query(exported(recording, "sqlite", wanted));
    advise::Checks same = plugins::builtin_checks();
    const report::Advising advising{same, {}, {}};
    const auto built = report::build(recording, {}, &advising);
    ASSERT_TRUE(built);
    const report::Report& report = *built;
    const std::string of_device = " WHERE device = '" + report.peak.device + "'";
    EXPECT_EQ(query.number("SELECT sum(bytes) FROM peak" + of_device), report.peak.bytes.value) << scene->name();
    EXPECT_EQ(query.rows("PRAGMA integrity_check"), (std::vector<std::vector<std::string>>{{"ok"}}));
    for (const auto& category : report.peak.by_category) {
      EXPECT_EQ(query.number("SELECT bytes FROM peak_by_category" + of_device + " AND category = '" +
                             peak::category_name(category.kind) + "'"),
                category.bytes.value);
    }
    for (const report::DeviceFacts& device : report.processes[0].devices) {
      const std::string where = " WHERE device = '" + device.device + "'";
      EXPECT_EQ(query.number("SELECT peak_bytes FROM devices" + where), device.peak.value);
      EXPECT_EQ(query.number("SELECT count(*) FROM allocations" + where + " AND owned"), device.allocations);
      EXPECT_EQ(
          query.number("SELECT coalesce(sum(bytes), 0) FROM allocations" + where + " AND owned AND freed_ns IS NULL"),
          device.live_at_end.value);
    }
    EXPECT_EQ(query.number("SELECT coalesce(sum(saves), 0) FROM saves_by_field"), report.saves.all.count);
    EXPECT_EQ(query.number("SELECT coalesce(sum(logical_bytes), 0) FROM saves_by_field"),
              report.saves.all.logical.value);
    for (const auto& field : report.saves.fields) {
      EXPECT_EQ(query.number("SELECT storage_bytes FROM saves_by_field WHERE field = '" + field.field + "'"),
                field.totals.storage.value)
          << scene->name() << " " << field.field;
    }
    EXPECT_EQ(query.number("SELECT count(*) FROM steps" + of_device), static_cast<int64_t>(report.steps.size()));
    EXPECT_EQ(query.number("SELECT sum(allocated_bytes) FROM steps" + of_device),
              query.number("SELECT sum(bytes) FROM allocations" + of_device + " AND owned"));
    EXPECT_EQ(query.number("SELECT count(*) FROM findings" + of_device),
              static_cast<int64_t>(report.advice->findings.size()))
        << scene->name();
  }
}

TEST(ExportSqlite, IdsNameRowsAndViewsAnswer) {
  const std::vector<std::array<const char*, 3>> references = {
      {"allocations", "operator_id", "operators"}, {"saves", "node_id", "nodes"},
      {"saves", "allocation_id", "allocations"},   {"nodes", "operator_id", "operators"},
      {"operators", "parent_id", "operators"},     {"operators", "evaluation_id", "evaluations"},
      {"peak", "allocation_id", "allocations"},    {"evaluations", "node_id", "nodes"}};
  for (const auto& scene : all_scenes()) {
    const Query query(exported(opened(scene->path()), "sqlite"));
    for (const auto& [table, column, to] : references) {
      const std::string missing = std::string("SELECT count(*) FROM ") + table + " t WHERE " + column +
                                  " IS NOT NULL AND NOT EXISTS (SELECT 1 FROM " + to +
                                  " r WHERE r.process = t.process AND r.id = t." + column + ")";
      EXPECT_EQ(query.number(missing), 0) << scene->name() << " " << table << "." << column;
    }
    for (const auto& view : query.rows("SELECT name FROM sqlite_master WHERE type = 'view'")) {
      query.rows("SELECT * FROM " + view[0]);
    }
  }
}

// ---- all

TEST(Export, NamesOfARecordingAreTextInAllFormats) {
  SpoolBuilder b;
  const run::Run recording = hostile(b);
  const Trace trace(exported(recording, "perfetto"));
  for (const auto* all : {&trace.names, &trace.texts}) {
    for (const auto& [number, text] : *all) EXPECT_TRUE(is_printable_utf8(text)) << text;
  }
  EXPECT_TRUE(std::ranges::any_of(trace.names,
                                  [](const auto& one) { return one.second.find("\\x1b[2J\\n") != std::string::npos; }));

  const json snapshot_made = snapshot(recording);
  EXPECT_TRUE(is_printable_utf8(snapshot_made["device_traces"][0][0]["frames"][0]["filename"].get<std::string>()));

  const json speedscope = json::parse(exported(recording, "speedscope"));
  for (const json& frame : speedscope["shared"]["frames"]) {
    EXPECT_TRUE(is_printable_utf8(frame["name"].get<std::string>()));
  }

  const Query query(exported(recording, "sqlite"));
  for (const char* column : {"name FROM operators", "path FROM modules", "field FROM saves", "layout FROM saves",
                             "file FROM frames", "source FROM stacks", "held_by FROM peak"}) {
    for (const auto& row : query.rows(std::string("SELECT ") + column))
      EXPECT_TRUE(is_printable_utf8(row[0])) << column;
  }
}

TEST(Export, AProcessAndADeviceAreChosen) {
  const TestFolder folder;
  {
    SpoolBuilder b(folder, "1.spool");
    b.op("aten::empty").alloc(0x10, 1000).alloc(0x20, 70, "cuda:0").end_op().finish();
  }
  {
    SpoolBuilder b(folder, "2.spool");
    b.op("aten::empty").alloc(0x10, 300).end_op().finish();
  }
  const run::Run recording = std::move(trace::seal_folder(folder).recording);
  const Query all(exported(recording, "sqlite"));
  EXPECT_EQ(all.number("SELECT count(*) FROM processes"), 2);
  EXPECT_EQ(all.number("SELECT sum(bytes) FROM allocations"), 1370);
  ExportSelection wanted;
  wanted.device = "cuda:0";
  EXPECT_EQ(Query(exported(recording, "sqlite", wanted)).number("SELECT sum(bytes) FROM allocations"), 70);
  EXPECT_EQ(most_active(snapshot(recording)["device_traces"][1]), 1000)
      << "the largest process, its CPU behind its GPU";
  wanted.process = 12345678;
  const auto refused = export_recording(recording, wanted, *format_of("perfetto"), {folder / "out"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, trace::ErrorKind::usage);
  EXPECT_NE(refused.error().message.find("nothing was allocated by that process"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST(Export, ATableThatContradictsAnotherIsNotExported) {
  const TestFolder folder;
  {
    SpoolBuilder b(folder, "1.spool");
    b.op("aten::empty").alloc(0x10, 64).free(0x10).end_op().finish();
  }
  trace::seal_folder(folder);
  testing::SealedParts parts = *testing::SealedParts::of(content(folder / "run.tapelens"));
  parts.set(trace::column<trace::table::Frees>.of, std::vector<uint32_t>{99});
  const std::string bytes = parts.bytes(), path = folder / "made.tapelens";
  std::ofstream(path, std::ios::binary) << bytes;
  for (const Format* format : formats()) {
    const auto refused = export_recording(opened(path), {}, *format, {folder / "out", false, path});
    ASSERT_FALSE(refused) << format->name;
    EXPECT_EQ(refused.error().kind, trace::ErrorKind::unreadable);
    EXPECT_TRUE(refused.error().message.starts_with(path + ": tables contradict each other"))
        << refused.error().message;
    EXPECT_NE(refused.error().message.find("frees: "), std::string::npos) << refused.error().message;
  }
}

TEST(Export, ReplacesItsOwnAndNothingElse) {
  const auto& scene = *all_scenes()[1];
  const run::Run recording = opened(scene.path());
  for (const Format* format : formats()) {
    const TestFolder folder;
    const std::string path = folder / "out";
    std::ofstream(path) << "a letter to a friend";
    const auto refused = export_recording(recording, {}, *format, {path});
    ASSERT_FALSE(refused) << format->name;
    EXPECT_EQ(refused.error().kind, trace::ErrorKind::usage);
    EXPECT_EQ(content(path), "a letter to a friend");
    EXPECT_TRUE(export_recording(recording, {}, *format, {path, true}));
    const std::string first = content(path);
    std::vector<std::string> made;
    EXPECT_TRUE(
        export_recording(recording, {}, *format, {path}, [&](const std::string& part) { made.push_back(part); }));
    EXPECT_EQ(content(path), first) << format->name << ": the same recording, the same bytes";
    ASSERT_EQ(made.size(), 2u);
    EXPECT_EQ(made[1], "");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
    EXPECT_FALSE(export_recording(recording, {}, *format, {scene.path(), true, scene.path()}))
        << "the recording itself";
    const auto nowhere = export_recording(recording, {}, *format, {folder / "none" + "/out"});
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().kind, trace::ErrorKind::unreadable);
  }
}

TEST(Export, ALinkStaysOneAndAFullDiskLeavesWhatWasThere) {
  const auto& scene = *all_scenes()[1];
  const run::Run recording = opened(scene.path());
  const TestFolder folder;
  std::filesystem::create_symlink(folder / "real", folder / "link");
  EXPECT_TRUE(export_recording(recording, {}, *format_of("speedscope"), {folder / "link"}));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(json::accept(content(folder / "real")));
  const auto full = export_recording(recording, {}, *format_of("speedscope"), {"/dev/full"});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, trace::ErrorKind::unreadable);
  EXPECT_NE(full.error().message.find("free some space"), std::string::npos) << full.error().message;
}

}  // namespace
}  // namespace tapelens::exporting
