// Shared by the tests of spools without their older steps: a program whose steps have every kind of event, and the
// content of a recording in a comparable form.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <set>

#include "tests/unit/support/random.h"
#include "tests/unit/trace_spools.h"
#include "tests/unit/trace_values.h"
#include "trace/ring.h"

namespace tapelens::trace {

using testing::Random;

// ---- a program whose steps have every kind of event -----------------------------------------------------------------

// Two threads whose calls cross the ends of steps, with long-lived, leaked and late-freed tensors.
class Program {
 public:
  Program(SpoolBuilder& b, uint32_t seed) : b_(b), random_(seed) {
    b_.information("torch_version", "2.15.0").source("train.py", 5, 6);
    for (uint64_t i = 1; i <= 3; ++i) {
      b_.op("aten::empty", {}, at(3)).alloc(i, 1000 * i).end_op();
      b_.role(Role::parameter, "weight" + std::to_string(i), i, 1000 * i).accumulate_grad(0x50 + i, i);
    }
    b_.foreign(0x99, 777).segment(SegmentChange::allocated, 0x9000000, 1 << 20);
  }

  void step() {
    forward(1);
    if (random_.one_of(2)) loader();
    forward(1);
    backward();
    optimize();
    if (random_.one_of(4)) release();
  }

 private:
  struct Made {
    uint64_t node, storage;
    bool is_freed = false;
  };

  uint32_t at(uint32_t line) {
    return b_.stack({b_.frame("train.py", line, "step"), b_.frame("train.py", 99, "main")});
  }
  uint64_t fresh() {  // the program reuses addresses
    if (!free_.empty() && random_.one_of(2)) {
      const uint64_t address = free_.back();
      free_.pop_back();
      return address;
    }
    return next_ += 16;
  }

  void forward(uint32_t thread) {
    b_.thread(thread).enter("Net", "Net").enter("Net." + std::to_string(random_.upto(3)), "Linear");
    for (uint32_t i = 0; i < 1 + random_.upto(4); ++i) {
      const uint64_t storage = fresh(), node = fresh();
      b_.op("aten::linear", {1, 2}, at(10 + random_.upto(5)));
      b_.op("aten::addmm", {1, graph_.empty() ? 2 : graph_.back().storage}).views({{0, 0, 0}, {0, 0, 0}});
      if (random_.one_of(3)) {
        b_.block(storage, 100 + i, 512, "cuda:0", 7);
      } else {
        b_.alloc(storage, 100 + i);
      }
      b_.end_op();
      b_.node("AddmmBackward0", node, {{graph_.empty() ? 0x51 : graph_.back().node, 0}, {0x52, 0}}, ++sequence_);
      b_.save(node, "mat1", storage, 100 + i).save(node, "mat2", 1 + random_.upto(3), 5);
      if (random_.one_of(8)) b_.rewrite("wide-save", 1, node, "mat1", 100, 10);
      if (random_.one_of(4)) b_.held(HeldBy::packed, "mat1", storage, 100 + i, node);
      if (random_.one_of(4)) b_.held(HeldBy::checkpointing, "aten.mm", storage, 100 + i);
      if (random_.one_of(4)) b_.variable("kept in train.py:4", storage, 100 + i);
      b_.end_op();
      graph_.push_back({node, storage});
    }
    b_.leave().leave();
  }

  void loader() {  // a call that is open for longer than a step
    b_.thread(2);
    if (is_loading_) {
      b_.end_op().leave();
    } else {
      const uint64_t batch = fresh();
      b_.enter("Loader", "Loader").op("aten::stack", {}, at(40)).alloc(batch, 5000);
      kept_.push_back(batch);
    }
    is_loading_ = !is_loading_;
    b_.thread(1);
  }

  void backward() {
    const bool is_kept = random_.one_of(6);  // the graph of this step is never released
    b_.backward();
    for (size_t i = graph_.size(); i-- > 0;) {
      b_.evaluate(graph_[i].node, !is_kept).op("aten::mm", {graph_[i].storage}, at(60));
      const uint64_t gradient = fresh();
      b_.alloc(gradient, 50).end_op().end_evaluation();
      if (random_.one_of(3)) {
        b_.role(Role::gradient, "weight" + std::to_string(1 + i % 3), gradient, 50, 1 + i % 3);
        gradients_.push_back(gradient);
      } else {
        drop(gradient);
      }
      if (is_kept) continue;
      if (i % 5 != 4) drop(graph_[i].storage);
      b_.node_dies(graph_[i].node);
      free_.push_back(graph_[i].node);
    }
    b_.evaluate(0x51, false).end_evaluation().end_backward();
    graph_.clear();
  }

