#include "simulated/cards/cards.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace tapelens::simulated {
namespace {

constexpr uint32_t kKiB = 1024;

constexpr Capability kCapabilities[] = {
    {7, 0, 96 * kKiB, 96 * kKiB, 2048, 32},    {7, 5, 64 * kKiB, 64 * kKiB, 1024, 16},
    {8, 0, 163 * kKiB, 164 * kKiB, 2048, 32},  {8, 6, 99 * kKiB, 100 * kKiB, 1536, 16},
    {8, 9, 99 * kKiB, 100 * kKiB, 1536, 24},   {9, 0, 227 * kKiB, 228 * kKiB, 2048, 32},
    {10, 0, 227 * kKiB, 228 * kKiB, 2048, 32}, {12, 0, 99 * kKiB, 100 * kKiB, 1536, 24},
};

constexpr Card kCards[] = {
    // id, name, MiB, capability, processors, L2 MiB, bus bits
    {"B200", "NVIDIA B200", 182631, 10, 0, 148, 126, 8192},
    {"RTX-PRO-6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", 97250, 12, 0, 188, 128, 512},
    {"RTX-5090", "NVIDIA GeForce RTX 5090", 32109, 12, 0, 170, 96, 512},
    {"H200", "NVIDIA H200", 143156, 9, 0, 132, 50, 6144},
    {"H100", "NVIDIA H100 80GB HBM3", 81079, 9, 0, 132, 50, 5120},
    {"H100-PCIe", "NVIDIA H100 PCIe", 81008, 9, 0, 114, 50, 5120},
    {"L40S", "NVIDIA L40S", 45589, 8, 9, 142, 96, 384},
    {"L4", "NVIDIA L4", 22563, 8, 9, 58, 48, 192},
    {"RTX-4090", "NVIDIA GeForce RTX 4090", 24217, 8, 9, 128, 72, 384},
    {"A100-80GB", "NVIDIA A100-SXM4-80GB", 81251, 8, 0, 108, 40, 5120},
    {"A100-40GB", "NVIDIA A100-SXM4-40GB", 40339, 8, 0, 108, 40, 5120},
    {"A10G", "NVIDIA A10G", 22723, 8, 6, 80, 6, 384},
    {"RTX-A6000", "NVIDIA RTX A6000", 48676, 8, 6, 84, 6, 384},
    {"RTX-3090", "NVIDIA GeForce RTX 3090", 24268, 8, 6, 82, 6, 384},
    {"T4", "Tesla T4", 15095, 7, 5, 40, 4, 256},
    {"V100-32GB", "Tesla V100-SXM2-32GB", 32510, 7, 0, 80, 6, 4096},
    {"V100-16GB", "Tesla V100-SXM2-16GB", 16160, 7, 0, 80, 6, 4096},
};

constexpr const Capability* find_capability(const Card& card) {
  for (const Capability& capability : kCapabilities) {
    if (capability.major == card.major && capability.minor == card.minor) return &capability;
  }
  return nullptr;
}
static_assert(std::ranges::all_of(kCards, [](const Card& card) { return find_capability(card) != nullptr; }),
              "kCapabilities lacks the compute capability of a card");

std::string bare(std::string_view text) {
  std::string bare;
  for (const char c : text) {
    if (c != '-' && c != '_' && c != ' ') bare += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return bare;
}

// Removes a count such as "x8" from the end of a text; none if the text has no count.
std::optional<std::string_view> take_count(std::string_view& text) {
  const size_t at = text.find_last_of("xX");
  if (at == std::string_view::npos || at + 1 == text.size()) return {};
  const std::string_view digits = text.substr(at + 1);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return {};
  text = text.substr(0, at);
  return digits;
}

trace::Error no_such_card(std::string_view id) {
  const std::string wanted = bare(id);
  std::string all, alike;
  for (const Card& card : kCards) {
    all += (all.empty() ? "" : ", ") + std::string(card.id);
    if (!wanted.empty() && bare(card.id).starts_with(wanted)) {
      alike += (alike.empty() ? "" : " or ") + std::string(card.id);
    }
  }
  return {"unknown GPU '" + std::string(id) + "'" +
              (alike.empty() ? ": the GPUs are " + all : ", did you mean " + alike + "?"),
          trace::ErrorKind::usage};
}

}  // namespace

std::span<const Card> cards() { return kCards; }

const Capability& capability_of(const Card& card) { return *find_capability(card); }

const Card* find_card(std::string_view id) {
  const auto found = std::ranges::find(kCards, bare(id), [](const Card& card) { return bare(card.id); });
  return found != std::end(kCards) ? &*found : nullptr;
}

trace::Result<Request> read_request(std::string_view text, const ReadSize& read_size) {
  const auto wrong = [&](const std::string& what) {
    return trace::Error{"'" + std::string(text) + "' " + what, trace::ErrorKind::usage};
  };
  Request request;
  std::string_view rest = text, size;
  // RTX4090 is a card, not a count with a prefix.
  if (find_card(rest) == nullptr) {
    if (const auto digits = take_count(rest)) {
      const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), request.count);
      if (error != std::errc() || request.count == 0 || request.count > kMostCards) {
        return wrong("is not a number of GPUs: 1 to " + std::to_string(kMostCards) + ", like H100x8");
      }
    }
  }
  const size_t colon = rest.find(':');
  if (colon != std::string_view::npos) {
    size = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
  }
  request.card = find_card(rest);
  if (request.card == nullptr) return no_such_card(rest);
  request.bytes = request.card->bytes();
  if (colon != std::string_view::npos) {
    const auto bytes = read_size(size);
    if (!bytes || *bytes < kLeastBytes)
      return wrong("is not the size of a GPU's memory: 64MiB or more, like H100:24GiB");
    request.bytes = *bytes;
  }
  return request;
}

}  // namespace tapelens::simulated
