// Data that a recording lacks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::run {

struct Lost {
  std::string kind;  // "disk_full"
  std::string what;  // one sentence for the user
  uint64_t count = 0;
  model::Time since;
  uint32_t pid = 0;
  bool is_data = true;  // false for forked children: they are counted, but recording leaves them out
};

std::vector<Lost> losses_of(const model::Process& process);
std::vector<Lost> losses_of(const model::Text& text);  // losses of the shared tables: pid 0
bool is_complete(const std::vector<Lost>& lost);       // no data was lost
// Two sentences about a CUDA allocator that does not report its allocations; empty without a name.
std::string hidden_text(std::string_view cuda_allocator);

}  // namespace tapelens::run
