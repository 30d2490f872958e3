// A process that trims older steps of a spool is killed in the middle, or its files are corrupt.
#include <fstream>

#include "tests/unit/trace_ring.h"
#include "trace/checksum.h"

namespace tapelens::trace {
namespace {

// ---- killed while it trims ------------------------------------------------------------------------------------------

class Killed : public ::testing::Test {
 protected:
  // A spool that was trimmed twice, with both files as before and after the second time.
  void SetUp() override {
    Program a(whole_, 7), b(ring_, 7);
    for (int i = 0; i < 300; ++i) a.step(), b.step();
    leave_out(ring_.path(), 100);
    before_ = {contents(ring_.path()), contents(older_path(ring_.path()))};
    leave_out(ring_.path(), 10);
    after_ = {contents(ring_.path()), contents(older_path(ring_.path()))};
    ASSERT_NE(before_, after_);
    all_.emplace(whole_.seal());
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void put(const std::string& path, const std::string& contents) {
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out | std::ios::trunc) << contents;
  }
  Recording sealed_with(const std::string& spool, const std::string& older) {
    put(ring_.path(), spool);
    put(older_path(ring_.path()), older);
    ring_.kill();
    return std::move(seal_folder(ring_.folder()).recording);
  }
  void expect_the_end(const Recording& r, const std::string& steps) {
    EXPECT_EQ(information(r, "steps_left_out"), steps);
    EXPECT_EQ(losses_of(r), (std::map<uint8_t, uint64_t>{{static_cast<uint8_t>(Loss::truncated_spool), 1}}));
    const uint64_t until = std::stoull(information(r, "steps_left_out_until"));
    EXPECT_EQ(Rows(*all_, until).said().after, Rows(r, until).said().after);
    EXPECT_EQ(alive(*all_, until), alive(r, until));
    EXPECT_EQ(r.rows(Table::sources, {}), 1U);
  }

  SpoolBuilder whole_, ring_;
  std::array<std::string, 2> before_, after_;  // the spool, and the file beside it
  std::optional<Recording> all_;
};

TEST_F(Killed, BeforeTheFileBesideItWasRenamed) {
  std::ofstream(part_path(older_path(ring_.path()))) << "half of it";
  expect_the_end(sealed_with(before_[0], before_[1]), "200");
}

TEST_F(Killed, BeforeAnySpaceWasGivenBack) { expect_the_end(sealed_with(before_[0], after_[1]), "290"); }

TEST_F(Killed, WhenSomeSpaceWasGivenBack) {
  std::string some = before_[0];
  const size_t half = kSpoolHeaderBytes + (some.size() - kSpoolHeaderBytes) / kBlockBytes / 2 * kBlockBytes;
  some.replace(0, half, after_[0], 0, half);
  expect_the_end(sealed_with(some, after_[1]), "290");
}

TEST_F(Killed, AfterIt) { expect_the_end(sealed_with(after_[0], after_[1]), "290"); }

TEST_F(Killed, AndTheNextOneGoesOn) {
  put(ring_.path(), before_[0]);
  put(older_path(ring_.path()), after_[1]);
  EXPECT_EQ(leave_out(ring_.path(), 5).steps_left_out, 295U);
  ring_.kill();
  expect_the_end(seal_folder(ring_.folder()).recording, "295");
}

// ---- corrupt files --------------------------------------------------------------------------------------------------

TEST_F(Killed, ADamagedFileBesideItIsLeftOutAndSaid) {
  Random random(5);
  for (int i = 0; i < 60; ++i) {
    std::string damaged = after_[1];
    if (i % 3 == 0) {
      damaged.resize(random.upto(static_cast<uint32_t>(damaged.size())));
    } else {
      const size_t used = std::min<size_t>(damaged.size(), i % 3 == 1 ? 700 : damaged.size());
      damaged[random.upto(static_cast<uint32_t>(used))] ^= static_cast<char>(1 + random.upto(255));
    }
    const Recording r = sealed_with(after_[0], damaged);  // sealing succeeds with any content
    if (information(r, "steps_left_out").empty()) {
      EXPECT_GT(lost(r, Loss::torn_block), 0U);
    }
  }
}

TEST_F(Killed, AnOffsetThatIsNoRecordsIsRefused) {
  // Every lane is four bytes too long, in blocks with right checksums.
  std::string forged = after_[1];
  for (size_t at = kSpoolHeaderBytes; at < forged.size(); at += kBlockBytes) {
    auto* header = reinterpret_cast<BlockHeader*>(forged.data() + at);
    std::byte* payload = reinterpret_cast<std::byte*>(header) + kBlockHeaderBytes;
    for (uint32_t i = 0; i < header->committed.load();) {
      auto* record = reinterpret_cast<RecordHeader*>(payload + i);
      if (record->kind == RecordKind::older_lane) reinterpret_cast<OlderLaneRecord*>(record)->bytes += 4;
      i += uint32_t{record->words} * 8;
    }
    header->checksum = checksum_of(payload, header->committed.load());
  }
  EXPECT_GT(lost(sealed_with(after_[0], forged), Loss::torn_block), 0U);
}

TEST_F(Killed, AFileOfAnotherProcessIsNotTaken) {
  std::string other = after_[1];
  ++reinterpret_cast<SpoolHeader*>(other.data())->pid;
  const Recording r = sealed_with(after_[0], other);
  EXPECT_EQ(information(r, "steps_left_out"), "");
  EXPECT_GT(lost(r, Loss::torn_block), 0U);
}

}  // namespace
}  // namespace tapelens::trace