  void optimize() {
    b_.optimizer("SGD#1").range("Optimizer.step#SGD");
    if (!has_state_) b_.op("aten::zeros_like", {1}, at(80)).alloc(0x77, 1000).end_op();
    if (!has_state_) b_.role(Role::optimizer_state, "momentum", 0x77, 1000, 1);
    has_state_ = true;
    b_.end_range().end_optimizer();
    if (random_.one_of(3)) b_.optimizer("Adam#2").end_optimizer();  // does not end a step
    for (const uint64_t gradient : gradients_) drop(gradient);
    gradients_.clear();
  }

  void release() {
    for (const uint64_t address : kept_) drop(address);
    kept_.clear();
    b_.segment(SegmentChange::mapped, 0x8000000, 4 << 20);
    b_.segment(SegmentChange::unmapped, 0x8000000 + (random_.upto(3) << 20), 1 << 20);
  }

  void drop(uint64_t address) {
    if (random_.one_of(5)) b_.request_free(address, "cpu");
    b_.free(address);
    free_.push_back(address);
  }

  SpoolBuilder& b_;
  Random random_;
  std::vector<Made> graph_;
  std::vector<uint64_t> free_, kept_, gradients_;
  uint64_t next_ = 0x100000, sequence_ = 0;
  bool is_loading_ = false, has_state_ = false;
};

// ---- the content of a recording, without its ids --------------------------------------------------------------------

// Each row as a sentence. Other rows are named by their times, because every event has a distinct time.
struct Said {
  std::multiset<std::string> before, after;  // a moment
};

class Rows {
 public:
  Rows(const Recording& r, uint64_t moment) : r_(r), strings_(strings_of(r)), moment_(moment) {
    operators_ = r.column(column<table::Operators>.begin);
    allocations_ = r.column(column<table::Allocations>.time);
    nodes_ = r.column(column<table::Nodes>.time);
    evaluations_ = r.column(column<table::Evaluations>.begin);
    calls_ = r.column(column<table::ModuleCalls>.begin);
    threads_ = r.column(column<table::Threads>.os_id);
    operators();
    memory();
    nodes();
    calls();
  }
  const Said& said() const { return said_; }

 private:
  using Ids = Values<uint64_t>;
  template <class... Parts>
  void say(uint64_t time, Parts... parts) {
    std::string text;
    ((text += " " + text_of(parts)), ...);
    (time <= moment_ ? said_.before : said_.after).insert(text);
  }
  static std::string text_of(const std::string& text) { return text; }
  static std::string text_of(const char* text) { return text; }
  static std::string text_of(uint64_t number) { return std::to_string(number); }
  template <class Key>
  auto of(const Key& key) {
    return r_.column(key);
  }
  std::string stack(uint32_t id) {
    const auto depth = of(column<table::Stacks>.depth);
    const auto frames = of(column<table::StackFrames>.frame);
    const auto lines = of(column<table::Frames>.line);
    size_t begin = 1;
    for (uint32_t i = 1; i < id; ++i) begin += depth[i];
    std::string text = "@";
    for (size_t i = 0; id != 0 && i < depth[id]; ++i) text += std::to_string(lines[frames[begin + i]]) + ",";
    return text;
  }

  void operators() {
    const auto name = of(column<table::Operators>.name);
    const auto stacks = of(column<table::Operators>.stack);
    const auto call = of(column<table::Operators>.module_call);
    const auto parent = of(column<table::Operators>.parent);
    const auto evaluation = of(column<table::Operators>.evaluation);
    const auto thread = of(column<table::Operators>.thread);
    const auto count = of(column<table::Operators>.input_count);
    const auto inputs = of(column<table::OperatorInputs>.allocation);
    size_t input = 1;
    for (size_t i = 1; i < operators_.size(); ++i) {
      std::string given;
      for (uint32_t k = 0; k < count[i]; ++k) given += std::to_string(allocations_[inputs[input++]]) + ",";
      if (operators_[i] <= moment_) {
        EXPECT_EQ(operators_[i] <= moment_ && is_ring() ? count[i] : 0, 0) << "its inputs are unknown now";
        given.clear();
      }
      say(operators_[i], "op", operators_[i], strings_[name[i]], stack(stacks[i]), calls_[call[i]],
          operators_[parent[i]], evaluations_[evaluation[i]], uint64_t{threads_[thread[i]]}, given);
    }
    ends(of(column<table::OperatorEnds>.of), of(column<table::OperatorEnds>.end), operators_, "op ends");
  }
  bool is_ring() const { return moment_ != 0 && r_.rows(Table::information, {}) > 1; }

