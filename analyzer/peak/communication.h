// Finds the memory of communication between ranks: results of collectives, and buffers of FSDP, DDP, tensor parallelism
// and pipelines. The operator identifies it, or the file of PyTorch that allocated it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/text.h"
#include "analyzer/peak/timeline.h"

namespace tapelens::peak {

enum class Traffic : uint8_t {
  none,
  ddp_bucket,
  all_gather,
  reduce_scatter,
  all_reduce,
  all_to_all,
  broadcast,
  pipeline,
  collective  // a different collective, or one of several
};
const char* traffic_name(Traffic traffic);  // "DDP bucket", "all-gather"; "" of none

class Communication {
 public:
  Communication(const Process& process, const Text& text);

  Traffic of(AllocationId allocation);

 private:
  Traffic of_operator(StringId name);
  Traffic of_stack(StackId stack);

  const Process& p_;
  const Text& text_;
  bool is_there_ = false;                // whether the names of files show any communication
  std::vector<uint8_t> names_, stacks_;  // by id: Traffic + 1; 0: not computed yet
};

}  // namespace tapelens::peak
