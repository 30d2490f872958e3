// Advice does not offer a technique in use, and names the others in the words of the framework.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/advise/advice.h"
#include "analyzer/check/frameworks.h"
#include "analyzer/report/advice_text.h"
#include "plugins/builtin.h"
#include "testing/model_builder.h"

namespace tapelens::advise {
namespace {

using peak::Framework;
using peak::HolderKind;
using peak::InUse;
using peak::Technique;
using testing::kCpu;
using testing::ProcessBuilder;

constexpr int64_t kBytes = 1 << 20;
const std::string kPackages = "/venv/lib/python3.12/site-packages";

struct Recording : ProcessBuilder {
  InUse in_use() {
    done();
    return peak::Analysis(process, text).in_use();
  }
  Advice advice(const std::string& check, DeviceId device = kCpu) {
    process.information.push_back({string("torch_version"), string("2.15.0")});
    done();
    Checks checks = plugins::builtin_checks();
    AdviceOptions wanted;
    wanted.checks = {check};
    return advise(peak::DeviceAnalysis(peak::Analysis(process, text), device), checks, wanted);
  }
};

std::string remedy(HolderKind kind, const InUse& in_use, const std::string& largest = "") {
  Remaining left;
  left.kind = kind;
  left.largest = largest;
  return report::remedy_text(left, in_use);
}

// ---- what the recording shows -----------------------------------------------------------------------------------

struct File {
  std::string path;
  Technique technique;
};

class OfFile : public ::testing::TestWithParam<File> {};
TEST_P(OfFile, IsInUse) {
  Recording recording;
  recording.stack({recording.frame(kPackages + GetParam().path, 1, "f"), recording.frame("train.py", 7, "main")});
  EXPECT_TRUE(recording.in_use().has(GetParam().technique));
}
INSTANTIATE_TEST_SUITE_P(InUse, OfFile,
                         ::testing::Values(File{"/torch/distributed/fsdp/_fully_shard/_fsdp_state.py",
                                                Technique::sharding},
                                           File{"/torch/nn/parallel/distributed.py", Technique::data_parallel},
                                           File{"/torch/utils/checkpoint.py", Technique::checkpointing},
                                           File{"/peft/tuners/lora/layer.py", Technique::adapters}));

TEST(InUse, NothingIsInUseInAPlainProgram) {
  Recording recording;
  const AllocationId weight = recording.allocate(1, kBytes);
  recording.role(2, weight, Role::parameter, "weight");
  const OperatorId cast = recording.op(3, 6, "aten::to", {}, recording.stack({recording.frame("train.py", 7, "main")}));
  recording.allocate(4, kBytes / 2, recording.op(3, 5, "aten::_to_copy", cast, {}, {weight}));
  recording.optimizer_step(8, 9, "AdamW");
  recording.backward(6, 7);
  const InUse in_use = recording.in_use();
  for (const Technique one : {Technique::sharding, Technique::checkpointing, Technique::autocast,
                              Technique::half_weights, Technique::compact_optimizer, Technique::step_in_backward}) {
    EXPECT_FALSE(in_use.has(one)) << static_cast<int>(one);
  }
}

TEST(InUse, AnOperatorOfFsdpIsSharding) {
  Recording recording;
  recording.op(1, 2, "fsdp::all_gather_copy_in");
  EXPECT_TRUE(recording.in_use().has(Technique::sharding));
}

TEST(InUse, AWeightThatALayerCastsIsAutocast) {
  Recording recording;
  const AllocationId weight = recording.allocate(1, kBytes);
  recording.role(2, weight, Role::parameter, "weight");
  const OperatorId linear = recording.op(3, 9, "aten::linear");
  recording.allocate(5, kBytes / 2, recording.op(4, 6, "aten::_to_copy", linear, {}, {weight}));
  EXPECT_TRUE(recording.in_use().has(Technique::autocast));
}

TEST(InUse, WeightsOfTwoBytesAreHalf) {
  Recording recording;
  const AllocationId weight = recording.allocate(1, kBytes);
  recording.role(2, weight, Role::parameter, "weight");
  recording.save(4, recording.node(3, "AddmmBackward0"), "mat2", weight, recording.layout("bfloat16", 2, {kBytes / 2}));
  EXPECT_TRUE(recording.in_use().has(Technique::half_weights));
}

TEST(InUse, AnOptimizerOfEightBitsIsCompact) {
  Recording recording;
  recording.optimizer_step(8, 9, "AdamW8bit");
  EXPECT_TRUE(recording.in_use().has(Technique::compact_optimizer));
}

TEST(InUse, AStepInsideABackwardIsSeen) {
  Recording recording;
  recording.backward(6, 12);
  recording.optimizer_step(8, 9, "AdamW");
  EXPECT_TRUE(recording.in_use().has(Technique::step_in_backward));
}

// ---- remedies ---------------------------------------------------------------------------------------------------

TEST(Remedies, OfAPlainProgramAreAll) {
  EXPECT_EQ(remedy(HolderKind::save, {}),
            "try a smaller micro-batch, autocast to bfloat16, or activation checkpointing");
  EXPECT_EQ(remedy(HolderKind::parameter, {}), "try bfloat16 weights, sharding (FSDP2), or adapters (LoRA)");
}

TEST(Remedies, ThatAreInUseAreLeftOut) {
  const InUse sharded{Technique::sharding};
  for (const HolderKind kind : {HolderKind::parameter, HolderKind::gradient, HolderKind::optimizer_state}) {
    EXPECT_EQ(remedy(kind, sharded).find("sharding"), std::string::npos) << remedy(kind, sharded);
  }
  EXPECT_EQ(remedy(HolderKind::communication, sharded), "try more and smaller units of FSDP2");
  EXPECT_EQ(remedy(HolderKind::communication, {Technique::data_parallel}),
            "try smaller buckets (bucket_cap_mb, gradient_as_bucket_view)");
  EXPECT_EQ(remedy(HolderKind::save, {Technique::checkpointing, Technique::autocast}), "try a smaller micro-batch");
  EXPECT_EQ(remedy(HolderKind::optimizer_state, {Technique::sharding, Technique::compact_optimizer}), "");
}

TEST(Remedies, OfASoftmaxThatIsOfNoLossAreNotThoseOfALoss) {
  EXPECT_EQ(remedy(HolderKind::op, {}, "aten::_softmax_backward_data"),
            "try a smaller micro-batch, or the operator on parts of its input");
  EXPECT_EQ(remedy(HolderKind::op, {}, "aten::_log_softmax_backward_data"),
            "try the loss in chunks of rows, or a fused one");
}

TEST(Remedies, AreSaidInTheWordsOfTheFramework) {
  const InUse trainer{{}, {Framework::transformers_trainer, Framework::transformers_model, Framework::accelerate}};
  EXPECT_EQ(remedy(HolderKind::save, trainer),
            "try TrainingArguments(per_device_train_batch_size=N, gradient_accumulation_steps=M), "
            "TrainingArguments(bf16=True), or TrainingArguments(gradient_checkpointing=True)");
  const InUse lightning{{}, {Framework::lightning}};
  EXPECT_EQ(remedy(HolderKind::save, lightning),
            "try a smaller batch with Trainer(accumulate_grad_batches=N), Trainer(precision=\"bf16-mixed\"), or "
            "activation checkpointing");
}

struct Words {
  InUse in_use;
  check::Remedy remedy;
  std::string text;
};
class OfFramework : public ::testing::TestWithParam<Words> {};
TEST_P(OfFramework, HasAPhrase) {
  EXPECT_EQ(check::in_framework(GetParam().in_use, GetParam().remedy), GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(
    InUse, OfFramework,
    ::testing::Values(
        Words{{}, check::Remedy::checkpointing, ""},
        // A model of the user's own under the Trainer has no such switch.
        Words{{{}, {Framework::transformers_trainer}}, check::Remedy::checkpointing, ""},
        Words{{{}, {Framework::transformers_model}},
              check::Remedy::checkpointing,
              "model.gradient_checkpointing_enable()"},
        Words{{{}, {Framework::lightning, Framework::transformers_model}},
              check::Remedy::checkpointing,
              "model.gradient_checkpointing_enable()"},
        Words{{{}, {Framework::diffusers, Framework::accelerate}},
              check::Remedy::checkpointing,
              "model.enable_gradient_checkpointing()"},
        Words{{{}, {Framework::trl, Framework::transformers_trainer, Framework::transformers_model}},
              check::Remedy::fused_loss,
              "use_liger_kernel=True in the trainer's config (SFTConfig, DPOConfig)"},
        Words{{{}, {Framework::accelerate}}, check::Remedy::autocast, "Accelerator(mixed_precision=\"bf16\")"}));

// ---- checkpoints ------------------------------------------------------------------------------------------------

// Six layers, each with a saved result. The first `checkpointed` run under torch.utils.checkpoint.
Advice advice_of_layers(int checkpointed, const std::string& file) {
  Recording r;
  const auto library = [&](const std::string& path, const std::string& function) {
    return r.frame(kPackages + path, 9, function);
  };
  const FrameId main = r.frame("train.py", 7, "main"), forward = r.frame(file, 3, "forward");
  const FrameId call = library("/torch/nn/modules/module.py", "Module._call_impl");
  const StackId bare = r.stack({forward, call, main});
  const StackId inside = r.stack({forward, call, library("/torch/utils/checkpoint.py", "checkpoint"), main});
  std::vector<NodeId> nodes;
  std::vector<AllocationId> tensors;
  int64_t now = 10;
  for (int i = 0; i < 6; ++i, now += 10) {
    const ModuleCallId of = r.call(now, now + 9, r.module("Net.layers." + std::to_string(i), "Layer"));
    const OperatorId op = r.op(now + 1, now + 5, "aten::sigmoid", {}, i < checkpointed ? inside : bare);
    r.process.operators.module_call.raw[op.value] = of.value;
    tensors.push_back(r.allocate(now + 2, kBytes, op));
    nodes.push_back(r.node(now + 3, "SigmoidBackward0", op));
    r.save(now + 4, nodes.back(), "result", tensors.back());
  }
  r.allocate(now++, kBytes);
  r.backward(now, now + 100);
  for (size_t i = nodes.size(); i-- > 0; now += 10) {
    r.evaluate(now, now + 3, nodes[i], true);
    r.free(now + 4, tensors[i]);
  }
  return r.advice("checkpoint-candidate");
}

TEST(CheckpointCandidate, IsACallThatTheProgramDoesNotCheckpoint) {
  const Advice advice = advice_of_layers(3, "net.py");
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].occurrences, 3u);
  EXPECT_NE(advice.findings[0].notes.back().find("checkpointed already"), std::string::npos);
  EXPECT_TRUE(advice_of_layers(6, "net.py").findings.empty());
}

TEST(CheckpointCandidate, OfALibraryIsCheckpointedByItsSwitch) {
  const Advice own = advice_of_layers(0, "net.py");
  ASSERT_EQ(own.findings.size(), 1u);
  EXPECT_TRUE(own.findings[0].fix.text.starts_with("torch.utils.checkpoint.checkpoint(")) << own.findings[0].fix.text;
  const Advice library = advice_of_layers(0, kPackages + "/transformers/models/gpt2/modeling_gpt2.py");
  ASSERT_EQ(library.findings.size(), 1u);
  EXPECT_TRUE(library.findings[0].fix.text.starts_with("model.gradient_checkpointing_enable(), about"));
}

// ---- variables --------------------------------------------------------------------------------------------------

// A tensor that a library function makes in line 7 of the program, and that is idle at the peak, which is in `peak`.
size_t idle_holders(uint32_t line_of_peak) {
  Recording r;
  const FrameId library = r.frame(kPackages + "/library/net.py", 3, "f");
  const StackId made = r.stack({library, r.frame("train.py", 7, "main")});
  const StackId at_peak = r.stack({library, r.frame("train.py", line_of_peak, "main")});
  const StackId stack = line_of_peak == 7 ? made : at_peak;
  int64_t now = 10;
  const AllocationId held = r.allocate(now + 1, kBytes, r.op(now, now + 2, "aten::tanh", {}, made));
  for (now = 20; now < 400; now += 10) r.op(now, now + 2, "aten::mul_", {}, stack);
  const AllocationId largest = r.allocate(now + 1, 2 * kBytes, r.op(now, now + 2, "aten::mm", {}, stack));
  r.free(now + 3, largest);
  for (now += 10; now < 800; now += 10) r.op(now, now + 2, "aten::mul_", {}, stack);
  r.free(now, held);
  return r.advice("idle-holder").findings.size();
}

TEST(IdleHolder, IsNoVariableOfALibraryWhileTheStatementRuns) {
  EXPECT_EQ(idle_holders(7), 0u);
  EXPECT_EQ(idle_holders(8), 1u);
}

// ---- settings ---------------------------------------------------------------------------------------------------

Advice advice_of_attention(bool has_dropout, const std::vector<uint64_t>& scores_shape, bool has_backward = true) {
  Recording r;
  const StackId here = r.stack({r.frame("train.py", 7, "main")});
  std::vector<AllocationId> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(r.allocate(1 + i, kBytes / 16));
  const OperatorId outer = r.op(10, 100, "aten::scaled_dot_product_attention", {}, here, inputs);
  const OperatorId kernel = r.op(11, 99, "aten::_scaled_dot_product_attention_math", outer, here, inputs);
  const AllocationId scores = r.allocate(13, kBytes, r.op(12, 20, "aten::bmm", kernel, here, {inputs[0], inputs[1]}));
  const OperatorId softmax_op = r.op(30, 40, "aten::_safe_softmax", kernel, here, {scores});
  const AllocationId softmax = r.allocate(31, kBytes, softmax_op);
  const NodeId softmax_node = r.node(32, "SafeSoftmaxBackward0", softmax_op);
  r.save(33, softmax_node, "result", softmax, r.layout("float32", 4, scores_shape));
  r.free(41, scores);
  if (has_dropout) r.op(50, 60, "aten::dropout", kernel, here, {softmax});
  const OperatorId product = r.op(70, 80, "aten::bmm", kernel, here, {softmax, inputs[2]});
  const AllocationId out = r.allocate(71, kBytes / 16, product);
  const NodeId product_node = r.node(72, "BmmBackward0", product);
  r.save(73, product_node, "self", softmax);
  if (!has_backward) return r.advice("materialized-attention");
  r.backward(200, 300);
  const EvaluationId first = r.evaluate(210, 220, product_node, true);
  const AllocationId gradient = r.allocate(211, kBytes, {}, kCpu, first);
  const EvaluationId second = r.evaluate(240, 250, softmax_node, true);
  const AllocationId of_scores = r.allocate(241, kBytes, {}, kCpu, second);
  r.free(246, gradient), r.free(249, of_scores), r.free(251, softmax), r.free(290, out);
  return r.advice("materialized-attention");
}

TEST(MaterializedAttention, OfTheMathKernelHasACause) {
  const Advice advice = advice_of_attention(true, {1, 4, 256, 256});
  ASSERT_EQ(advice.findings.size(), 1u);
  const Finding& found = advice.findings[0];
  EXPECT_NE(found.title.find("math kernel"), std::string::npos);
  EXPECT_NE(found.fix.text.find("dropout_p=0.0"), std::string::npos) << found.fix.text;
  // Softmax and the gradients of both go. Query, key, value, output, and a float for each row of 256 stay.
  EXPECT_EQ(found.peak_before.value, 3 * kBytes + kBytes / 4);
  EXPECT_EQ(found.peak_after.value, kBytes / 4 + 4 * 256 * 4);
}

TEST(MaterializedAttention, WithoutABackwardNeedsNoDropout) {
  const Advice advice = advice_of_attention(true, {1, 4, 256, 256}, false);
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_NE(advice.findings[0].fix.text.find("model.eval()"), std::string::npos) << advice.findings[0].fix.text;
}

TEST(MaterializedAttention, OfThreeDimensionsHasNoFusedKernel) {
  const Advice advice = advice_of_attention(false, {4, 256, 256});
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_NE(advice.findings[0].fix.text.find("unsqueeze"), std::string::npos) << advice.findings[0].fix.text;
}

// A weight that two layers cast under autocast, each for itself.
Advice advice_of_casts(bool needs_gradient) {
  Recording r;
  const StackId here = r.stack({r.frame("train.py", 7, "main")});
  const LayoutId weight_layout = r.layout("float32", 4, {kBytes / 4});
  const LayoutId cast_layout = r.layout("bfloat16", 2, {kBytes / 4});
  const AllocationId weight = r.allocate(1, kBytes);
  r.role(2, weight, Role::parameter, "weight");
  std::vector<AllocationId> casts;
  std::vector<NodeId> nodes;
  for (int64_t now = 10; now < 30; now += 10) {
    const OperatorId linear = r.op(now, now + 9, "aten::linear", {}, here, {weight});
    const OperatorId cast = r.op(now + 1, now + 4, "aten::_to_copy", linear, here, {weight});
    r.view(cast, weight_layout);
    const OperatorId strided = r.op(now + 2, now + 3, "aten::empty_strided", cast, here);
    casts.push_back(r.allocate(now + 2, kBytes / 2, strided));
    if (needs_gradient) r.node(now + 3, "ToCopyBackward0", cast);
    nodes.push_back(r.node(now + 5, "AddmmBackward0", linear));
    r.save(now + 6, nodes.back(), "mat2", casts.back(), cast_layout);
  }
  r.backward(100, 200);
  r.evaluate(110, 120, nodes[1], true);
  r.free(121, casts[1]);
  r.evaluate(150, 160, nodes[0], true);
  r.free(161, casts[0]);
  return r.advice("duplicate-save");
}

TEST(DuplicateSave, OfAWeightIsAutocastWithoutItsCache) {
  const Advice advice = advice_of_casts(true);
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].title, "autocast runs without its cache");
  EXPECT_EQ(advice.findings[0].peak_before.value, 2 * kBytes);
  EXPECT_EQ(advice.findings[0].peak_after.value, kBytes + kBytes / 2);
}