  template <class Of, class Times>
  void ends(const Of& of, const Times& end, const Ids& begins, const char* what) {
    for (size_t i = 1; i < of.size(); ++i) say(end[i], what, begins[of[i]], end[i]);
  }

  void memory() {
    const auto bytes = of(column<table::Allocations>.bytes);
    const auto origin = of(column<table::Allocations>.origin);
    const auto device = of(column<table::Allocations>.device);
    const auto op = of(column<table::Allocations>.op);
    const auto stacks = of(column<table::Allocations>.stack);
    const auto evaluation = of(column<table::Allocations>.evaluation);
    const auto call = of(column<table::Allocations>.module_call);
    const auto names = of(column<table::Devices>.name);
    for (size_t i = 1; i < allocations_.size(); ++i)
      say(allocations_[i], "allocation", allocations_[i], bytes[i], uint64_t{origin[i]}, strings_[names[device[i]]],
          operators_[op[i]], evaluations_[evaluation[i]], calls_[call[i]], stack(stacks[i]));
    ends(of(column<table::Frees>.of), of(column<table::Frees>.time), allocations_, "free");
    ends(of(column<table::FreeRequests>.of), of(column<table::FreeRequests>.time), allocations_, "free request");
    const auto block = of(column<table::DeviceBlocks>.allocation);
    const auto rounded = of(column<table::DeviceBlocks>.rounded);
    for (size_t i = 1; i < block.size(); ++i)
      say(allocations_[block[i]], "block", allocations_[block[i]], uint64_t{rounded[i]});
    const auto time = of(column<table::Roles>.time);
    const auto allocation = of(column<table::Roles>.allocation);
    const auto parameter = of(column<table::Roles>.parameter);
    const auto name = of(column<table::Roles>.name);
    const auto kind = of(column<table::Roles>.kind);
    for (size_t i = 1; i < time.size(); ++i)
      say(time[i], "role", time[i], allocations_[allocation[i]], uint64_t{kind[i]}, strings_[name[i]],
          allocations_[parameter[i]]);
  }

  void nodes() {
    const auto type = of(column<table::Nodes>.type);
    const auto op = of(column<table::Nodes>.op);
    const auto parameter = of(column<table::Nodes>.parameter);
    const auto count = of(column<table::Nodes>.edge_count);
    const auto edges = of(column<table::NodeEdges>.node);
    size_t edge = 1;
    for (size_t i = 1; i < nodes_.size(); ++i) {
      std::string to;
      for (uint32_t k = 0; k < count[i]; ++k) to += std::to_string(nodes_[edges[edge++]]) + ",";
      say(nodes_[i], "node", nodes_[i], strings_[type[i]], operators_[op[i]], allocations_[parameter[i]]);
      if (nodes_[i] > moment_) say(nodes_[i], "edges", nodes_[i], to);
    }
    ends(of(column<table::NodeReleases>.of), of(column<table::NodeReleases>.time), nodes_, "release");
    const auto time = of(column<table::Saves>.time);
    const auto storage = of(column<table::Saves>.allocation);
    const auto node = of(column<table::Saves>.node);
    const auto field = of(column<table::Saves>.field);
    for (size_t i = 1; i < time.size(); ++i)
      say(time[i], "save", time[i], nodes_[node[i]], strings_[field[i]], allocations_[storage[i]]);
    const auto held_time = of(column<table::Held>.time);
    const auto held = of(column<table::Held>.allocation);
    const auto held_for = of(column<table::Held>.node);
    for (size_t i = 1; i < held_time.size(); ++i)
      say(held_time[i], "held", held_time[i], nodes_[held_for[i]], allocations_[held[i]]);
    const auto looked = of(column<table::Variables>.time);
    const auto variable = of(column<table::Variables>.allocation);
    for (size_t i = 1; i < looked.size(); ++i) say(looked[i], "variable", looked[i], allocations_[variable[i]]);
    const auto of_node = of(column<table::Evaluations>.node);
    for (size_t i = 1; i < evaluations_.size(); ++i)
      say(evaluations_[i], "evaluation", evaluations_[i], nodes_[of_node[i]]);
    ends(of(column<table::EvaluationEnds>.of), of(column<table::EvaluationEnds>.end), evaluations_, "evaluation ends");
    const auto rewrite = of(column<table::Rewrites>.time);
    const auto rewritten = of(column<table::Rewrites>.node);
    for (size_t i = 1; i < rewrite.size(); ++i) say(rewrite[i], "rewrite", rewrite[i], nodes_[rewritten[i]]);
  }

