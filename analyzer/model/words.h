// Amounts and names of saves as text, for checks, reports and options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/types.h"

namespace tapelens::model {

std::string bytes_text(trace::Bytes bytes);  // "812.3 MiB", "96 B"
// "8GiB", "500 MB", "64K", "1073741824": KiB, MiB, GiB, TiB and PiB are powers of 1024, KB, MB, GB, TB and PB powers of
// 1000, in upper or lower case. A single letter is a power of 1024, as in GNU's tools. Empty if the text is not a size.
std::optional<uint64_t> parse_bytes(std::string_view text);
std::string hex_text(uint64_t number);                                            // 16 digits
std::string count_text(uint64_t count);                                           // "1,204"
std::string plural(uint64_t count, std::string_view one, std::string_view many);  // "1 save", "1,204 saves"
std::string counted(uint64_t count, std::string_view noun);                       // "3 steps", "1 step"

// ---- names of saves. In a function that torch.compile made, the compiler chooses the saves: no line of the program
// and no rewrite changes them

// Whether the type of a node is that of a compiled function.
inline bool is_compiled(std::string_view type) { return type == "CompiledFunctionBackward"; }

// The name of a save: "ConvolutionBackward0.input", or "(unattributed).input" for an unknown node. If the graph of a
// compiled function is known, the field alone is the name: "addmm (model.py:7 Net.forward) saved_tensors[10]".
inline std::string field_name(std::string_view type, std::string_view field) {
  if (is_compiled(type) && field.find(' ') != std::string_view::npos) return std::string(field);
  return std::string(type.empty() ? "(unattributed)" : type) + "." + std::string(field);
}

// Whether a name that field_name() returned is that of a compiled function's save.
inline bool names_compiled(std::string_view field) {
  return field.starts_with("CompiledFunctionBackward.") || field.find(" saved_tensors[") != std::string_view::npos;
}

}  // namespace tapelens::model
