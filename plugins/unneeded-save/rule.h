// Saved fields that no gradient needs: the rows "never" of the tables from the experiment tools/needs. The check and
// the rewrite both use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "policy/catalog.h"

namespace tapelens::plugins::unneeded_save {

inline constexpr policy::RewriteInfo kRewrite{
    .id = "unneeded-save", .level = policy::Level::never_read, .title = "saves that no gradient needs"};

inline constexpr uint64_t kAnyWanted = ~uint64_t{0};

struct Need {
  std::string_view node, field;
  uint64_t wanted;             // bit i: the gradient along edge i is wanted; kAnyWanted: for nodes with lists of inputs
  std::string_view when;       // "training=False": required attributes of the node, as in a recording
  bool on_cuda;                // also valid for the kernels of CUDA (cuda.json)
  uint32_t samples;            // number of samples in the experiment
  std::string_view operators;  // PyTorch's tests with such nodes
};

struct NeedsOfMinor {
  std::string_view minor;      // "2.15"
  std::span<const Need> rows;  // sorted by node, then by field
};
extern const NeedsOfMinor kNeedsOfMinors[];
extern const size_t kMinors;

// `torch_version`: "2.15.0+cpu"; none: that minor version was not measured.
std::optional<std::span<const Need>> needs_of(std::string_view torch_version);

// The rows of one field of one type of node.
std::span<const Need> needs_of(std::span<const Need> rows, std::string_view node, std::string_view field);

// Whether the row is about nodes with these wanted gradients and attributes ("a=1,b=None").
bool holds(const Need& need, uint64_t wanted, std::string_view attributes);

}  // namespace tapelens::plugins::unneeded_save