  void calls() {
    const auto module = of(column<table::ModuleCalls>.module);
    const auto path = of(column<table::Modules>.path);
    const auto parent = of(column<table::ModuleCalls>.parent);
    for (size_t i = 1; i < calls_.size(); ++i)
      say(calls_[i], "call", calls_[i], strings_[path[module[i]]], calls_[parent[i]]);
    ends(of(column<table::ModuleCallEnds>.of), of(column<table::ModuleCallEnds>.end), calls_, "call ends");
    const auto begin = of(column<table::OptimizerSteps>.begin);
    const auto end = of(column<table::OptimizerSteps>.end);
    for (size_t i = 1; i < begin.size(); ++i) say(end[i], "optimizer", begin[i], end[i]);
    const auto backward = of(column<table::Backwards>.begin);
    const auto behind = of(column<table::Backwards>.end);
    for (size_t i = 1; i < backward.size(); ++i) say(behind[i], "backward", backward[i], behind[i]);
    const auto when = of(column<table::SegmentEvents>.time);
    const auto address = of(column<table::SegmentEvents>.address);
    for (size_t i = 1; i < when.size(); ++i)
      if (when[i] > moment_) say(when[i], "segment", when[i], address[i]);
  }

  const Recording& r_;
  std::vector<std::string> strings_;
  uint64_t moment_;
  Ids operators_, allocations_, nodes_, evaluations_, calls_;
  Values<uint32_t> threads_;
  Said said_;
};

// The rows about the allocations and nodes that are alive at a moment.
inline std::set<std::string> alive(const Recording& r, uint64_t moment) {
  std::set<uint64_t> living;
  const auto add = [&](const auto& times, const auto& of, const auto& ends, auto is_end) {
    std::set<uint64_t> ended;
    for (size_t i = 1; i < of.size(); ++i)
      if (ends[i] <= moment && is_end(i)) ended.insert(times[of[i]]);
    for (size_t i = 1; i < times.size(); ++i)
      if (times[i] <= moment && !ended.contains(times[i])) living.insert(times[i]);
  };
  add(r.column(column<table::Allocations>.time), r.column(column<table::Frees>.of), r.column(column<table::Frees>.time),
      [](size_t) { return true; });
  const auto flags = r.column(column<table::NodeReleases>.flags);
  add(r.column(column<table::Nodes>.time), r.column(column<table::NodeReleases>.of),
      r.column(column<table::NodeReleases>.time), [&](size_t i) { return flags[i] == kNodeDied; });
  std::set<std::string> said;
  const Rows rows(r, moment);
  for (const std::string& row : rows.said().before) {
    const size_t space = row.find(' ', 1);
    const std::string kind = row.substr(1, space - 1);
    if ((kind == "allocation" || kind == "node") && living.contains(std::stoull(row.substr(space + 1))))
      said.insert(row);
  }
  return said;
}

inline std::string information(const Recording& r, const std::string& key) {
  const auto strings = strings_of(r);
  const auto keys = r.column(column<table::Information>.key), values = r.column(column<table::Information>.value);
  std::string value;
  for (size_t i = 1; i < keys.size(); ++i)
    if (strings[keys[i]] == key) value = strings[values[i]];
  return value;
}

inline void expect_to_be_the_end_of(const Recording& whole, const Recording& ring) {
  const uint64_t until = std::stoull("0" + information(ring, "steps_left_out_until"));
  const Rows of_whole(whole, until), of_ring(ring, until);
  EXPECT_EQ(of_whole.said().after, of_ring.said().after);
  for (const std::string& row : of_ring.said().before)
    EXPECT_TRUE(of_whole.said().before.contains(row)) << row << " is only in the ring";
  EXPECT_EQ(alive(whole, until), alive(ring, until));
  EXPECT_TRUE(losses_of(ring).empty());
}

inline uint64_t on_disk(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? static_cast<uint64_t>(facts.st_blocks) * 512 : 0;
}

inline RingState leave_out(const std::string& path, uint64_t keep, uint64_t when = 0) {
  auto state = leave_out_older_steps(path, {keep, when});
  if (!state) throw std::runtime_error(state.error().message);
  return *state;
}

}  // namespace tapelens::trace
