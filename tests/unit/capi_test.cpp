// libtapelens: streams have the same content as the recording, readers may take and release arrays in any order, and an
// untrusted file is an error or yields readable tables.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "capi/capsule.h"
#include "capi/tapelens.h"
#include "testing/sealed_parts.h"
#include "tests/unit/support/scenes.h"
#include "trace/utf8.h"

namespace tapelens {
namespace {

std::string file_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string taken(char* text) {
  const std::string copy = text != nullptr ? text : "";
  tapelens_free(text);
  return copy;
}

struct Closes {
  void operator()(tapelens_recording* recording) const { tapelens_close(recording); }
};
using Opened = std::unique_ptr<tapelens_recording, Closes>;

Opened open(const std::string& path, std::string* error = nullptr) {
  tapelens_recording* recording = nullptr;
  char* sentence = nullptr;
  const int status = tapelens_open(path.c_str(), &recording, &sentence);
  EXPECT_EQ(status == TAPELENS_OK, recording != nullptr);
  EXPECT_EQ(status == TAPELENS_OK, sentence == nullptr);
  if (error != nullptr) *error = taken(sentence);
  return Opened(recording);
}

// A column of all batches: numbers or texts; null: no values.
struct Values {
  std::vector<std::optional<int64_t>> numbers;
  std::vector<std::optional<std::string>> texts;
};
using Table = std::map<std::string, Values>;

bool bit(const void* bits, int64_t at) { return (static_cast<const uint8_t*>(bits)[at / 8] >> (at % 8) & 1) != 0; }

int64_t number(std::string_view format, const void* values, int64_t row) {
  switch (format.front()) {
    case 'b':
      return bit(values, row) ? 1 : 0;
    case 'C':
      return static_cast<const uint8_t*>(values)[row];
    case 'S':
      return static_cast<const uint16_t*>(values)[row];
    case 'I':
      return static_cast<const uint32_t*>(values)[row];
    case 'i':
      return static_cast<const int32_t*>(values)[row];
    default:
      return static_cast<const int64_t*>(values)[row];
  }
}

std::string text(const ArrowArray& array, int64_t row) {
  const auto* begin = static_cast<const int32_t*>(array.buffers[1]);
  EXPECT_LE(begin[row], begin[row + 1]);
  const std::string value(static_cast<const char*>(array.buffers[2]) + begin[row],
                          static_cast<size_t>(begin[row + 1] - begin[row]));
  EXPECT_EQ(trace::as_utf8(value), value);
  return value;
}

void read_column(const ArrowSchema& schema, const ArrowArray& array, Values& into) {
  const std::string_view format = schema.format;
  int64_t nulls = 0;
  EXPECT_EQ(array.n_buffers, format == "u" ? 3 : 2);
  for (int64_t row = 0; row < array.length; ++row) {
    const bool is_valid = array.buffers[0] == nullptr || bit(array.buffers[0], row);
    nulls += is_valid ? 0 : 1;
    if (schema.dictionary != nullptr) {
      const int64_t place = number(format, array.buffers[1], row);
      if (is_valid) {
        ASSERT_LT(place, array.dictionary->length);
      }
      into.texts.push_back(is_valid ? std::optional(text(*array.dictionary, place)) : std::nullopt);
    } else if (format == "u") {
      into.texts.push_back(is_valid ? std::optional(text(array, row)) : std::nullopt);
    } else {
      into.numbers.push_back(is_valid ? std::optional(number(format, array.buffers[1], row)) : std::nullopt);
    }
  }
  EXPECT_EQ(nulls, array.null_count) << schema.name;
  if (nulls > 0) {
    EXPECT_NE(schema.flags & ARROW_FLAG_NULLABLE, 0) << schema.name;
  }
}

// All batches of a stream. Each batch is released before the next one.
Table read(ArrowArrayStream& stream) {
  Table table;
  ArrowSchema schema{};
  EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
  for (;;) {
    ArrowArray batch{};
    EXPECT_EQ(stream.get_next(&stream, &batch), 0) << stream.get_last_error(&stream);
    if (batch.release == nullptr) break;
    EXPECT_EQ(batch.n_children, schema.n_children);
    for (int64_t column = 0; column < schema.n_children; ++column) {
      EXPECT_EQ(batch.children[column]->length, batch.length);
      read_column(*schema.children[column], *batch.children[column], table[schema.children[column]->name]);
    }
    batch.release(&batch);
    EXPECT_EQ(batch.release, nullptr);
  }
  schema.release(&schema);
  stream.release(&stream);
  return table;
}

ArrowArrayStream stream_of(const Opened& recording, const char* table, std::vector<const char*> columns = {}) {
  const tapelens_selection selection{table, -1, columns.empty() ? nullptr : columns.data(), columns.size()};
  ArrowArrayStream stream{};
  char* error = nullptr;
  EXPECT_EQ(tapelens_stream(recording.get(), &selection, &stream, &error), TAPELENS_OK) << taken(error);
  return stream;
}

Table read(const Opened& recording, const char* table) {
  ArrowArrayStream stream = stream_of(recording, table);
  return read(stream);
}

std::vector<std::string> table_names() {
  return {"processes", "devices",      "steps",    "regions",     "out_of_memory", "losses",
          "peak",      "peak_holders", "findings", "allocations", "timeline",      "operators",
          "nodes",     "edges",        "saves",    "frames",      "stacks",        "modules"};
}

int64_t sum(const Values& values) {
  return std::accumulate(values.numbers.begin(), values.numbers.end(), int64_t{0},
                         [](int64_t total, const auto& one) { return total + one.value_or(0); });
}

class CApi : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scene_ = new tapelens::testing::Scene("training");
    scene_->record([](auto& b, const auto& scene) { tapelens::testing::Training{b, scene}.run(); });
  }
  static void TearDownTestSuite() { delete scene_; }
  static std::string path() { return scene_->path(); }

