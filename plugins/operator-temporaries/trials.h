// Workspaces in which cuDNN tries algorithms (torch.backends.cudnn.benchmark): the first convolution of a size makes
// larger temporaries than all later ones of that line and size.
#pragma once

#include <map>
#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

// By temporary of a first call: the bytes of the largest temporary of the later calls. `temporaries`: in the order of
// time.
std::map<AllocationId, Bytes> convolution_trials(const Context& context, const std::vector<AllocationId>& temporaries);

}  // namespace tapelens::check
