// Classes of growth between two runs, and their colours in pictures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "analyzer/peak/holders.h"

namespace tapelens::compare {

using model::Bytes;

// How memory changed. Each class has its colour in pictures.
enum class Growth : uint8_t { removed, halved, decreased, same, increased, doubled, is_new };
inline constexpr size_t kGrowths = 7;
Growth growth_of(Bytes a, Bytes b);
const char* label(Growth growth);  // "at least doubled"
// In the order of Growth, 0xRRGGBB: blue shrinks, red grows.
inline constexpr std::array<uint32_t, kGrowths> kGrowthOnLight = {0x0b4f94, 0x3f8fd0, 0xa9cdea, 0xd3d7dc,
                                                                  0xf3b7a8, 0xdf6a55, 0xab1f16};
inline constexpr std::array<uint32_t, kGrowths> kGrowthOnDark = {0x8cc8ff, 0x3d86c6, 0x24496b, 0x4a515b,
                                                                 0x74352c, 0xc9513f, 0xff9d8c};

}  // namespace tapelens::compare
