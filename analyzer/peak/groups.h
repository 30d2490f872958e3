// The peak set summed by one of several keys. Every allocation goes to its main holder's group, so the groups of any
// key sum to the peak exactly.
#pragma once

#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/steps.h"
#include "analyzer/model/text.h"
#include "analyzer/peak/frame_names.h"
#include "analyzer/peak/holders.h"

namespace tapelens::peak {

// module: the owner of a parameter, its gradient and its optimizer state; for all other memory, the module that made
// it. stack: the program's frames that made it, without those of PyTorch and the language.
enum class By : uint8_t { field, node, module, source, op, category, step, stack };
inline constexpr const char* kByNames[] = {"field",    "node",     "module", "source",
                                           "operator", "category", "step",   "stack"};
inline constexpr size_t kBys = std::size(kByNames);

std::optional<By> parse_by(std::string_view word);  // one of kByNames
const char* by_name(By by);

struct AllocationGroup {
  std::string key;
  Bytes bytes;
  uint64_t allocations = 0;
  uint32_t biggest = 0;  // index of its biggest member in PeakSet::members
};

// The most bytes first, then by key.
std::vector<AllocationGroup> groups(const Process& process, const Text& text, const std::vector<Step>& steps,
                                    const PeakSet& set, By by);

struct Category {
  HolderKind kind{};
  Bytes bytes;
  uint64_t allocations = 0;
};
// In the order of HolderKind; kinds without bytes are left out.
std::vector<Category> categories(const PeakSet& set);

// "ConvolutionBackward0.input"; "(unattributed).input" if the node is not known.
std::string field_text(const Process& process, const Text& text, NodeId node, StringId field);

// Separates the frames of a stack, the outermost first: "train.py:40 main > model.py:12 Net.forward".
inline constexpr const char* kBetweenFrames = " > ";
// Names of two groups: stacks without a frame of the program, and no stack.
inline constexpr const char* kOtherFrames = "(PyTorch's own frames)";
inline constexpr const char* kNoStack = "(no stack)";

// "train.py:42 forward", with `folders` folders before the file. Native frames without a line have no line number.
std::string frame_text(const Text& text, FrameId frame, unsigned folders = 0);
SourceLine place_of(const Text& text, FrameId frame);

}  // namespace tapelens::peak
