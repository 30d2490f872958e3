// While it lives, no warning of PyTorch reaches the program: what we do is not the program's.
#pragma once

#include <c10/util/Exception.h>

namespace tapelens::simulated {

class Silence {
  class Nobody final : public c10::WarningHandler {
   public:
    void process(const c10::Warning&) override {}
  };
  Nobody nobody_;
  c10::WarningUtils::WarningHandlerGuard guard_{&nobody_};
};

}  // namespace tapelens::simulated
