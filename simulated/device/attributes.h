// What a GPU is, in numbers: the runtime and the driver ask by the same numbers.
#pragma once

namespace tapelens::simulated {

// cudaDeviceAttr and CUdevice_attribute; 0 for what the GPU has not, or nobody published.
int attribute(int number, int device);
void put_uuid(int ordinal, unsigned char (&uuid)[16]);  // as NVML and the runtime both tell it
constexpr int kPciTextBytes = 16;
// "00000000:01:00.0" with `wide`, "0000:01:00.0" without.
void put_pci_bus_id(int ordinal, bool wide, char* text, int room);
// The GPU of a machine that has this PCI address; -1 if none has.
int ordinal_of_pci_bus_id(const char* text);

}  // namespace tapelens::simulated