TEST(DuplicateSave, OfAFrozenWeightIsNotInAutocastsCache) {
  const Advice advice = advice_of_casts(false);
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].title, "autocast casts a frozen weight at each use");
}

// Three convolutions of one line and size, and the bytes of their workspaces.
Advice advice_of_convolutions(const std::vector<std::vector<int64_t>>& workspaces) {
  Recording r;
  const StackId here = r.stack({r.frame("train.py", 7, "main")});
  const AllocationId input = r.allocate(1, kBytes, {}, testing::kCuda);
  int64_t now = 10;
  for (const std::vector<int64_t>& of_call : workspaces) {
    const OperatorId op = r.op(now, now + 90, "aten::cudnn_convolution", {}, here, {input});
    for (const int64_t bytes : of_call) {
      now += 10;
      r.free(now + 5, r.allocate(now, bytes, op, testing::kCuda));
    }
    now += 100;
  }
  return r.advice("operator-temporaries", testing::kCuda);
}

TEST(OperatorTemporaries, OfAFirstConvolutionAreATrialOfAlgorithms) {
  const Advice advice = advice_of_convolutions({{8 * kBytes, kBytes}, {kBytes}, {kBytes}});
  ASSERT_FALSE(advice.findings.empty());
  const auto trial = std::ranges::find_if(advice.findings, [](const Finding& one) {
    return one.fix.text.find("cudnn.benchmark = False") != std::string::npos;
  });
  ASSERT_NE(trial, advice.findings.end());
  EXPECT_EQ(trial->peak_before.value, 9 * kBytes);
  EXPECT_EQ(trial->peak_after.value, 2 * kBytes);
}

TEST(OperatorTemporaries, OfAllConvolutionsAlikeAreNoTrial) {
  for (const auto& workspaces : {std::vector<std::vector<int64_t>>{{8 * kBytes}, {8 * kBytes}}, {{8 * kBytes}}}) {
    for (const Finding& one : advice_of_convolutions(workspaces).findings) {
      EXPECT_EQ(one.fix.text.find("benchmark"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tapelens::advise
