// Saves of a GPU in pinned memory of the host: the copies of storages to the host and back.
//
// Each device has one stream for these copies, of Tapelens' own. A copy to the host waits for the work so far of the
// stream that made the storage, and that stream waits for the copy before it reuses the memory. So the allocator needs
// no deferred frees, and the memory of the program does not depend on the speed of the copies. The memory for values
// that return comes from the allocator for the same stream, as without the rewrite.
//
// Pinned memory comes from PyTorch's allocator, which keeps freed blocks for later copies.
#pragma once

#include <c10/core/Storage.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <memory>

#include "profiler/rewrite/rewrite.h"
#include "profiler/versions/version.h"

namespace tapelens::rewrite {

// The rewrite that offloads belong to; null: it is not requested anywhere.
const RewriteInfo* offloading();

// Begins to copy a storage to the host. `maker`: the stream of its content. `order`: that of its version. Null, with
// `reason` for the user: the limit of the host's memory is reached.
std::shared_ptr<versions::Offloaded> copy_to_host(const c10::Storage& storage, c10::Stream maker, uint64_t order,
                                                  const char*& reason);
// A backward reads a save of the device: the offloaded saves before it begin to return.
void read_ahead(c10::Device device, uint64_t order);
// The number of the next save, for versions::Hook.
uint64_t next_order();

}  // namespace tapelens::rewrite
