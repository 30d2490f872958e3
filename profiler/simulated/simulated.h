// The values of a simulated GPU: what the probe calls. What observe tells is in observe/observers.h.
#pragma once

namespace tapelens::simulated {

// Whether this process has a simulated GPU whose values can be kept. Before watch().
bool start();
void watch();

}  // namespace tapelens::simulated
