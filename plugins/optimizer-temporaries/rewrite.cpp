// Runs a foreach step of an optimizer in parts, so that fewer temporaries are alive at once: rewrite.py splits the
// parameters. This file decides which steps may be split, and where.
//
// A part computes the same bits as the whole: the foreach operators compute each tensor separately, and choose the same
// implementation for a part (foreach.h).
#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <vector>

#include "plugins/optimizer-temporaries/rewrite.py.h"
#include "plugins/optimizer-temporaries/rule.h"
#include "profiler/cpython/python.h"
#include "profiler/rewrite/foreach.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/operators.h"
#include "profiler/rewrite/python_part.h"
#include "profiler/rewrite/settings.h"
#include "profiler/rewrite/tally.h"

namespace tapelens::rewrite {
namespace {

using plugins::optimizer_temporaries::kPartInLeastBytes;
using plugins::optimizer_temporaries::kRewrite;

using cpython::PyMethodDef;
using cpython::PyObject;
using cpython::Python;

constexpr RewriteSite kSite = {.operator_name = "Optimizer.step"};

struct Parameter {
  at::Tensor tensor;
  std::vector<at::Tensor> others;  // the gradient, then the state
};
using Parameters = std::vector<Parameter>;

// Reads the tuple of rewrite.py's tensors_of().
class Reader {
 public:
  explicit Reader(PyObject* numbers) : numbers_(numbers) {}

  Parameters parameters() {
    Parameters read(next_number());
    for (Parameter& parameter : read) {
      const size_t tensors = next_number();
      parameter.tensor = next_tensor();
      for (size_t i = 1; i < tensors; ++i) parameter.others.push_back(next_tensor());
    }
    return read;
  }

 private:
  PyObject* next() { return api_.GetTupleItem(numbers_, next_++); }
  size_t next_number() { return static_cast<size_t>(api_.AsLong(next())); }
  at::Tensor next_tensor() { return tensor_of(next()); }

  const Python& api_ = *cpython::python();
  PyObject* numbers_;
  ptrdiff_t next_ = 0;
};

struct Sizes {
  uint64_t total = 0, largest = 0;
  uint64_t part() const { return std::max(largest, uint64_t{kPartInLeastBytes} * settings().min_bytes); }
};
Sizes sizes_of(const Parameters& parameters) {
  Sizes sizes;
  for (const Parameter& parameter : parameters) {
    const uint64_t bytes = parameter.tensor.nbytes();
    sizes.total += bytes;
    sizes.largest = std::max(sizes.largest, bytes);
  }
  return sizes;
}

// ---- whether a step may be split

// Memory that the step reads, and writes unless it is of a gradient.
struct Range {
  uintptr_t begin, end;
  bool is_gradient;
};
void add_range(const at::Tensor& tensor, bool is_gradient, std::vector<Range>& ranges) {
  if (tensor.numel() == 0) return;
  uint64_t last = 0;  // element
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    last += static_cast<uint64_t>(tensor.size(i) - 1) * static_cast<uint64_t>(tensor.stride(i));
  }
  const auto begin = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
  ranges.push_back({begin, begin + (last + 1) * tensor.element_size(), is_gradient});
}
// Whether the step writes memory that two tensors share: then the order of its operators matters.
bool shares_written_memory(const Parameters& parameters) {
  std::vector<Range> ranges;
  for (const Parameter& parameter : parameters) {
    add_range(parameter.tensor, false, ranges);
    for (const at::Tensor& other : parameter.others) add_range(other, &other == &parameter.others.front(), ranges);
  }
  std::ranges::sort(ranges, {}, &Range::begin);
  uintptr_t end_of_gradients = 0, end_of_written = 0;
  for (const Range& range : ranges) {
    if (range.begin < end_of_written || (!range.is_gradient && range.begin < end_of_gradients)) return true;
    uintptr_t& end = range.is_gradient ? end_of_gradients : end_of_written;
    end = std::max(end, range.end);
  }
  return false;
}

bool is_plain(const Parameter& parameter) {
  return rewrite::is_plain(parameter.tensor) &&
         std::ranges::all_of(parameter.others, [](const at::Tensor& other) { return rewrite::is_plain(other); });
}

const char* reason_against(const Parameters& parameters) {
  if (!is_plain_moment()) return "its step runs under a mode";
  const c10::Device device = parameters.front().tensor.device();
  for (const Parameter& parameter : parameters) {
    if (!is_plain(parameter)) return "a parameter, its gradient or its state is not an ordinary tensor";
    if (!at::isFloatingType(parameter.tensor.scalar_type())) return "a parameter has no real numbers";
    if (parameter.tensor.device() != device) return "its parameters are on several devices";
    if (!device.is_cpu() && !permits_foreach_kernels(parameter.tensor, parameter.others)) {
      return "a gradient or state differs from its parameter in type or layout";
    }
  }
  if (shares_written_memory(parameters)) return "two of its tensors share memory";
  return nullptr;
}

// The parts without the last: the index of the parameter after each. They keep the parameters' order, which is that of
// the optimizer's state. `kept`: the bytes of the largest part.
std::vector<size_t> ends_of_parts(const Parameters& parameters, uint64_t most, uint64_t& kept) {
  std::vector<size_t> ends;
  uint64_t bytes = 0;
  kept = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const uint64_t more = parameters[i].tensor.nbytes();
    if (bytes > 0 && bytes + more > most) {
      ends.push_back(i);
      bytes = 0;
    }
    bytes += more;
    kept = std::max(kept, bytes);
  }
  return ends;
}

