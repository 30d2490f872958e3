// A made recording of operators one after the other, and the findings of one check in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "plugins/builtin.h"
#include "testing/model_builder.h"

namespace tapelens::testing {

struct AdvisedRecording : ProcessBuilder {
  int64_t now = 10;

  OperatorId run(const std::string& name, StackId line, const std::vector<AllocationId>& inputs = {}) {
    now += 10;
    return op(now, now + 5, name, {}, line, inputs);
  }
  AllocationId make(const std::string& name, StackId line, int64_t bytes,
                    const std::vector<AllocationId>& inputs = {}) {
    const OperatorId made = run(name, line, inputs);
    return allocate(now + 1, bytes, made);
  }
  void drop(AllocationId allocation) { free(++now + 8, allocation); }

  // Ends the recording.
  advise::Advice advice(const std::string& check, DeviceId device = kCpu) {
    process.information.push_back({string("torch_version"), string("2.15.0")});
    process.duration = Time{now + 100};
    done();
    advise::Checks checks = plugins::builtin_checks();
    advise::AdviceOptions wanted;
    wanted.checks = {check};
    return advise::advise(peak::DeviceAnalysis(peak::Analysis(process, text), device), checks, wanted);
  }
};

}  // namespace tapelens::testing
