// See python_functions.h. `self` is unused everywhere.
#include "profiler/observe/python_functions.h"

#include <ATen/core/Tensor.h>

#include "profiler/observe/compiled_graphs.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/steps.h"

namespace tapelens::observe {

using namespace cpython;

PyObject* give_none() {
  const Python& api = *python();
  api.IncRef(api.none);
  return api.none;
}

namespace {

c10::TensorImpl* tensor_of(PyObject* arguments, ptrdiff_t place) {
  const Python& api = *python();
  return static_cast<c10::TensorImpl*>(api.AsVoidPtr(api.GetTupleItem(arguments, place)));
}

// Arguments: TensorImpl, name, role, TensorImpl that it belongs to or 0: observers.h, role_told().
PyObject* tell_role(PyObject*, PyObject* arguments) {
  const Python& api = *python();
  const c10::TensorImpl *tensor = tensor_of(arguments, 0), *of = tensor_of(arguments, 3);
  const char* name = api.AsUTF8(api.GetTupleItem(arguments, 1));
  const auto role = static_cast<Role>(api.AsLong(api.GetTupleItem(arguments, 2)));
  if (tensor == nullptr || name == nullptr) return nullptr;
  if (is_recording()) record::role_told(this_thread(), role, name, *tensor, of);
  return give_none();
}

// The same for a parameter whose storage repeatedly gets other memory.
PyObject* tell_resized_role(PyObject* self, PyObject* arguments) {
  PyObject* told = tell_role(self, arguments);
  if (told == nullptr || !is_recording()) return told;
  const Python& api = *python();
  record::follow_resizes(this_thread(), api.AsUTF8(api.GetTupleItem(arguments, 1)), *tensor_of(arguments, 0));
  return told;
}

// The storage of the argument at this place: that of a TensorImpl, or, if the next argument is True, the StorageImpl.
const c10::StorageImpl* storage_of(PyObject* arguments, ptrdiff_t place) {
  const Python& api = *python();
  void* of = api.AsVoidPtr(api.GetTupleItem(arguments, place));
  if (of == nullptr || api.AsLong(api.GetTupleItem(arguments, place + 1)) != 0)
    return static_cast<c10::StorageImpl*>(of);
  return static_cast<c10::TensorImpl*>(of)->unsafe_storage().unsafeGetStorageImpl();
}

PyObject* tell_variable(PyObject*, PyObject* arguments) {  // TensorImpl or StorageImpl, which, name
  const c10::StorageImpl* storage = storage_of(arguments, 0);
  const char* name = python()->AsUTF8(python()->GetTupleItem(arguments, 2));
  if (name == nullptr) return nullptr;
  if (is_recording() && storage != nullptr) record::variable_told(this_thread(), name, *storage);
  return give_none();
}

// The address of its memory; 0: it has none.
PyObject* give_address(PyObject*, PyObject* arguments) {  // TensorImpl or StorageImpl, which
  const c10::StorageImpl* storage = storage_of(arguments, 0);
  return python()->FromVoidPtr(
      storage == nullptr ? nullptr : const_cast<c10::StorageImpl*>(storage)->_mutable_data_ptr_no_checks().get());
}

// A tensor or storage that is older than the recording. Returns the bytes that are recorded from now on.
PyObject* adopt(PyObject*, PyObject* arguments) {  // TensorImpl or StorageImpl, which
  auto* storage = const_cast<c10::StorageImpl*>(storage_of(arguments, 0));
  const uint64_t bytes = is_recording() && storage != nullptr ? record::adopted(this_thread(), *storage) : 0;
  return python()->FromVoidPtr(reinterpret_cast<void*>(bytes));
}

PyObject* tell_information(PyObject*, PyObject* arguments) {  // key, value
  const Python& api = *python();
  const char* key = api.AsUTF8(api.GetTupleItem(arguments, 0));
  const char* value = api.AsUTF8(api.GetTupleItem(arguments, 1));
  if (key == nullptr || value == nullptr) return nullptr;
  if (is_recording()) record::information(this_thread(), key, value);
  return give_none();
}

// For a wrapper subclass. Arguments: TensorImpl of the parameter, which values, TensorImpl of an inner tensor.
PyObject* tell_part_values(PyObject*, PyObject* arguments) {
  const Python& api = *python();
  const c10::TensorImpl* parameter = tensor_of(arguments, 0);
  const auto of = static_cast<ParameterValues>(api.AsLong(api.GetTupleItem(arguments, 1)));
  c10::TensorImpl* part = tensor_of(arguments, 2);
  if (parameter == nullptr || part == nullptr) return nullptr;
  using Tensor = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  if (is_recording()) record::step_values(this_thread(), of, parameter, at::Tensor(Tensor::reclaim_copy(part)));
  return give_none();
}

PyObject* tell_values(PyObject*, PyObject* arguments) {  // TensorImpl of the parameter, which values
  const Python& api = *python();
  c10::TensorImpl* parameter = tensor_of(arguments, 0);
  const auto of = static_cast<ParameterValues>(api.AsLong(api.GetTupleItem(arguments, 1)));
  if (parameter == nullptr) return nullptr;
  if (is_recording()) record::step_values(this_thread(), of, parameter);
  return give_none();
}

PyObject* tell_optimizer_begin(PyObject*, PyObject* name) {
  const char* text = python()->AsUTF8(name);
  if (text == nullptr) return nullptr;
  if (is_recording()) optimizer_begins(this_thread(), text);
  return give_none();
}

PyObject* tell_optimizer_end(PyObject*, PyObject* name) {
  const char* text = python()->AsUTF8(name);
  if (text == nullptr) return nullptr;
  if (is_recording()) optimizer_ends(this_thread(), text);
  return give_none();
}

PyObject* tell_say(PyObject*, PyObject* sentence) {
  const char* text = python()->AsUTF8(sentence);
  if (text == nullptr) return nullptr;
  say(text);
  return give_none();
}

// Turns an exception, which must not pass through the interpreter, into Python's MemoryError. Searches for variables
// run after an out of memory.
template <PyObject* (*function)(PyObject*, PyObject*)>
PyObject* contained(PyObject* self, PyObject* arguments) {
  try {
    return function(self, arguments);
  } catch (...) {
    python()->ErrSetString(python()->memory_error, "");
    return nullptr;
  }
}

PyMethodDef g_told[] = {
    {"tapelens_role", tell_role, kMethVarargs, nullptr},
    {"tapelens_resized_role", tell_resized_role, kMethVarargs, nullptr},
    {"tapelens_variable", contained<tell_variable>, kMethVarargs, nullptr},
    {"tapelens_address", give_address, kMethVarargs, nullptr},
    {"tapelens_adopt", contained<adopt>, kMethVarargs, nullptr},
    {"tapelens_information", tell_information, kMethVarargs, nullptr},
    {"tapelens_values", tell_values, kMethVarargs, nullptr},
    {"tapelens_part_values", tell_part_values, kMethVarargs, nullptr},
    {"tapelens_optimizer_begin", tell_optimizer_begin, kMethO, nullptr},
    {"tapelens_optimizer_end", tell_optimizer_end, kMethO, nullptr},
    {"tapelens_say", contained<tell_say>, kMethO, nullptr},
    kIsOfHandler,
    {"tapelens_graph", tell_graph, kMethVarargs, nullptr},
    {"tapelens_traced", make_traced, kMethO, nullptr},
};

}  // namespace

std::span<PyMethodDef> python_functions() { return g_told; }

}  // namespace tapelens::observe
