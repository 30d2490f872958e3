// The memory of a device as Perfetto's heap profile: the bytes of each stack at the peak of each step.
#pragma once

#include <cstdint>

#include "analyzer/export/exported_processes.h"
#include "analyzer/export/sink.h"

namespace tapelens::exporting {

// `sequence`: the number of a PacketSequence that nothing else uses.
void write_heap_profile(const ExportedProcesses& processes, const ExportedProcess& exported, DeviceId device,
                        uint32_t sequence, ByteSink& sink);

}  // namespace tapelens::exporting
