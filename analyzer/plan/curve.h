// The memory of a recorded program against added time: a prediction for each choice of `run --fit` from one recording,
// without a run. The rewrite offload has no prediction, so that a run may need less.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/checks.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/plan/plan.h"

namespace tapelens::plan {

// The rewritten saves in equal modules.
struct Layer {
  std::string module;               // "Net.layers.*.mlp"; empty: outside of modules
  uint64_t rewritten = 0, all = 0;  // how many of these modules with this choice, and with any
  Bytes bytes;                      // no longer kept, the most at one moment of each field

  friend bool operator==(const Layer&, const Layer&) = default;
};

struct CurvePoint {
  Choice choice;
  Bytes bytes;                // the need of the program, as Tried::bytes
  double added = 0;           // time of the repeated operators, as a share of all steps
  std::vector<Layer> layers;  // the most bytes first
};

struct Curve {
  std::vector<CurvePoint> points;  // without rewrites first; each needs less memory and more time than the one before
  bool is_reserved = false;        // bytes are what a GPU's allocator reserves; false: the peak of tensors
  bool is_estimated = false;       // `added` is an estimate from sizes; false: from recorded durations

  // A rewrite lowers the memory.
  bool is_worth() const { return points.size() > 1; }
  // The point that a size selects: the first that needs at most this. Null: none.
  const CurvePoint* at(Bytes size) const;
};

// The limits of the prediction, for a reader.
inline constexpr std::string_view kCurveNote =
    "Predicted from this recording. tapelens run --fit measures each choice, and may find that it needs less: the "
    "rewrite offload is not predicted.";

// Reports the completed share. May be empty.
using CurveProgress = std::function<void(double)>;

// Empty for a recording that cannot predict rewrites: an imported one, one with rewrites, one with unreadable tables,
// one with fewer than two complete steps. Takes two replays of the recording for each point.
Curve curve_of(const peak::DeviceAnalysis& device, advise::Checks& checks, const CurveProgress& progress = {});

// The size of the point for `--fit`, in whole MiB: "20577MiB".
std::string size_text(const CurvePoint& point);
// "tapelens run --fit 20577MiB -- python train.py". `command`: shell-quoted; empty: not known.
std::string fit_command(const CurvePoint& point, const std::string& command);
// "+9.3 % time"; "about +9.3 % compute" if it is estimated; "no more time".
std::string added_text(const Curve& curve, const CurvePoint& point);
// "Net.layers.*.mlp (10 of 24)".
std::string layer_text(const Layer& layer);

}  // namespace tapelens::plan
