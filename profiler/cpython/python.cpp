// See python.h.
#include "profiler/cpython/python.h"

#include <dlfcn.h>

#include <csignal>

namespace tapelens::cpython {
namespace {

template <class Function>
bool find(Function& function, const char* name, const char* older = nullptr) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  if (symbol == nullptr && older != nullptr) symbol = dlsym(RTLD_DEFAULT, older);
  function = reinterpret_cast<Function>(symbol);
  return symbol != nullptr;
}

const Python* load() {
  static Python api;
  void* none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
  api.none = static_cast<PyObject*>(none);
  const auto runtime_error = static_cast<PyObject**>(dlsym(RTLD_DEFAULT, "PyExc_RuntimeError"));
  const auto exception = static_cast<PyObject**>(dlsym(RTLD_DEFAULT, "PyExc_Exception"));
  const auto memory_error = static_cast<PyObject**>(dlsym(RTLD_DEFAULT, "PyExc_MemoryError"));
  if (none == nullptr || runtime_error == nullptr || exception == nullptr || memory_error == nullptr) return nullptr;
  api.runtime_error = *runtime_error;
  api.memory_error = *memory_error;
  api.exception = *exception;
  const bool complete =
      find(api.IsInitialized, "Py_IsInitialized") && find(api.ErrSetString, "PyErr_SetString") &&
      find(api.IsFinalizing, "Py_IsFinalizing", "_Py_IsFinalizing") &&
      find(api.GILState_GetThisThreadState, "PyGILState_GetThisThreadState") &&
      find(api.GILState_Ensure, "PyGILState_Ensure") && find(api.GILState_Release, "PyGILState_Release") &&
      find(api.GILState_Check, "PyGILState_Check") && find(api.GCDisable, "PyGC_Disable") &&
      find(api.GCEnable, "PyGC_Enable") && find(api.ThreadState_GetFrame, "PyThreadState_GetFrame") &&
      find(api.Frame_GetBack, "PyFrame_GetBack") && find(api.Frame_GetCode, "PyFrame_GetCode") &&
      find(api.Frame_GetLineNumber, "PyFrame_GetLineNumber") && find(api.IncRef, "Py_IncRef") &&
      find(api.DecRef, "Py_DecRef") && find(api.GetAttrString, "PyObject_GetAttrString") &&
      find(api.AsUTF8, "PyUnicode_AsUTF8") && find(api.AsVoidPtr, "PyLong_AsVoidPtr") &&
      find(api.AsLong, "PyLong_AsLong") && find(api.FromVoidPtr, "PyLong_FromVoidPtr") &&
      find(api.GetTupleItem, "PyTuple_GetItem") && find(api.NewTuple, "PyTuple_New") &&
      find(api.SetTupleItem, "PyTuple_SetItem") && find(api.NewDict, "PyDict_New") &&
      find(api.SetItemString, "PyDict_SetItemString") && find(api.GetItemString, "PyDict_GetItemString") &&
      find(api.GetBuiltins, "PyEval_GetBuiltins") && find(api.NewFunction, "PyCFunction_NewEx") &&
      find(api.RunString, "PyRun_String") && find(api.NewWeakRef, "PyWeakref_NewRef") &&
      find(api.ErrOccurred, "PyErr_Occurred") && find(api.ErrClear, "PyErr_Clear") &&
      find(api.ErrFetch, "PyErr_Fetch") && find(api.ErrNormalize, "PyErr_NormalizeException") &&
      find(api.ErrGivenMatches, "PyErr_GivenExceptionMatches") && find(api.ErrSetObject, "PyErr_SetObject") &&
      find(api.SetTraceback, "PyException_SetTraceback") && find(api.AddPendingCall, "Py_AddPendingCall") &&
      find(api.ImportGetModule, "PyImport_GetModule") && find(api.FromString, "PyUnicode_FromString") &&
      find(api.CallOneArg, "PyObject_CallFunctionObjArgs") && find(api.CallTwoArgs, "PyObject_CallFunctionObjArgs") &&
      find(api.Call, "PyObject_Call");
  find(api.Frame_GetLasti, "PyFrame_GetLasti");  // not in 3.10: lines identify frames there
  return complete ? &api : nullptr;
}

int raise_now(void* exception) {
  const Python& api = *python();
  const Owned one(api, static_cast<PyObject*>(exception));
  const Owned kind(api, api.GetAttrString(one.get(), "__class__"));
  if (kind) api.ErrSetObject(kind.get(), one.get());
  return -1;
}

}  // namespace

