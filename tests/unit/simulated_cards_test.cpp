// The list of simulated GPUs, the syntax of a request, and the settings for the simulated driver.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "simulated/cards/cards.h"
#include "simulated/settings/settings.h"

namespace tapelens::simulated {
namespace {

std::optional<uint64_t> gibibytes(std::string_view text) {
  if (!text.ends_with("GiB")) return {};
  return std::stoull(std::string(text)) << 30;
}

trace::Result<Request> asked(std::string_view text) { return read_request(text, gibibytes); }

TEST(Cards, HaveDistinctNamesAndACapabilityThatIsKnown) {
  std::set<std::string_view> ids;
  for (const Card& card : cards()) {
    EXPECT_TRUE(ids.insert(card.id).second) << card.id;
    EXPECT_EQ(capability_of(card).major, card.major) << card.id;
    EXPECT_EQ(capability_of(card).minor, card.minor) << card.id;
    EXPECT_LT(card.name.size(), sizeof(GpuSettings::name));
    EXPECT_EQ(find_card(card.id), &card);
    const auto alone = asked(card.id);
    ASSERT_TRUE(alone) << alone.error().message;
    EXPECT_EQ(alone->card, &card);
    EXPECT_EQ(alone->bytes, card.bytes());
    EXPECT_EQ(alone->count, 1U);
  }
}

// NVIDIA's data sheets: the memory on the board, of which a driver leaves 91 to 99 %.
TEST(Cards, LeaveProgramsAlmostAllOfTheMemoryThatIsOnTheBoard) {
  const std::pair<std::string_view, uint64_t> boards[] = {
      {"H100", 80}, {"H100-PCIe", 80}, {"H200", 141},     {"A100-40GB", 40}, {"A100-80GB", 80},   {"RTX-4090", 24},
      {"L4", 24},   {"L40S", 48},      {"T4", 16},        {"V100-16GB", 16}, {"V100-32GB", 32},   {"B200", 180},
      {"A10G", 24}, {"RTX-3090", 24},  {"RTX-A6000", 48}, {"RTX-5090", 32},  {"RTX-PRO-6000", 96}};
  EXPECT_EQ(std::size(boards), cards().size());
  for (const auto& [id, gib] : boards) {
    const Card* card = find_card(id);
    ASSERT_NE(card, nullptr) << id;
    const double share = static_cast<double>(card->bytes()) / static_cast<double>(gib << 30);
    EXPECT_GT(share, 0.91) << id;
    EXPECT_LE(share, 1.0) << id;
  }
}

TEST(Request, NamesACardASizeAndACount) {
  struct Case {
    std::string_view text, id;
    uint64_t bytes;
    uint32_t count;
  };
  const uint64_t h100 = find_card("H100")->bytes(), rtx = find_card("RTX-4090")->bytes();
  for (const auto& [text, id, bytes, count] : {Case{"H100", "H100", h100, 1},
                                               {"h100x8", "H100", h100, 8},
                                               {"H100:24GiB", "H100", uint64_t{24} << 30, 1},
                                               {"H100:24GiBx64", "H100", uint64_t{24} << 30, 64},
                                               {"rtx_4090", "RTX-4090", rtx, 1},
                                               {"RTX4090", "RTX-4090", rtx, 1},
                                               {"RTX4090X2", "RTX-4090", rtx, 2},
                                               {"RTX-4090:8GiBx2", "RTX-4090", uint64_t{8} << 30, 2}}) {
    const auto request = asked(text);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->card->id, id) << text;
    EXPECT_EQ(request->bytes, bytes) << text;
    EXPECT_EQ(request->count, count) << text;
  }
}

TEST(Request, ForWhatThereIsNotIsRefusedWithWhatThereIs) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"A100", "unknown GPU 'A100', did you mean A100-80GB or A100-40GB?"},
      {"H100x0", "'H100x0' is not a number of GPUs: 1 to 64, like H100x8"},
      {"H100x65", "'H100x65' is not a number of GPUs: 1 to 64, like H100x8"},
      {"H100x99999999999", "'H100x99999999999' is not a number of GPUs: 1 to 64, like H100x8"},
      {"H100:", "'H100:' is not the size of a GPU's memory: 64MiB or more, like H100:24GiB"},
      {"H100:0GiB", "'H100:0GiB' is not the size of a GPU's memory: 64MiB or more, like H100:24GiB"},
      {"H100:much", "'H100:much' is not the size of a GPU's memory: 64MiB or more, like H100:24GiB"},
  };
  for (const auto& [text, message] : cases) {
    const auto request = asked(text);
    ASSERT_FALSE(request) << text;
    EXPECT_EQ(request.error().message, message);
    EXPECT_EQ(request.error().kind, trace::ErrorKind::usage);
  }
  for (const std::string_view text : {"", "x8", ":24GiB", "MI300X", "Voodoo-2"}) {
    const auto request = asked(text);
    ASSERT_FALSE(request) << text;
    EXPECT_NE(request.error().message.find("the GPUs are B200, "), std::string::npos) << request.error().message;
  }
}

TEST(GpuSettings, AreReadAsTheyWereWritten) {
  GpuSettings settings;
  settings.count = 8;
  settings.world = 1024;
  settings.bytes = uint64_t{81089} << 20;
  settings.major = 9;
  settings.threads_per_processor = 2048;
  settings.cuda = 13020;
  settings.cudnn_workspace = UINT64_MAX;
  std::strcpy(settings.name, "NVIDIA H100 80GB HBM3; PCIe; x");
  char text[512];
  const int length = write(settings, text, sizeof(text));
  ASSERT_EQ(static_cast<size_t>(length), std::strlen(text));
  GpuSettings again;
  ASSERT_TRUE(read(text, again));
  EXPECT_EQ(std::memcmp(&again, &settings, sizeof(settings)), 0);

  std::vector<char> small(static_cast<size_t>(length));
  EXPECT_EQ(write(settings, small.data(), small.size()), length) << "says how much it needs, and stays within its room";
  EXPECT_EQ(small.back(), '\0');
}

TEST(GpuSettings, ThatNobodyWroteAreRefusedAndChangeNothing) {
  GpuSettings settings;
  settings.bytes = uint64_t{1} << 30;
  char text[512];
  write(settings, text, sizeof(text));
  const std::string whole = text;
  GpuSettings kept = settings;
  const size_t numbers = whole.rfind(';') + 1;
  for (size_t end = 0; end < numbers; ++end) EXPECT_FALSE(read(whole.substr(0, end).c_str(), kept)) << end;
  EXPECT_TRUE(read(whole.c_str(), kept));
  EXPECT_FALSE(read((whole + std::string(64, 'a')).c_str(), kept)) << "a name of any length";
  EXPECT_FALSE(read(("-" + whole).c_str(), kept));
  EXPECT_FALSE(read(("99999999999999999999999" + whole).c_str(), kept));
  EXPECT_EQ(std::memcmp(&kept, &settings, sizeof(settings)), 0);
}

}  // namespace
}  // namespace tapelens::simulated
