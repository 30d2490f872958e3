// The pickle reader: values that Python and PyTorch write, and refused input.
#include <gtest/gtest.h>

#include "analyzer/pickle/machine.h"
#include "analyzer/pickle/window.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/pickles.h"
#include "trace/regular_file.h"

namespace tapelens::pickle {
namespace {

using testing::get;
using testing::list;
using testing::number;
using testing::pickled;
using testing::put;
using testing::text;

// Values as Python prints them.
class Printer : public Maker {
 public:
  uint64_t text(std::string_view text) override { return keep("'" + std::string(text) + "'"); }
  Value list(const Value& before, std::span<const Value> items) override { return add(before, items, "["); }
  Value dict(const Value& before, std::span<const Value> pairs) override { return add(before, pairs, "{"); }
  Value tuple(std::span<const Value> items) override { return add({.kind = Kind::empty_list}, items, "("); }

  std::string print(const Value& value) const {
    switch (value.kind) {
      case Kind::none:
        return "None";
      case Kind::boolean:
        return value.payload != 0 ? "True" : "False";
      case Kind::integer:
        return value.is_negative ? std::to_string(static_cast<int64_t>(value.payload)) : std::to_string(value.payload);
      case Kind::real: {
        double number = 0;
        memcpy(&number, &value.payload, sizeof(number));
        return std::to_string(number);
      }
      case Kind::empty_list:
        return "[";
      case Kind::empty_dict:
        return "{";
      case Kind::text:
      case Kind::made:
        return kept_[value.payload];
      default:
        return "?";
    }
  }

