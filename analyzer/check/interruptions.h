// The times at which the program was interrupted, so that its next actions are unknown: a request that found a device
// out of memory, an uncaught exception, a signal, the end of the recorded steps.
#pragma once

#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::check {

class Interruptions {
 public:
  explicit Interruptions(const model::Process& process);

  // Whether an interruption cut short the use of memory with this lifetime: the program made it after the last step
  // before the interruption, and it was alive then. Then the lack of later uses proves nothing.
  bool cut(model::Interval life) const;

 private:
  struct Interruption {
    model::Interval making;  // birth of the affected memory
    model::Time alive;       // time of the interruption, at which the memory was alive
  };
  std::vector<Interruption> all_;
};

}  // namespace tapelens::check
