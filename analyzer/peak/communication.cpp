#include "analyzer/peak/communication.h"

#include <array>
#include <string_view>

namespace tapelens::peak {

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// `name`: an operator without its library, or a function.
Traffic named(std::string_view name) {
  if (has(name, "all_gather") || has(name, "allgather")) return Traffic::all_gather;
  if (has(name, "reduce_scatter") || has(name, "foreach_reduce")) return Traffic::reduce_scatter;
  if (has(name, "all_reduce") || has(name, "allreduce")) return Traffic::all_reduce;
  if (has(name, "all_to_all") || has(name, "alltoall")) return Traffic::all_to_all;
  if (has(name, "broadcast")) return Traffic::broadcast;
  return Traffic::none;
}

constexpr std::string_view kDistributed = "/torch/distributed/", kParallel = "/torch/nn/parallel/distributed.py",
                           kSharding = "/torch/distributed/fsdp/", kPipelining = "/torch/distributed/pipelining/";

// Frames that PyTorch puts between a function and the operator that it calls.
bool is_between(std::string_view file) {
  return file.ends_with("/torch/_ops.py") || file.ends_with("/torch/utils/_contextlib.py") ||
         file.ends_with("/torch/utils/_device.py");
}

}  // namespace

const char* traffic_name(Traffic traffic) {
  switch (traffic) {
    case Traffic::none:
      break;
    case Traffic::ddp_bucket:
      return "DDP bucket";
    case Traffic::all_gather:
      return "all-gather";
    case Traffic::reduce_scatter:
      return "reduce-scatter";
    case Traffic::all_reduce:
      return "all-reduce";
    case Traffic::all_to_all:
      return "all-to-all";
    case Traffic::broadcast:
      return "broadcast";
    case Traffic::pipeline:
      return "pipeline";
    case Traffic::collective:
      return "collective";
  }
  return "";
}

Communication::Communication(const Process& process, const Text& text) : p_(process), text_(text) {
  for (uint32_t frame = 1; frame <= text.frame_file.rows() && !is_there_; ++frame) {
    const std::string_view file = text.string(text.frame_file[FrameId{frame}]);
    is_there_ = has(file, kDistributed) || has(file, kParallel);
  }
  if (!is_there_) return;
  names_.resize(text.string_begin.size());
  stacks_.resize(text.stack_begin.size());
}

Traffic Communication::of(AllocationId allocation) {
  if (!is_there_) return Traffic::none;
  StackId stack = p_.allocations.stack[allocation];
  for (OperatorId op = p_.allocations.op[allocation]; op; op = p_.operators.parent[op]) {
    if (const Traffic traffic = of_operator(p_.operators.name[op]); traffic != Traffic::none) return traffic;
    if (!stack) stack = p_.operators.stack[op];
  }
  return of_stack(stack);
}

Traffic Communication::of_operator(StringId name) {
  uint8_t& known = names_[name.value];
  if (known == 0) {
    const std::string_view text = text_.string(name);
    constexpr std::array<std::string_view, 4> kLibraries = {"c10d::", "_c10d_functional::", "_dtensor::", "fsdp::"};
    Traffic traffic = Traffic::none;
    for (const std::string_view library : kLibraries) {
      if (!text.starts_with(library)) continue;
      traffic = named(text);
      if (traffic == Traffic::none && library != "fsdp::") traffic = Traffic::collective;
    }
    known = static_cast<uint8_t>(static_cast<int>(traffic) + 1);
  }
  return static_cast<Traffic>(known - 1);
}

// Reads the innermost frames while they belong to communication. A module that communication calls owns its
// allocations.
Traffic Communication::of_stack(StackId stack) {
  uint8_t& known = stacks_[stack.value];
  if (known != 0) return static_cast<Traffic>(known - 1);
  Traffic traffic = Traffic::none;
  for (const FrameId frame : text_.stack(stack)) {
    const std::string_view file = text_.string(text_.frame_file[frame]);
    const std::string_view function = text_.string(text_.frame_function[frame]);
    if (is_between(file)) continue;
    if (has(file, kParallel)) {
      if (function.ends_with("_ddp_init_helper") || function.ends_with("_pre_forward")) traffic = Traffic::ddp_bucket;
      break;
    }
    if (has(file, kPipelining)) {
      traffic = Traffic::pipeline;
      break;
    }
    if (!has(file, kDistributed)) break;
    traffic = named(function);
    // FSDP itself allocates only the gathered parameters: it frees their storage, and fills it again.
    if (traffic == Traffic::none && has(file, kSharding) && function.ends_with("alloc_storage"))
      traffic = Traffic::all_gather;
    if (traffic != Traffic::none) break;
  }
  known = static_cast<uint8_t>(static_cast<int>(traffic) + 1);
  return traffic;
}

}  // namespace tapelens::peak
