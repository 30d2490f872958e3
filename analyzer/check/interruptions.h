// Where the program was cut short in what it was doing, so that what it would have done next is not known: a request
// that found a device out of memory, an exception that nobody caught, a signal, the end of the recorded steps.
#pragma once

#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::check {

class Interruptions {
 public:
  explicit Interruptions(const model::Process& process);

  // Whether what was made and died then was cut short: made since the last step before an interruption, and alive at
  // it. That nobody used it afterwards says nothing then.
  bool cut(model::Interval life) const;

 private:
  struct Interruption {
    model::Interval making;  // what was made then
    model::Time alive;       // and lived then
  };
  std::vector<Interruption> all_;
};

}  // namespace tapelens::check
