// Sample advice: one finding of each kind that has its own rendering.
#pragma once

#include "analyzer/advise/advice.h"

namespace tapelens::testing {

inline advise::Advice sample_advice() {
  using advise::Bytes;
  using advise::Time;
  constexpr int64_t kMiB = 1 << 20;
  advise::Advice advice;
  advice.peak_before = Bytes{9 * kMiB};
  advice.peak_after_all = Bytes{6 * kMiB};
  advice.peak_after_all_time = Time{420};
  advice.left = {{peak::HolderKind::save,
                  Bytes{4 * kMiB},
                  7,
                  "MulBackward0.self",
                  Bytes{3 * kMiB},
                  "Net.head",
                  {"/home/me/net/layers.py", "Block.forward", 30}},
                 {peak::HolderKind::parameter, Bytes{2 * kMiB}, 3, "", {}, "", {}}};
  advice.checks = {"duplicate-save", "idle-holder", "trivial-concat", "unneeded-save"};
  advice.refused = {"wide-save (built in): option 'min-bytes' is 'much', not a size like 64KiB"};

  advise::Finding unneeded;
  unneeded.id = "00c0ffee00c0ffee";
  unneeded.check = "unneeded-save";
  unneeded.severity = check::Severity::warning;
  unneeded.title = "conv input kept for an unused weight gradient";
  unneeded.message = "ConvolutionBackward0 keeps its input | for the gradient of a weight that needs none.";
  unneeded.bytes = Bytes{4 * kMiB};
  unneeded.occurrences = 6;
  unneeded.sites = 2;
  unneeded.steps = {0, 1, 2};
  unneeded.step_count = 3;
  unneeded.peak_before = advice.peak_before;
  unneeded.peak_after = Bytes{7 * kMiB};
  unneeded.is_in_all = true;
  unneeded.node = "ConvolutionBackward0";
  unneeded.field = "input";
  unneeded.op = "aten::conv2d";
  unneeded.module = "Net.stages.*.conv1";
  unneeded.source = {"/home/me/net/layers.py", "Block.forward", 12};
  unneeded.innermost = unneeded.source;
  unneeded.stack = {{"/venv/lib/python3.12/site-packages/torch/nn/modules/conv.py", "Conv2d.forward", 554},
                    unneeded.source,
                    {"/home/me/train one.py", "main", 31}};
  for (int64_t i = 0; i < 4; ++i) {
    unneeded.evidence.push_back({Bytes{(4 - i) * kMiB / 2},
                                 true,
                                 static_cast<uint64_t>(i + 1),
                                 "ConvolutionBackward0",
                                 "input",
                                 "aten::relu",
                                 "float32 [8, " + std::to_string(64 >> i) + ", 64, 16]",
                                 {"ReluBackward0.result", "program"},
                                 Time{100 + i},
                                 i == 0 ? advise::kNever : Time{500}});
  }
  unneeded.evidence_left_out = 5;
  unneeded.notes = {"The table of needs, 212 samples: the input is needed for the gradient of weight alone."};
  unneeded.fix = {check::FixKind::rewrite, "unneeded-save", {}, "Freeze before the forward, or apply the rewrite."};

  advise::Finding shared = unneeded;
  shared.id = "0123456789abcdef";
  shared.check = "duplicate-save";
  shared.severity = check::Severity::info;
  shared.is_proved = false;
  shared.title = "the same values kept twice";
  shared.message = "Two saves hold what is probably the same.";
  shared.bytes = Bytes{2 * kMiB};
  shared.peak_after = advice.peak_before;
  shared.retained_at_peak_with_all = Bytes{kMiB};
  shared.notes.clear();
  shared.evidence.resize(1);
  shared.evidence_left_out = 0;
  shared.fix = {
      check::FixKind::patch, "", {{"net.py", {{0, "x = y.clone()\n"}}, {{0, 1, {"x = y\n"}}}}}, "Use one of them."};

  advise::Finding still = shared;
  still.id = "1111111111111111";
  still.check = "trivial-concat";
  still.is_proved = true;
  still.title = "aten::cat of a single tensor copies it";
  still.retained_at_peak_with_all = Bytes{};
  still.occurrences = still.sites = still.step_count = 1;
  still.source = {};
  still.stack.clear();
  still.fix = {check::FixKind::advice, "", {}, "Use the tensor itself."};

  advise::Finding other = still;
  other.id = "2222222222222222";
  other.check = "idle-holder";
  other.is_alternative = true;
  other.is_in_all = false;
  other.title = "batches that live on after their last use";
  other.peak_after = Bytes{8 * kMiB};
  advice.findings = {shared, unneeded, still, other};
  using Kind = advise::Entry::Kind;
  advice.entries = {{Kind::code, {0}, Bytes{9 * kMiB}, Bytes{8 * kMiB}, false},
                    {Kind::automatic, {1}, Bytes{8 * kMiB}, Bytes{6 * kMiB}, false},
                    {Kind::consider, {2}, Bytes{6 * kMiB}, Bytes{6 * kMiB}, true},
                    {Kind::trade, {3}, Bytes{9 * kMiB}, Bytes{8 * kMiB}, false}};
  return advice;
}

}  // namespace tapelens::testing
