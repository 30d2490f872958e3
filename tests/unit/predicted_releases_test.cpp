// Compares the predicted releases of recomputable-save with the releases of profiler/versions. Both process the same
// random programs.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/model/steps.h"
#include "analyzer/peak/analysis.h"
#include "plugins/recomputable-save/recomputed.h"
#include "plugins/recomputable-save/rule.h"
#include "testing/model_builder.h"
#include "tests/unit/support/fake_memory.h"
#include "tests/unit/support/random.h"

namespace tapelens::check {
namespace {

namespace fake = versions::fake;
using testing::kCpu;
using testing::Random;

constexpr uint64_t kLeast = uint64_t{64} << 10;
constexpr uint32_t kSteps = 3;

// One step of a program: parameters, then a sequence of operators, each of which makes a tensor or writes one in place.
struct Program {
  struct Tensor {
    uint64_t bytes = 0;
    bool is_parameter = false;
    uint32_t last_read = 0;          // by this operator; then the program drops its variable
    bool outlives_backward = false;  // or when the step ends
  };
  struct Saved {
    uint32_t tensor;
    bool is_allowed;  // the plan has a site for it
  };
  struct Call {
    std::string name;
    uint32_t result;
    bool is_in_place;
    std::vector<uint32_t> read;
    std::vector<Saved> saves;
  };
  std::vector<Tensor> tensors;
  std::vector<Call> calls;
  double budget = 0;
  bool repeats_costly = false;

  explicit Program(Random& random) {
    constexpr const char* kNames[] = {"aten::relu",    "aten::mul",    "aten::add",     "aten::exp",
                                      "aten::sigmoid", "aten::sub",    "aten::neg",     "aten::silu",
                                      "aten::mm",      "aten::linear", "aten::_softmax"};
    constexpr double kBudgets[] = {0, 0.05, 0.3, 1e9};
    budget = kBudgets[random.upto(4)];
    const uint32_t parameters = 1 + random.upto(3), most_calls = 3 + random.upto(30);
    const bool many_sizes = random.one_of(2), plans = random.one_of(3);
    repeats_costly = random.one_of(2);
    for (uint32_t i = 0; i < parameters; ++i) {
      tensors.push_back({.bytes = random.one_of(3) ? 256 : kLeast << random.upto(3), .is_parameter = true});
    }
    std::set<uint32_t> saved;  // never written again
    for (uint32_t i = 0; i < most_calls; ++i) {
      Call call{
          .name = kNames[random.upto(std::size(kNames))], .result = 0, .is_in_place = false, .read = {}, .saves = {}};
      for (uint32_t k = 0; k <= random.upto(2); ++k) {
        const auto near = std::min<uint32_t>(random.one_of(5) ? 100 : 4, static_cast<uint32_t>(tensors.size()));
        call.read.push_back(static_cast<uint32_t>(tensors.size()) - 1 - random.upto(near));
      }
      const uint32_t first = call.read.front();
      if (random.one_of(6) && recompute::cheap(call.name) && !tensors[first].is_parameter && !saved.contains(first)) {
        call.is_in_place = true;
        call.name += "_";
        call.result = first;
        if (call.read.back() == first) call.read.resize(1);
      } else {
        call.result = static_cast<uint32_t>(tensors.size());
        const uint64_t like = std::max(tensors[first].bytes, kLeast);
        tensors.push_back({.bytes = many_sizes && random.one_of(3) ? uint64_t{256} << (4 * random.upto(5)) : like});
      }
      std::vector<uint32_t> candidates = call.read;
      if (!call.is_in_place) candidates.push_back(call.result);
      if (call.is_in_place) candidates.front() = call.result;  // the operator saves its first input after the write
      for (const uint32_t tensor : candidates) {
        if (random.one_of(2)) continue;
        call.saves.push_back({tensor, !plans || random.one_of(2)});
        saved.insert(tensor);
      }
      calls.push_back(std::move(call));
    }
    for (uint32_t i = 0; i < calls.size(); ++i) {
      tensors[calls[i].result].last_read = i;
      for (const uint32_t read : calls[i].read) tensors[read].last_read = i;
    }
    for (Tensor& tensor : tensors) tensor.outlives_backward = random.one_of(6);
  }
};

// In the order of release: step, tensor.
using Releases = std::vector<std::pair<uint32_t, uint32_t>>;

// The program in Tapelens' records.
class Recorded : public testing::ProcessBuilder, private AppliedRewrites {
 public:
  explicit Recorded(const Program& program) : program_(program), at_(program.tensors.size()) {
    for (uint32_t tensor = 0; tensor < program.tensors.size(); ++tensor) {
      if (!program.tensors[tensor].is_parameter) continue;
      at_[tensor] = allocate(++now_, bytes(tensor));
      role(++now_, at_[tensor], Role::parameter, "Net.weight" + std::to_string(tensor));
      leaves_.push_back(node(++now_, "AccumulateGrad", {}, at_[tensor]));
    }
    for (uint32_t step = 0; step < kSteps; ++step) {
      nodes_.clear();
      for (uint32_t i = 0; i < program.calls.size(); ++i) run(step, i);
      run_backward();
      now_ += 10;
      op(now_, now_ + 5, "aten::zeros");  // another operator runs before the variables are dropped
      now_ += 6;
      for (uint32_t tensor = 0; tensor < program.tensors.size(); ++tensor) {
        if (!program.tensors[tensor].is_parameter && program.tensors[tensor].outlives_backward)
          free(++now_, at_[tensor]);
      }
    }
    process.duration = Time{now_ + 10};
    done();
  }

