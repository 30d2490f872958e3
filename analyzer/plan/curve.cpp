#include "analyzer/plan/curve.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

#include "analyzer/advise/advice.h"
#include "analyzer/plan/plan_text.h"
#include "policy/level.h"

namespace tapelens::plan {
namespace {

// The recompute budgets of the first and the last prediction, in percent of a step, and the most predictions between.
constexpr uint32_t kFirstBudget = 6;
constexpr int kMostBetween = 8;
// Two budgets whose memory differs by less than this share of the unchanged program's need no budget between them.
constexpr double kCloseTogether = 0.03;

std::vector<Layer> layers_of(const std::vector<advise::RewrittenEffect::Place>& places) {
  std::map<std::string, Layer> by_module;
  for (const auto& place : places) {
    Layer& layer = by_module[place.module];
    layer.module = place.module;
    layer.rewritten = std::max(layer.rewritten, place.modules);
    layer.bytes += place.bytes;
  }
  std::vector<Layer> layers;
  for (auto& [module, layer] : by_module) layers.push_back(std::move(layer));
  std::ranges::stable_sort(layers, std::ranges::greater(), &Layer::bytes);
  return layers;
}

bool is_complete(const model::Step& step) { return step.when.end != model::kNever; }

// The mean of all steps but the first, which begins with the recording, and so with imports. 0: no step is complete.
double time_of_step(const std::vector<model::Step>& steps) {
  int64_t time = 0, counted = 0;
  for (size_t i = steps.size() > 1 ? 1 : 0; i < steps.size(); ++i) {
    if (!is_complete(steps[i])) continue;
    time += steps[i].when.end.ns - steps[i].when.begin.ns;
    ++counted;
  }
  return counted == 0 ? 0 : static_cast<double>(time) / static_cast<double>(counted);
}

class Predictions {
 public:
  Predictions(const peak::DeviceAnalysis& device, advise::Checks& checks, const CurveProgress& progress)
      : device_(device), checks_(checks), progress_(progress) {
    const peak::Analysis& analysis = device.of();
    curve_.is_estimated = !analysis.traits(device.device()).type->is_host;
    step_ns_ = time_of_step(analysis.steps());
    if (step_ns_ <= 0) curve_.is_estimated = true;
  }

  Curve run() {
    all_.push_back(predicted({}));
    for (const policy::Preset& preset : policy::kPresets) {
      if (preset.name != policy::kRecompute) all_.push_back(predicted({std::string(preset.name)}));
    }
    add_recomputations();
    keep_best();
    return std::move(curve_);
  }

 private:
  CurvePoint predicted(const Choice& choice) {
    if (progress_) progress_(std::min(1.0, predictions_++ / (kMostBetween + 5.0)));
    advise::RewrittenEffect effect;
    if (choice.level.empty()) {
      effect.peak = device_.peak().bytes;
    } else {
      const policy::RewriteSettings settings = settings_of(choice);
      effect = advise::effect_of(device_, checks_, advise::Applying{settings, choice.level});
    }
    const auto reserved = advise::reserved_with(device_, effect.run);
    curve_.is_reserved = reserved.has_value();
    const double added =
        curve_.is_estimated ? effect.repeated_share : static_cast<double>(effect.repeated.ns) / step_ns_;
    return {choice, reserved.value_or(effect.peak), added, layers_of(effect.places)};
  }
  CurvePoint recomputed(uint32_t budget) { return predicted({std::string(policy::kRecompute), budget}); }

  // Between the two budgets with the most memory between them, until all are close.
  void add_recomputations() {
    std::vector<CurvePoint> found;
    found.push_back(recomputed(kFirstBudget));
    found.push_back(recomputed(least().budget));
    const double close = kCloseTogether * static_cast<double>(all_.front().bytes.value);
    for (int between = 0; between < kMostBetween; ++between) {
      size_t widest = 0;
      double width = close;
      for (size_t i = 0; i + 1 < found.size(); ++i) {
        const CurvePoint &lower = found[i], &higher = found[i + 1];
        const auto saved = static_cast<double>((lower.bytes - higher.bytes).value);
        if (saved <= width || higher.choice.budget - lower.choice.budget < 2) continue;
        widest = i;
        width = saved;
      }
      if (width == close) break;
      const uint32_t middle = (found[widest].choice.budget + found[widest + 1].choice.budget) / 2;
      found.insert(found.begin() + static_cast<int64_t>(widest) + 1, recomputed(middle));
    }
    std::ranges::move(found, std::back_inserter(all_));
  }

  // Drops each choice for which another one needs no more memory and no more time.
  void keep_best() {
    std::map<std::string, uint64_t> most;
    for (const CurvePoint& one : all_) {
      for (const Layer& layer : one.layers) most[layer.module] = std::max(most[layer.module], layer.rewritten);
    }
    std::stable_sort(all_.begin() + 1, all_.end(), [](const CurvePoint& a, const CurvePoint& b) {
      return std::pair(a.added, a.bytes) < std::pair(b.added, b.bytes);
    });
    for (CurvePoint& one : all_) {
      if (!curve_.points.empty() && one.bytes >= curve_.points.back().bytes) continue;
      for (Layer& layer : one.layers) layer.all = most[layer.module];
      curve_.points.push_back(std::move(one));
    }
  }

  const peak::DeviceAnalysis& device_;
  advise::Checks& checks_;
  const CurveProgress& progress_;
  double step_ns_ = 0;
  int predictions_ = 0;  // begun
  std::vector<CurvePoint> all_;
  Curve curve_;
};

}  // namespace

const CurvePoint* Curve::at(Bytes size) const {
  const auto found = std::ranges::find_if(points, [&](const CurvePoint& point) { return point.bytes <= size; });
  return found != points.end() ? &*found : nullptr;
}

Curve curve_of(const peak::DeviceAnalysis& device, advise::Checks& checks, const CurveProgress& progress) {
  const peak::Analysis& analysis = device.of();
  const model::Process& process = analysis.process();
  const bool is_readable = process.left_out.empty() && analysis.text().left_out.empty();
  if (process.is_imported || process.rewrites.rows() > 0 || !is_readable) return {};
  // The recompute budget is decided after the first backward, so the first step shows no choice.
  if (std::ranges::count_if(analysis.steps(), is_complete) < 2) return {};
  return Predictions(device, checks, progress).run();
}

std::string size_text(const CurvePoint& point) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  return std::to_string((point.bytes.value + kMiB - 1) / kMiB) + "MiB";
}

std::string fit_command(const CurvePoint& point, const std::string& command) {
  return "tapelens run --fit " + size_text(point) + " -- " + (command.empty() ? "COMMAND" : command);
}

std::string added_text(const Curve& curve, const CurvePoint& point) {
  if (point.added < 0.0005) return "no more time";
  char number[32];
  std::snprintf(number, sizeof(number), "+%.1f %% ", 100 * point.added);
  return curve.is_estimated ? "about " + std::string(number) + "compute" : number + std::string("time");
}

std::string layer_text(const Layer& layer) {
  const std::string name = layer.module.empty() ? "outside of modules" : layer.module;
  if (layer.all < 2) return name;
  return name + " (" + (layer.rewritten == layer.all ? "all " : std::to_string(layer.rewritten) + " of ") +
         std::to_string(layer.all) + ")";
}

}  // namespace tapelens::plan