 private:
  uint64_t keep(const std::string& text) {
    kept_.push_back(text);
    return kept_.size() - 1;
  }
  Value add(const Value& before, std::span<const Value> items, const std::string& open) {
    std::string out = before.kind == Kind::made ? kept_[before.payload] : open;
    for (const Value& item : items) out += print(item) + " ";
    return {.payload = keep(out), .kind = Kind::made};
  }
  std::vector<std::string> kept_;
};

// The values, or "offset: reason" for refused input.
std::string read(const std::string& bytes) {
  const trace::TestFolder folder;
  testing::write_file(folder / "p", bytes);
  const auto file = trace::RegularFile::open(folder / "p");
  try {
    Window first(*file), second(*file);
    const MemoUse memo = MemoUse::of(first, {});
    Printer printer;
    const Value value = read(second, memo, printer, {});
    return printer.print(value);
  } catch (const Malformed& malformed) {
    return std::to_string(malformed.offset) + ": " + malformed.what;
  }
}

std::string bytes(std::string_view text) { return std::string(text); }

TEST(Pickle, ReadsEachOpcodeThatPyTorchWrites) {
  EXPECT_EQ(read(pickled("N")), "None");
  EXPECT_EQ(read(pickled("\x88")), "True");
  EXPECT_EQ(read(pickled("\x89")), "False");
  EXPECT_EQ(read(pickled("K\xff")), "255");
  EXPECT_EQ(read(pickled("M\xff\xff")), "65535");
  EXPECT_EQ(read(pickled("J\xff\xff\xff\xff")), "-1");
  EXPECT_EQ(read(pickled("\x8a\x01\xff")), "-1");
  EXPECT_EQ(read(pickled(bytes({"\x8a\x00", 2}))), "0");
  EXPECT_EQ(read(pickled(bytes({"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00", 11}))), "18446744073709551615");
  EXPECT_EQ(read(pickled(number(INT64_MIN))), "-9223372036854775808");
  EXPECT_EQ(read(pickled(bytes({"G?\xf8\0\0\0\0\0\0", 9}))), "1.500000");
  EXPECT_EQ(read(pickled(text("a"))), "'a'");
  EXPECT_EQ(read(pickled("\x8c\x02\xc3\xa9")), "'\xc3\xa9'");
  EXPECT_EQ(read(pickled(bytes({"\x8d\x01\0\0\0\0\0\0\0z", 10}))), "'z'");
  EXPECT_EQ(read(pickled("](K\1K\2eK\3a")), "[1 2 3 ");
  EXPECT_EQ(read(pickled("}(K\1K\2uK\3K\4s")), "{1 2 3 4 ");
  EXPECT_EQ(read(pickled(")")), "(");
  EXPECT_EQ(read(pickled("K\1\x85")), "(1 ");
  EXPECT_EQ(read(pickled("K\1K\2\x86")), "(1 2 ");
  EXPECT_EQ(read(pickled("K\1K\2K\3\x87")), "(1 2 3 ");
  EXPECT_EQ(read(pickled("(K\1K\2K\3K\4t")), "(1 2 3 4 ");
  EXPECT_EQ(read(pickled(bytes({"\x95\x01\0\0\0\0\0\0\0N", 10}))), "None");
}

TEST(Pickle, GivesBackWhatIsReferredTo) {
  EXPECT_EQ(read(pickled("](" + text("a") + put() + get(0) + get(0) + "e")), "['a' 'a' 'a' ");
  EXPECT_EQ(read(pickled(bytes({"](Nq\0Nr\1\0\0\0j\1\0\0\0e", 17}))), "[None None None ");
  // A list memoized before it is filled, as Python does, and one memoized after that, as C++ does.
  EXPECT_EQ(read(pickled("](]" + put() + "K\1a" + get(0) + "e")), "[[1  [1  ");
  EXPECT_EQ(read(pickled("](]K\1a" + put() + get(0) + "e")), "[[1  [1  ");
  EXPECT_EQ(read(pickled("](]" + put() + get(0) + "e")), "[[ [ ");
}

TEST(Pickle, CallsAndImportsNothing) {
  for (const auto& [code, name] :
       std::initializer_list<std::pair<std::string, std::string>>{{"cos\nsystem\n", "GLOBAL"},
                                                                  {"\x93", "STACK_GLOBAL"},
                                                                  {"R", "REDUCE"},
                                                                  {"b", "BUILD"},
                                                                  {"ios\nsystem\n", "INST"},
                                                                  {"o", "OBJ"},
                                                                  {"\x81", "NEWOBJ"},
                                                                  {"\x92", "NEWOBJ_EX"},
                                                                  {"P1\n", "PERSID"},
                                                                  {"Q", "BINPERSID"},
                                                                  {"\x82\x01", "EXT1"},
                                                                  {"\x83\x01\x01", "EXT2"}}) {
    const std::string said = read(pickled("](N" + code + "e"));
    EXPECT_TRUE(said.starts_with("5: it asks to import or call something (" + name + ")")) << said;
  }
  EXPECT_EQ(read(pickled("S'a'\n")), "2: opcode 0x53 does not occur in memory snapshots of PyTorch");
}

TEST(Pickle, RefusesLiesAboutLengths) {
  EXPECT_EQ(read(pickled(bytes({"X\xff\xff\xff\xff", 5}))), "2: a text that is longer than the rest of the file");
  EXPECT_EQ(read(pickled(bytes({"\x8d\xff\xff\xff\xff\xff\xff\xff\xff", 9}))),
            "2: a text that is longer than the rest of the file");
  EXPECT_EQ(read(pickled(bytes({"\x95\xff\xff\xff\xff\0\0\0\0", 9}))),
            "2: a frame that is longer than the rest of the file");
  EXPECT_EQ(read(pickled(bytes({"\x8a\xff\1", 3}))), "4: the file is cut off, or says more than it has");
  EXPECT_EQ(read(pickled("\x8a\x09\1\1\1\1\1\1\1\1\1")), "2: a number of more than 64 bits");
}

TEST(Pickle, RefusesWhatNoWriterWrites) {
  EXPECT_EQ(read(""), "0: not a pickle of protocol 2 to 5");
  EXPECT_EQ(read("(lp0\n."), "0: not a pickle of protocol 2 to 5");
  EXPECT_EQ(read("\x80\x06N."), "1: a pickle of protocol 6, and 2 to 5 are read");
  EXPECT_EQ(read(pickled("N") + "N."), "4: there is something behind the end of the pickle");
  EXPECT_EQ(read(pickled("NN")), "4: it ends with more than one value, or none");
  EXPECT_EQ(read(pickled("(N")), "4: it ends with more than one value, or none");
  EXPECT_EQ(read(pickled("")), "2: it ends with more than one value, or none");
  EXPECT_EQ(read(pickled("e")), "2: a container that ends and was not begun");
  EXPECT_EQ(read(pickled("(e")), "3: values without a container");
  EXPECT_EQ(read(pickled("N(Ne")), "5: values that are added to an object that is not a container");
  EXPECT_EQ(read(pickled("}(Nu")), "5: a dict with a key that has no value");
  EXPECT_EQ(read(pickled("](N\x86")), "5: a container that lacks values");
  EXPECT_EQ(read(pickled(put())), "2: a container that lacks values");
  EXPECT_EQ(read(pickled("N" + put() + put() + get(0) + "\x86")).substr(0, 2), "(N");
  EXPECT_EQ(read(pickled(get(0))), "2: it refers to a value that comes later, or never");
  EXPECT_EQ(read(pickled(bytes({"Nr\xff\xff\xff\xff", 6}))), "3: its values are not numbered one after another");
}

TEST(Pickle, RefusesWhatGrowsWithoutEnd) {
  // A list that contains itself, and one that changes after another list contains it.
  EXPECT_EQ(read(pickled("]" + put() + get(0) + "a")), "6: a container that changes after it was referred to");
  EXPECT_EQ(read(pickled("](]" + put() + get(0) + "Nae")), "9: a container that changes after it was referred to");
  EXPECT_EQ(read(pickled(std::string(5000, '(') + "N")),
            "1002: containers within containers, more than a thousand deep");
  const std::string many(3 << 20, 'N');
  EXPECT_EQ(read(pickled("(" + many + "t")), "1048579: more values at once than a file of this size can be about");
  // A bomb: each list has ten references to the list before it. A reference does not copy its value.
  std::string bomb = "]" + put();
  for (uint8_t i = 0; i < 100; ++i) {
    bomb += "](";
    for (int times = 0; times < 10; ++times) bomb += get(i);
    bomb += "e" + put();
  }
  class Counter : public Maker {
   public:
    uint64_t text(std::string_view) override { return 0; }
    Value list(const Value&, std::span<const Value> items) override {
      seen += items.size();
      return {.kind = Kind::made};
    }
    Value dict(const Value&, std::span<const Value>) override { return {.kind = Kind::made}; }
    Value tuple(std::span<const Value>) override { return {.kind = Kind::made}; }
    size_t seen = 0;
  } counter;
  const trace::TestFolder folder;
  testing::write_file(folder / "p", pickled("](" + bomb + "e"));
  const auto file = trace::RegularFile::open(folder / "p");
  Window first(*file), second(*file);
  const MemoUse memo = MemoUse::of(first, {});
  read(second, memo, counter, {});
  EXPECT_EQ(counter.seen, 1000U + 101U);
}

TEST(Pickle, OfWhateverIsCutOffItSaysSo) {
  const std::string whole = pickled("](" + text("abc") + put() + number(7) + "}(" + get(0) + "M\1\1u" + "G12345678e");
  EXPECT_FALSE(read(whole).find(':') != std::string::npos) << read(whole);
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string said = read(whole.substr(0, length));
    EXPECT_TRUE(said.find("cut off") != std::string::npos || said.find("rest of the file") != std::string::npos ||
                said.find("not a pickle") != std::string::npos)
        << length << ": " << said;
  }
}

}  // namespace
}  // namespace tapelens::pickle