  Releases predicted() const {
    const peak::Analysis analysis(process, text);
    const peak::Timeline timeline(process, kCpu);
    const peak::PeakSet peak = peak::peak_set(process, text, kCpu, {});
    const Context context{process,
                          text,
                          analysis.steps(),
                          analysis.phases(),
                          analysis.provenance(),
                          analysis.lifetimes(),
                          kCpu,
                          timeline,
                          peak,
                          "",
                          this,
                          nullptr,
                          std::nullopt};
    Releases all;
    for (const Recomputed::Found& found : Recomputed(context).all()) all.push_back(step_of_.at(found.allocation.value));
    return all;
  }

 private:
  bool takes(std::string_view rewrite, SaveId save) const override {
    if (rewrite != plugins::recomputable_save::kRewrite.id) return false;
    // The rewrite applies to the storage if any save of the storage allows it.
    for (uint32_t row = 1; row <= process.saves.rows(); ++row) {
      if (process.saves.allocation[SaveId{row}] == process.saves.allocation[save] && is_allowed_.at(row)) return true;
    }
    return false;
  }
  Bytes min_bytes() const override { return Bytes{kLeast}; }
  double recompute_budget() const override { return program_.budget; }
  bool repeats_costly() const override { return program_.repeats_costly; }

  int64_t bytes(uint32_t tensor) const { return static_cast<int64_t>(program_.tensors[tensor].bytes); }

  void run(uint32_t step, uint32_t i) {
    const Program::Call& call = program_.calls[i];
    now_ += 100;
    std::vector<AllocationId> inputs;
    for (const uint32_t read : call.read) inputs.push_back(at_[read]);
    const OperatorId op = this->op(now_, now_ + 50, call.name, {}, {}, inputs);
    if (!call.is_in_place) {
      at_[call.result] = allocate(now_ + 10, bytes(call.result), op);
      step_of_[at_[call.result].value] = {step, call.result};
    }
    const NodeId node = this->node(now_ + 20, "CallBackward0", op, {}, leaves_);
    nodes_.push_back(node);
    int64_t time = now_ + 60;
    for (const Program::Saved& saved : call.saves) {
      const SaveId save = this->save(time++, node, "saved", at_[saved.tensor]);
      is_allowed_[save.value] = saved.is_allowed;
      last_saver_.try_emplace(saved.tensor, i);
    }
    now_ = time;
    for (uint32_t tensor = 0; tensor < program_.tensors.size(); ++tensor) {
      const Program::Tensor& t = program_.tensors[tensor];
      const bool is_dropped = t.last_read == i && !t.is_parameter && !t.outlives_backward;
      if (is_dropped && !last_saver_.contains(tensor)) free(++now_, at_[tensor]);
    }
  }

