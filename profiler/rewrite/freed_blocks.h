// The CPU's freed blocks wait for their next use (profiler/heap/block_cache.h) below PyTorch's allocator.
#pragma once

namespace tapelens::rewrite {

// Only in a process that rewrites and does not record. Does nothing if the process has a limit of its memory
// (RLIMIT_AS, RLIMIT_DATA).
void reuse_freed_blocks();

}  // namespace tapelens::rewrite
