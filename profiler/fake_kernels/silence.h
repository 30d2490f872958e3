// While it lives, PyTorch's warnings do not reach the program, because our own calls cause them.
#pragma once

#include <c10/util/Exception.h>

namespace tapelens::fake_kernels {

class Silence {
  class Nobody final : public c10::WarningHandler {
   public:
    void process(const c10::Warning&) override {}
  };
  Nobody nobody_;
  c10::WarningUtils::WarningHandlerGuard guard_{&nobody_};
};

}  // namespace tapelens::fake_kernels