  void run_backward() {
    const int64_t begin = now_ += 10;
    for (uint32_t i = static_cast<uint32_t>(nodes_.size()); i-- > 0;) {
      now_ += 20;
      evaluate(now_, now_ + 10, nodes_[i], true);
      now_ += 10;
      for (const auto& [tensor, saver] : last_saver_) {
        const Program::Tensor& t = program_.tensors[tensor];
        if (saver == i && !t.is_parameter && !t.outlives_backward) free(++now_, at_[tensor]);
      }
    }
    now_ += 10;
    backward(begin, now_);
    last_saver_.clear();
  }

  const Program& program_;
  std::vector<AllocationId> at_;  // of this step
  std::vector<NodeId> leaves_, nodes_;
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> step_of_;  // by allocation
  std::map<uint32_t, uint32_t> last_saver_;                    // the call whose node is the last to release it
  std::map<uint32_t, bool> is_allowed_;                        // by save
  int64_t now_ = 10;
};

// The program with rewrites.
class Rewritten {
 public:
  explicit Rewritten(const Program& program)
      : program_(program), budget_(program.budget), held_(program.tensors.size()) {
    rules_.is_worth = [this](uint64_t candidate, uint64_t bytes, uint64_t cost) {
      return budget_.allows(candidate, bytes, cost);
    };
    for (uint32_t tensor = 0; tensor < program.tensors.size(); ++tensor) {
      if (!program.tensors[tensor].is_parameter) continue;
      held_[tensor] = make(tensor, 1000 + tensor);
      if (held_[tensor].version) held_[tensor].version->kept_by_program();
    }
    for (uint32_t step = 0; step < kSteps; ++step) {
      step_ = step;
      nodes_.clear();
      for (uint32_t i = 0; i < program.calls.size(); ++i) run(i);
      run_backward();
      for (uint32_t tensor = 0; tensor < program.tensors.size(); ++tensor) {
        if (!program.tensors[tensor].is_parameter) held_[tensor] = {};
      }
    }
  }
  const Releases& released() const { return released_; }
  bool is_right() const { return is_right_; }

 private:
  struct Variable {
    fake::StoragePtr storage;
    fake::FakeVersionPtr version;  // null: too small
  };
  struct Node {
    std::vector<std::unique_ptr<fake::FakeHook>> hooks;
    std::vector<fake::StoragePtr> plain;
  };
  struct Waiting {
    fake::FakeVersionPtr version;
    const fake::FakeHook* hook;
    uint32_t tensor;
  };

  fake::FakeVersionPtr version_of(const fake::StoragePtr& storage, uint64_t bytes) const {
    return bytes < kLeast ? nullptr : std::make_shared<fake::FakeVersion>(storage, bytes, rules_);
  }
  Variable make(uint32_t tensor, uint64_t value) const {
    auto storage = std::make_shared<fake::Storage>(value);
    auto version = version_of(storage, program_.tensors[tensor].bytes);
    return {std::move(storage), std::move(version)};
  }

  void sweep() {
    for (size_t i = waiting_.size(); i-- > 0;) {
      const Waiting waiting = waiting_[i];
      if (!waiting.version->try_release()) continue;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      if (waiting.hook->is_released()) released_.emplace_back(step_, waiting.tensor);
    }
  }

  void run(uint32_t i) {
    const Program::Call& call = program_.calls[i];
    sweep();
    const recompute::Repeatable cheap =
        program_.repeats_costly ? recompute::repeatable(call.name) : recompute::cheap(call.name);
    const uint64_t bytes = program_.tensors[call.result].bytes;
    auto how = std::make_unique<fake::FakeCall>(cheap, call.is_in_place);
    how->bytes = bytes;
    std::vector<fake::StoragePtr> storages;
    for (const uint32_t read : call.read) {
      const Variable& variable = held_[read];
      if (variable.version != nullptr) {
        how->read(variable.version);
        storages.push_back(variable.storage);
      } else {
        how->read_small(variable.storage);
      }
    }
    const uint64_t value = cheap ? how->first_result(storages) : ++next_value_;
    storages.clear();
    Variable& result = held_[call.result];
    if (call.is_in_place) {
      if (result.version != nullptr) result.version->about_to_be_written();
      result.storage->memory->value = value;
      ++*result.storage->counter;
      if (result.version != nullptr) result.version->overwritten();
      result.version = version_of(result.storage, bytes);
    } else {
      result = make(call.result, value);
    }
    if (cheap && result.version != nullptr) {
      budget_.ran(recompute::cost(cheap, bytes, recompute::Machine::cpu));
      result.version->set_rematerialization(std::move(how));
      can_be_made_.insert(result.version.get());
    } else {
      can_be_made_.erase(result.version.get());
    }
    save(call);
    for (uint32_t tensor = 0; tensor < program_.tensors.size(); ++tensor) {
      const Program::Tensor& t = program_.tensors[tensor];
      if (t.last_read == i && !t.is_parameter && !t.outlives_backward) held_[tensor] = {};
    }
  }

