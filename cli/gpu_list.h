// tapelens fit --list-gpus: the GPUs that can be simulated.
#pragma once

namespace tapelens::cli {

int list_gpus();  // returns an exit code

}  // namespace tapelens::cli
