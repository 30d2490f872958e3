#include "profiler/observe/named_tensors.h"

#include <c10/core/impl/TorchDispatchModeTLS.h>

#include "profiler/observe/python_functions.h"

namespace tapelens::observe {

using namespace cpython;

bool has_fake_tensors() {
  return c10::impl::TorchDispatchModeTLS::get_mode(c10::impl::TorchDispatchModeKey::FAKE).has_value();
}

const Python* python_to_ask() {
  const Python* api = python();
  if (api == nullptr || !python_may_run(*api)) return nullptr;
  return has_fake_tensors() ? nullptr : api;
}

void ask(const Python& api, const char* function, PyObject* argument, std::vector<NamedTensor>& found) {
  const Owned parts(api, api.CallOneArg(hook_function(function), argument, nullptr));
  if (!parts) {
    forget_error(api);
    return;
  }
  // (count, name, tensor, its _cdata, name, ...)
  const long count = api.AsLong(api.GetTupleItem(parts.get(), 0));
  for (long i = 0; i < count; ++i) {
    const char* name = api.AsUTF8(api.GetTupleItem(parts.get(), 3 * i + 1));
    auto* impl = static_cast<c10::TensorImpl*>(api.AsVoidPtr(api.GetTupleItem(parts.get(), 3 * i + 3)));
    if (name == nullptr || impl == nullptr) return api.ErrClear();
    using Counted = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    found.push_back({name, at::Tensor(Counted::reclaim_copy(impl))});
  }
}

}  // namespace tapelens::observe
