// The values of a simulated GPU: the functions for the probe. observe/observers.h has those for observe.
#pragma once

namespace tapelens::fake_kernels {

// Whether this process has a simulated GPU with supported values. Called before watch().
bool start();
void watch();

}  // namespace tapelens::fake_kernels