  static tapelens::testing::Scene* scene_;
};
tapelens::testing::Scene* CApi::scene_ = nullptr;

TEST_F(CApi, EachTableHasAsManyRowsAsItSays) {
  const Opened recording = open(path());
  for (const std::string& name : table_names()) {
    const tapelens_selection selection{name.c_str(), -1, nullptr, 0};
    uint64_t rows = 0;
    char* error = nullptr;
    ASSERT_EQ(tapelens_rows(recording.get(), &selection, &rows, &error), TAPELENS_OK) << taken(error);
    const Table table = read(recording, name.c_str());
    if (rows == 0) continue;  // no batch shows the columns
    for (const auto& [column, values] : table) {
      EXPECT_EQ(values.numbers.size() + values.texts.size(), rows) << name << "." << column;
    }
  }
  EXPECT_GT(read(recording, "findings")["bytes"].numbers.size(), 0U);
  EXPECT_GT(read(recording, "regions")["name"].texts.size(), 0U);
  EXPECT_GT(read(recording, "losses")["message"].texts.size(), 0U);
}

TEST_F(CApi, ThePeakSetSumsToThePeakOfItsDevice) {
  const Opened recording = open(path());
  Table devices = read(recording, "devices"), peak = read(recording, "peak"), timeline = read(recording, "timeline");
  ASSERT_EQ(devices["device"].texts.size(), 1U);
  EXPECT_EQ(sum(devices["peak_bytes"]), sum(peak["bytes"]));
  const auto& live = timeline["live_bytes"].numbers;
  EXPECT_EQ(*std::ranges::max_element(live), devices["peak_bytes"].numbers.front());
  EXPECT_EQ(live.back(), devices["live_at_end_bytes"].numbers.front());
  EXPECT_EQ(sum(timeline["change_bytes"]), *live.back());
}