const Python* python() {
  static const Python* const api = load();
  return api;
}

constinit thread_local int Gil::t_count = 0;

bool python_may_run(const Python& api) {
  return api.IsInitialized() != 0 && api.IsFinalizing() == 0 && api.GILState_GetThisThreadState() != nullptr;
}

namespace {
struct Error {
  Owned kind, value, trace;
};
Error take_error(const Python& api) {
  PyObject *kind = nullptr, *value = nullptr, *trace = nullptr;
  api.ErrFetch(&kind, &value, &trace);
  if (kind != nullptr) api.ErrNormalize(&kind, &value, &trace);
  if (value != nullptr && trace != nullptr) api.SetTraceback(value, trace);
  return {Owned(api, kind), Owned(api, value), Owned(api, trace)};
}

Owned attribute(const Python& api, PyObject* object, const char* name) {
  Owned value(api, object != nullptr ? api.GetAttrString(object, name) : nullptr);
  if (!value) api.ErrClear();
  return value;
}

void raise_later(const Python& api, PyObject* exception) {
  api.IncRef(exception);
  if (api.AddPendingCall(&raise_now, exception) != 0) api.DecRef(exception);
}

// The code of a function, a method, a functools.partial, or an object with __call__. The depth is limited: mocks nest
// without end.
Owned code_of(const Python& api, PyObject* callable, int deepest = 8) {
  if (Owned code = attribute(api, callable, "__code__")) return code;
  const Owned inner = deepest > 0 ? attribute(api, callable, "func") : Owned(api, nullptr);
  if (inner) return code_of(api, inner.get(), deepest - 1);
  const Owned kind = attribute(api, callable, "__class__");
  return attribute(api, attribute(api, kind.get(), "__call__").get(), "__code__");
}

bool runs_in(const Python& api, PyObject* code, PyObject* traceback) {
  Owned at(api, traceback);
  api.IncRef(traceback);
  while (at && at.get() != api.none) {
    const Owned frame = attribute(api, at.get(), "tb_frame");
    if (attribute(api, frame.get(), "f_code").get() == code) return true;
    at = attribute(api, at.get(), "tb_next");
  }
  return false;
}

}  // namespace

bool is_of_handler(const Python& api, PyObject* exception) {
  const Owned kind = attribute(api, exception, "__class__");
  if (!kind || api.ErrGivenMatches(kind.get(), api.exception) == 0) return true;
  const Owned name(api, api.FromString("_signal"));  // signal.getsignal() would run Python, and other handlers
  const Owned module(api, name ? api.ImportGetModule(name.get()) : nullptr);
  const Owned handler_of = attribute(api, module.get(), "getsignal");
  const Owned traceback = attribute(api, exception, "__traceback__");
  if (!handler_of || !traceback) return false;
  for (uintptr_t number = 1; number < NSIG; ++number) {
    const Owned one(api, api.FromVoidPtr(reinterpret_cast<void*>(number)));
    const Owned handler(api, api.CallOneArg(handler_of.get(), one.get(), nullptr));
    if (!handler) api.ErrClear();
    const Owned code = handler ? code_of(api, handler.get()) : Owned(api, nullptr);
    if (code && runs_in(api, code.get(), traceback.get())) return true;
  }
  return false;
}

PyObject* python_is_of_handler(PyObject*, PyObject* exception) {
  const Python& api = *python();
  PyObject* const answer = api.GetItemString(api.GetBuiltins(), is_of_handler(api, exception) ? "True" : "False");
  api.IncRef(answer);
  return answer;
}

bool forget_error(const Python& api) {
  const Error error = take_error(api);
  if (!error.value || !is_of_handler(api, error.value.get())) return true;
  raise_later(api, error.value.get());
  return false;
}

void give_error_back(const Python& api) {
  const Error error = take_error(api);
  if (!error.value) return;
  if (api.ErrGivenMatches(error.kind.get(), api.memory_error) != 0 && !is_of_handler(api, error.value.get())) return;
  raise_later(api, error.value.get());
}

std::string text_attribute(const Python& api, PyObject* object, const char* name) {
  const Owned value(api, api.GetAttrString(object, name));
  const char* text = value ? api.AsUTF8(value.get()) : nullptr;
  if (text == nullptr) api.ErrClear();
  return text != nullptr ? text : "";
}

}  // namespace tapelens::cpython