  void save(const Program::Call& call) {
    Node& node = nodes_.emplace_back();
    for (const Program::Saved& saved : call.saves) {
      const Variable& variable = held_[saved.tensor];
      if (variable.version == nullptr || !can_be_made_.contains(variable.version.get())) {
        if (variable.version != nullptr) variable.version->kept_by_save();
        node.plain.push_back(variable.storage);
        continue;
      }
      const bool is_first = variable.version->hooks() == 0;
      if (is_first) variable.version->name = call.name;
      node.hooks.push_back(std::make_unique<fake::FakeHook>(variable.version, variable.storage, fake::Encodes::never,
                                                            versions::Ways{.rematerialize = saved.is_allowed}));
      if (is_first) waiting_.push_back({variable.version, node.hooks.back().get(), saved.tensor});
    }
  }

  void run_backward() {
    sweep();
    while (!nodes_.empty()) {
      for (const auto& hook : nodes_.back().hooks) is_right_ = is_right_ && hook->is_right();
      std::erase_if(waiting_, [&](const Waiting& waiting) {
        return std::ranges::any_of(nodes_.back().hooks, [&](const auto& hook) { return hook.get() == waiting.hook; });
      });
      nodes_.pop_back();
    }
    sweep();
    versions::backward_ended();
    budget_.backward_ended();
    waiting_.clear();
  }

  const Program& program_;
  recompute::RecomputeBudget budget_;
  fake::Rules rules_;
  std::vector<Variable> held_;  // held by the program's variables
  std::set<const fake::FakeVersion*> can_be_made_;
  std::vector<Waiting> waiting_;
  std::vector<Node> nodes_;
  Releases released_;
  uint32_t step_ = 0;
  uint64_t next_value_ = 0;
  bool is_right_ = true;
};

std::string described(const Program& program, const Releases& predicted, const Releases& released) {
  std::string text = "budget " + std::to_string(program.budget) + "\n";
  for (const Program::Call& call : program.calls) {
    text += "t" + std::to_string(call.result) + " = " + call.name + "(";
    for (const uint32_t read : call.read) text += " t" + std::to_string(read);
    text += " ) saves";
    for (const auto& saved : call.saves) text += " t" + std::to_string(saved.tensor) + (saved.is_allowed ? "" : "-");
    text += "\n";
  }
  for (uint32_t i = 0; i < program.tensors.size(); ++i) {
    const auto& t = program.tensors[i];
    text += "t" + std::to_string(i) + ": " + std::to_string(t.bytes) + (t.is_parameter ? " parameter" : "") +
            (t.outlives_backward ? " outlives" : "") + "\n";
  }
  for (const auto& [what, all] : {std::pair{"predicted", &predicted}, {"released", &released}}) {
    text += std::string(what) + ":";
    for (const auto& [step, tensor] : *all) text += " " + std::to_string(step) + ".t" + std::to_string(tensor);
    text += "\n";
  }
  return text;
}

class PredictedReleases : public ::testing::TestWithParam<uint32_t> {};

TEST_P(PredictedReleases, AreThoseOfTheRunForAThousandRandomPrograms) {
  Random random(GetParam());
  size_t releases = 0;
  const int64_t before = fake::Memory::alive;
  for (int i = 0; i < 1000; ++i) {
    const Program program(random);
    const Releases predicted = Recorded(program).predicted();
    {
      const Rewritten run(program);
      ASSERT_TRUE(run.is_right()) << "program " << i;
      ASSERT_EQ(predicted, run.released()) << "program " << i << ": " << described(program, predicted, run.released());
      releases += predicted.size();
    }
    ASSERT_EQ(fake::Memory::alive, before);
  }
  EXPECT_GT(releases, 3000U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PredictedReleases, ::testing::Range(1U, 4U));

}  // namespace
}  // namespace tapelens::check
