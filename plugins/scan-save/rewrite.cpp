// rewrite.py keeps one copy of tensors that torch's scan stacks although they are equal in every iteration. This file
// decides which tensors rewrite.py may change, and counts the sites.
#include <ATen/record_function.h>

#include "plugins/scan-save/rewrite.py.h"
#include "plugins/scan-save/rule.h"
#include "profiler/cpython/python.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/operators.h"
#include "profiler/rewrite/python_part.h"
#include "profiler/rewrite/settings.h"
#include "profiler/rewrite/tally.h"

namespace tapelens::rewrite {
namespace {

using plugins::scan_save::kRewrite;

using cpython::PyMethodDef;
using cpython::PyObject;
using cpython::Python;

constexpr RewriteSite kSite = {.operator_name = "aten::scatter_"};  // the operator that fills the stack

// ---- the functions that the Python part calls; `self` is unused. None means no.

PyObject* answer(bool yes) { return yes ? cpython::python()->FromString("yes") : python_none(); }

PyObject* is_plain_now(PyObject*, PyObject* tensor) {
  auto* impl = static_cast<c10::TensorImpl*>(cpython::python()->AsVoidPtr(tensor));
  if (impl == nullptr) return nullptr;
  return answer(
      is_plain_moment() &&
      is_plain_on_cpu(at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(impl))));
}

PyObject* wants_bytes(PyObject*, PyObject* bytes) {
  const auto stacked = static_cast<uint64_t>(cpython::python()->AsLong(bytes));
  return answer(stacked >= settings().min_bytes && applies_here(kRewrite, kSite.operator_name));
}

PyObject* tell_applied(PyObject*, PyObject* arguments) {  // bytes of the stack, bytes that are kept
  const Python& api = *cpython::python();
  const auto number_at = [&](int argument) {
    return static_cast<uint64_t>(api.AsLong(api.GetTupleItem(arguments, argument)));
  };
  applied(kRewrite.id, kRewrite.level, kSite, number_at(0), number_at(1));
  return python_none();
}

PyObject* tell_skipped(PyObject*, PyObject* reason) {
  const char* why = cpython::python()->AsUTF8(reason);
  if (why == nullptr) return nullptr;
  skipped(kRewrite.id, kRewrite.level, kSite, why, 0);
  return python_none();
}

PyMethodDef g_functions[] = {
    {"tapelens_scan_is_plain", guarded<is_plain_now>, cpython::kMethO, nullptr},
    {"tapelens_scan_wants", guarded<wants_bytes>, cpython::kMethO, nullptr},
    {"tapelens_scan_applied", guarded<tell_applied>, cpython::kMethVarargs, nullptr},
    {"tapelens_scan_skipped", guarded<tell_skipped>, cpython::kMethO, nullptr},
};

// ---- the first operator after the import of torch installs rewrite.py

constinit PythonPart g_part = {.id = kRewrite.id,
                               .level = kRewrite.level,
                               .source = plugins::scan_save::kPython,
                               .functions = g_functions,
                               .without_python = {},
                               .not_installed = "the scan of this PyTorch is not one that is known"};

std::unique_ptr<at::ObserverContext> operator_begins(const at::RecordFunction&) {
  g_part.attempt();
  return nullptr;
}

class ScanSave final : public Rewrite {
 public:
  RewriteInfo info() const override { return kRewrite; }
  void install(const OperatorHost&) const override { g_part.bring_in(at::RecordScope::FUNCTION, operator_begins); }
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::ScanSave)
