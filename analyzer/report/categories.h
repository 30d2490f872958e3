// The categories of memory, as every view shows them: names and colours.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "analyzer/peak/holders.h"
#include "analyzer/text/layout.h"

namespace tapelens::report {

// The name of a category in text: "saved for backward".
using peak::label;

// A group's key; for a category, its name in text.
std::string group_text(const std::string& key);

// The color of a category's bars in a terminal.
text::Paint paint_of(peak::HolderKind kind);

// For the window and the HTML page:
// Okabe and Ito's colours, which people with any kind of colour vision can distinguish, and shades between them. They
// are adjusted for legible text on them and for contrast with the background. In the order of HolderKind; 0xRRGGBB.
inline constexpr std::array<uint32_t, peak::kHolderKinds> kRolesOnLight = {
    0x2f74c0, 0x1b9e77, 0xd55e00, 0xb565a7, 0x56b4e9, 0x6c5fc7, 0x6f9f2f,
    0x0e8fa0, 0x8c6d31, 0xc23b5e, 0xe6a117, 0x343b45, 0x9aa3b0, 0x7a8fa6};
inline constexpr std::array<uint32_t, peak::kHolderKinds> kRolesOnDark = {
    0x4e93dd, 0x2bb38a, 0xe8772e, 0xc77fbb, 0x74c3f0, 0x8f84e6, 0x8fbf5a,
    0x3fb5c4, 0xb8935a, 0xe5708c, 0xf0b53c, 0xe8ecf1, 0x79828f, 0x8fa3b8};

}  // namespace tapelens::report
