// rewrite.py keeps one copy of tensors that torch's scan stacks although they are equal in every iteration. This file
// decides which tensors rewrite.py may change, and counts the sites.
#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <memory>

#include "plugins/scan-save/rewrite.py.h"
#include "plugins/scan-save/rule.h"
#include "profiler/cpython/python.h"
#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/host.h"
#include "profiler/rewrite/operators.h"
#include "profiler/rewrite/python_part.h"
#include "profiler/rewrite/settings.h"
#include "profiler/rewrite/storage_versions.h"
#include "profiler/rewrite/streams.h"
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

PyObject* is_plain_now(PyObject*, PyObject* cdata) {
  const at::Tensor tensor = tensor_of(cdata);
  if (!tensor.defined()) return nullptr;
  return answer(is_plain_moment() && is_plain(tensor));
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

// A view of an input on CUDA, whose memory is not copy-on-write. The host keeps its values for the backward.
class Held {
 public:
  // Null, with a reason: its values cannot be kept.
  static std::unique_ptr<Held> hold(const at::Tensor& view, const char*& reason) {
    reason = streams::stream_use() == streams::StreamUse::ordinary ? touched(*view.storage().unsafeGetStorageImpl())
                                                                   : "the program uses several streams";
    if (reason != nullptr) return nullptr;
    StorageVersionPtr version = version_of(view);
    if (version->add_reader()) return std::make_unique<Held>(std::move(version), Geometry(view));
    reason = "its scanned input may be written";
    return nullptr;
  }
  Held(StorageVersionPtr version, Geometry geometry) : version_(std::move(version)), geometry_(std::move(geometry)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { version_->remove_reader(); }

  void copy_to(const at::Tensor& out) const {
    const Quiet quiet;
    const Alone alone;
    const versions::ValuesPtr values = version_->read();
    out.copy_(geometry_.over(storage_here(values)));
  }

 private:
  StorageVersionPtr version_;
  Geometry geometry_;
};

PyObject* hold(PyObject*, PyObject* cdata) {
  const at::Tensor view = tensor_of(cdata);
  if (!view.defined()) return nullptr;
  const char* reason = nullptr;
  if (auto held = Held::hold(view, reason)) return cpython::python()->FromVoidPtr(held.release());
  skipped(kRewrite.id, kRewrite.level, kSite, reason, view.nbytes());
  return python_none();
}

PyObject* copy_held(PyObject*, PyObject* arguments) {  // the number of hold(), the `_cdata` of a tensor of its sizes
  const Python& api = *cpython::python();
  const auto* held = static_cast<const Held*>(api.AsVoidPtr(api.GetTupleItem(arguments, 0)));
  const at::Tensor out = tensor_of(api.GetTupleItem(arguments, 1));
  if (held == nullptr || !out.defined()) return nullptr;
  held->copy_to(out);
  return python_none();
}

PyObject* release_held(PyObject*, PyObject* number) {
  delete static_cast<const Held*>(cpython::python()->AsVoidPtr(number));
  return python_none();
}

PyMethodDef g_functions[] = {
    {"tapelens_scan_is_plain", guarded<is_plain_now>, cpython::kMethO, nullptr},
    {"tapelens_scan_wants", guarded<wants_bytes>, cpython::kMethO, nullptr},
    {"tapelens_scan_hold", guarded<hold>, cpython::kMethO, nullptr},
    {"tapelens_scan_copy_held", guarded<copy_held>, cpython::kMethVarargs, nullptr},
    {"tapelens_scan_release_held", guarded<release_held>, cpython::kMethO, nullptr},
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