// ---- the functions that the Python part calls; `self` is unused

// Whether the group is large enough, and the user wants the rewrite: a text or None.
PyObject* wants_parts(PyObject*, PyObject* numbers) {
  const Sizes sizes = sizes_of(Reader(numbers).parameters());
  const bool wants = sizes.total > sizes.part() && applies_here(kRewrite, kSite.operator_name);
  return wants ? python_text("yes") : python_none();
}

// A text: the reason why the step must run as a whole. Else a tuple: the ends of the parts, without the last.
PyObject* split(PyObject*, PyObject* numbers) {
  const Parameters parameters = Reader(numbers).parameters();
  if (const char* reason = reason_against(parameters)) return python_text(reason);
  const Sizes sizes = sizes_of(parameters);
  uint64_t kept = 0;
  const std::vector<size_t> ends = ends_of_parts(parameters, sizes.part(), kept);
  const Python& api = *cpython::python();
  PyObject* tuple = api.NewTuple(static_cast<ptrdiff_t>(ends.size()));
  for (size_t i = 0; i < ends.size(); ++i) {
    // A number: only a pointer has a function in cpython::Python.
    api.SetTupleItem(tuple, static_cast<ptrdiff_t>(i), api.FromVoidPtr(reinterpret_cast<void*>(ends[i])));  // NOLINT
  }
  applied(kRewrite.id, kRewrite.level, kSite, sizes.total, kept);
  return tuple;
}

PyObject* tell_skipped(PyObject*, PyObject* arguments) {  // numbers, reason
  const Python& api = *cpython::python();
  const char* reason = api.AsUTF8(api.GetTupleItem(arguments, 1));
  if (reason == nullptr) return nullptr;
  const Sizes sizes = sizes_of(Reader(api.GetTupleItem(arguments, 0)).parameters());
  skipped(kRewrite.id, kRewrite.level, kSite, reason, sizes.total);
  return python_none();
}

PyMethodDef g_functions[] = {
    {"tapelens_steps_wants", guarded<wants_parts>, cpython::kMethO, nullptr},
    {"tapelens_steps_split", guarded<split>, cpython::kMethO, nullptr},
    {"tapelens_steps_skipped", guarded<tell_skipped>, cpython::kMethVarargs, nullptr},
};

// ---- the first backward installs rewrite.py: only a training has steps. Optimizers of C++ make no lists.

constinit PythonPart g_part = {.id = kRewrite.id,
                               .level = kRewrite.level,
                               .source = plugins::optimizer_temporaries::kPython,
                               .functions = g_functions,
                               .without_python = {},
                               .not_installed = "the optimizers of this PyTorch cannot be watched"};

std::unique_ptr<at::ObserverContext> node_begins(const at::RecordFunction&) {
  g_part.attempt();
  return nullptr;
}

class OptimizerTemporaries final : public Rewrite {
 public:
  RewriteInfo info() const override { return kRewrite; }
  void install(const OperatorHost&) const override { g_part.bring_in(at::RecordScope::BACKWARD_FUNCTION, node_begins); }
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::OptimizerTemporaries)