TEST_F(CApi, AnIdNamesTheRowOfItsTable) {
  const Opened recording = open(path());
  Table saves = read(recording, "saves"), nodes = read(recording, "nodes"),
        allocations = read(recording, "allocations");
  for (size_t row = 0; row < saves["node"].numbers.size(); ++row) {
    const auto node = static_cast<size_t>(*saves["node"].numbers[row]);
    if (node > 0) {
      EXPECT_EQ(saves["node_type"].texts[row], nodes["type"].texts[node - 1]);
    }
    const auto allocation = static_cast<size_t>(*saves["allocation"].numbers[row]);
    if (allocation > 0) {
      EXPECT_EQ(saves["storage_bytes"].numbers[row], allocations["bytes"].numbers[allocation - 1]);
    }
  }
  const auto& names = allocations["name"].texts;
  EXPECT_NE(std::ranges::find(names, std::optional<std::string>("up.weight")), names.end());
}

TEST_F(CApi, OnlyTheColumnsThatAreAskedForAreMade) {
  const Opened recording = open(path());
  ArrowArrayStream stream = stream_of(recording, "saves", {"field", "save"});
  ArrowSchema schema{};
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  ASSERT_EQ(schema.n_children, 2);
  EXPECT_STREQ(schema.children[0]->name, "field");
  EXPECT_STREQ(schema.children[1]->name, "save");
  schema.release(&schema);
  Table table = read(stream);
  EXPECT_EQ(table.size(), 2U);
}

TEST_F(CApi, AColumnOutlivesItsBatchTheStreamAndTheRecording) {
  Opened recording = open(path());
  ArrowArrayStream stream = stream_of(recording, "allocations", {"bytes", "operator_name"});
  recording.reset();
  ArrowArray batch{};
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  ArrowArray bytes = *batch.children[0], names = *batch.children[1];  // moved, as in the specification
  batch.children[0]->release = nullptr;
  batch.children[1]->release = nullptr;
  batch.release(&batch);
  stream.release(&stream);
  EXPECT_GT(static_cast<const int64_t*>(bytes.buffers[1])[bytes.length - 1], 0);
  EXPECT_FALSE(text(*names.dictionary, 0).empty());
  bytes.release(&bytes);
  names.release(&names);
}

TEST_F(CApi, WhatThereIsNotIsSaidInASentence) {
  const Opened recording = open(path());
  const char* columns[] = {"bytes", "colour"};
  const struct {
    tapelens_selection selection;
    const char* said;
  } cases[] = {{{"tensors", -1, nullptr, 0}, "unknown table 'tensors': the tables are processes, "},
               {{"saves", 7, nullptr, 0}, "process 7 is not in the recording, which has 1, counted from 0"},
               {{"allocations", -1, columns, 2}, "the table allocations has no column colour: it has process, "}};
  for (const auto& [selection, said] : cases) {
    ArrowArrayStream stream{};
    char* error = nullptr;
    EXPECT_EQ(tapelens_stream(recording.get(), &selection, &stream, &error), TAPELENS_USAGE);
    EXPECT_EQ(taken(error).find(said), 0U);
    EXPECT_EQ(stream.release, nullptr);
  }
  const tapelens_report_options options{"papyrus", nullptr, nullptr, nullptr, -1, -1, -1};
  char *text = nullptr, *error = nullptr;
  EXPECT_EQ(tapelens_report(recording.get(), &options, &text, &error), TAPELENS_USAGE);
  EXPECT_EQ(taken(error).find("unknown report format 'papyrus': the formats are text, "), 0U);
}

TEST_F(CApi, ReportsAreThoseOfTheCommandLine) {
  const Opened recording = open(path());
  for (const char* format : {"text", "json", "markdown", "html"}) {
    const tapelens_report_options options{format, nullptr, "source", nullptr, 3, -1, -1};
    char *text = nullptr, *error = nullptr;
    ASSERT_EQ(tapelens_report(recording.get(), &options, &text, &error), TAPELENS_OK) << taken(error);
    EXPECT_GT(taken(text).size(), 100U);
  }
}

