// The numeric attributes of a GPU: the runtime and the driver use the same numbers.
#pragma once

namespace tapelens::simulated {

// cudaDeviceAttr and CUdevice_attribute; 0 for a feature that the GPU lacks, or an unpublished value.
int attribute(int number, int device);
void put_uuid(int ordinal, unsigned char (&uuid)[16]);  // the same for NVML and the runtime
constexpr int kPciTextBytes = 16;
// "00000000:01:00.0" with `wide`, "0000:01:00.0" without.
void put_pci_bus_id(int ordinal, bool wide, char* text, int room);
// The ordinal of the GPU with this PCI address; -1 if not found.
int ordinal_of_pci_bus_id(const char* text);

}  // namespace tapelens::simulated