// The part of CPython's capsule handling that the test needs.
struct FakeCapsule {
  void* pointer;
  std::string name;
  void (*destructor)(void*);
};

TEST_F(CApi, ACapsuleReleasesWhatNobodyTook) {
  tapelens_use_capsules(
      [](void* pointer, const char* name, void (*destructor)(void*)) -> void* {
        return new FakeCapsule{pointer, name, destructor};
      },
      [](void* capsule, const char* name) -> void* {
        auto* fake = static_cast<FakeCapsule*>(capsule);
        return fake->name == name ? fake->pointer : nullptr;
      });
  const Opened recording = open(path());
  for (const bool is_taken : {false, true}) {
    const tapelens_selection selection{"saves", 0, nullptr, 0};
    void* capsule = nullptr;
    char* error = nullptr;
    ASSERT_EQ(tapelens_stream_capsule(recording.get(), &selection, &capsule, &error), TAPELENS_OK);
    const std::unique_ptr<FakeCapsule> fake(static_cast<FakeCapsule*>(capsule));
    EXPECT_EQ(fake->name, "arrow_array_stream");
    auto* stream = static_cast<ArrowArrayStream*>(fake->pointer);
    if (is_taken) {
      EXPECT_GT(read(*stream)["save"].numbers.size(), 0U);  // and releases it
    }
    fake->destructor(fake.get());
  }
  const tapelens_selection wrong{"tensors", 0, nullptr, 0};
  void* capsule = nullptr;
  char* error = nullptr;
  EXPECT_EQ(tapelens_schema_capsule(recording.get(), &wrong, &capsule, &error), TAPELENS_USAGE);
  EXPECT_EQ(capsule, nullptr);
  EXPECT_FALSE(taken(error).empty());
}

TEST_F(CApi, ADamagedFileIsAnErrorWithASentence) {
  const std::string whole = file_of(path());
  const tapelens::trace::TestFolder folder;
  const std::string damaged = folder / "damaged.tapelens";
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    if (i % 3 == 0) {
      bytes.resize(random() % whole.size());
    } else {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    }
    std::ofstream(damaged, std::ios::binary | std::ios::trunc) << bytes;
    std::string error;
    EXPECT_EQ(open(damaged, &error), nullptr);
    EXPECT_NE(error.find(damaged), std::string::npos) << error;
  }
  std::string error;
  EXPECT_EQ(open(folder / "nothing.tapelens", &error), nullptr);
  EXPECT_NE(error.find("nothing.tapelens"), std::string::npos);
  EXPECT_EQ(open(folder.path(), &error), nullptr);
  EXPECT_FALSE(error.empty());
}

// With right checksums, every value of a chunk may be arbitrary.
TEST_F(CApi, AHostileFileGivesTablesThatCanBeReadOrAnError) {
  const std::string whole = file_of(path());
  const tapelens::trace::TestFolder folder;
  const std::string hostile = folder / "hostile.tapelens";
  std::mt19937 random(2);
  int opened = 0;
  for (int i = 0; i < 150; ++i) {
    auto parts = tapelens::testing::SealedParts::of(whole);
    ASSERT_TRUE(parts);
    auto& chunk = parts->chunks[random() % parts->chunks.size()];
    if (chunk.stored.empty() || random() % 4 == 0) {
      chunk.entry.base ^= uint64_t{1} << random() % 64;
    } else {
      chunk.stored[random() % chunk.stored.size()] ^= static_cast<char>(1 + random() % 255);
    }
    std::ofstream(hostile, std::ios::binary | std::ios::trunc) << parts->bytes();
    std::string error;
    const Opened recording = open(hostile, &error);
    if (!recording) {
      EXPECT_FALSE(error.empty());
      continue;
    }
    ++opened;
    for (const std::string& name : table_names()) read(recording, name.c_str());
  }
  EXPECT_GT(opened, 50);
}

}  // namespace
}  // namespace tapelens
