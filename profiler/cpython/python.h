// CPython as far as the probe needs it, found by dlsym: one probe serves every CPython from 3.10, without its headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tapelens::cpython {

struct PyObject;  // never looked into

struct PyMethodDef {  // part of CPython's stable ABI
  const char* name;
  PyObject* (*function)(PyObject*, PyObject*);
  int flags;
  const char* doc;
};
inline constexpr int kMethVarargs = 1, kMethO = 8;
inline constexpr int kFileInput = 257;

struct Python {
  int (*IsInitialized)();
  int (*IsFinalizing)();  // from 3.13; `_Py_IsFinalizing` before
  PyObject* (*GILState_GetThisThreadState)();
  int (*GILState_Ensure)();
  void (*GILState_Release)(int);
  int (*GILState_Check)();  // whether the calling thread holds the lock
  int (*GCDisable)();       // whether it was enabled
  int (*GCEnable)();
  PyObject* (*ThreadState_GetFrame)(PyObject*);
  PyObject* (*Frame_GetBack)(PyObject*);
  PyObject* (*Frame_GetCode)(PyObject*);
  int (*Frame_GetLasti)(PyObject*);  // from 3.11
  int (*Frame_GetLineNumber)(PyObject*);
  void (*IncRef)(PyObject*);
  void (*DecRef)(PyObject*);
  PyObject* (*GetAttrString)(PyObject*, const char*);
  PyObject* (*CallOneArg)(PyObject*, PyObject*, void*);              // PyObject_CallFunctionObjArgs
  PyObject* (*CallTwoArgs)(PyObject*, PyObject*, PyObject*, void*);  // likewise
  PyObject* (*Call)(PyObject*, PyObject*, PyObject*);                // a tuple, a dict or null
  const char* (*AsUTF8)(PyObject*);
  void* (*AsVoidPtr)(PyObject*);
  long (*AsLong)(PyObject*);
  PyObject* (*FromVoidPtr)(void*);
  PyObject* (*GetTupleItem)(PyObject*, ptrdiff_t);
  PyObject* (*NewTuple)(ptrdiff_t);
  int (*SetTupleItem)(PyObject*, ptrdiff_t, PyObject*);  // takes the reference
  PyObject* (*NewDict)();
  int (*SetItemString)(PyObject*, const char*, PyObject*);
  PyObject* (*GetItemString)(PyObject*, const char*);
  PyObject* (*GetBuiltins)();
  PyObject* (*NewFunction)(PyMethodDef*, PyObject*, PyObject*);
  PyObject* (*RunString)(const char*, int, PyObject*, PyObject*);
  PyObject* (*NewWeakRef)(PyObject*, PyObject*);
  PyObject* (*ErrOccurred)();
  void (*ErrClear)();
  void (*ErrFetch)(PyObject**, PyObject**, PyObject**);
  void (*ErrNormalize)(PyObject**, PyObject**, PyObject**);
  int (*ErrGivenMatches)(PyObject*, PyObject*);
  void (*ErrSetObject)(PyObject*, PyObject*);
  int (*SetTraceback)(PyObject*, PyObject*);
  int (*AddPendingCall)(int (*)(void*), void*);
  PyObject* (*ImportGetModule)(PyObject*);
  PyObject* (*FromString)(const char*);
  void (*ErrSetString)(PyObject*, const char*);
  PyObject* none;
  PyObject* exception;      // the class Exception
  PyObject* runtime_error;  // the class RuntimeError
};

// Null where the process has no interpreter, or one that lacks a function of the above.
const Python* python();

// The interpreter's lock, held while this lives; of a Python without one nothing. Only for threads that it knows.
class Gil {
 public:
  explicit Gil(const Python& api) : api_(api), state_((++t_count, api.GILState_Ensure())) {}
  ~Gil() {
    api_.GILState_Release(state_);
    --t_count;
  }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;
  // Whether one lives on the calling thread: it holds the lock or waits for it.
  static bool is_here() { return t_count > 0; }

 private:
  static constinit thread_local int t_count;
  const Python& api_;
  int state_;
};

// While it lives, no cycles are collected, whose finalizers are Python.
class WithoutCollection {
 public:
  explicit WithoutCollection(const Python& api) : api_(api), was_enabled_(api.GCDisable() != 0) {}
  ~WithoutCollection() {
    if (was_enabled_) api_.GCEnable();
  }
  WithoutCollection(const WithoutCollection&) = delete;
  WithoutCollection& operator=(const WithoutCollection&) = delete;

 private:
  const Python& api_;
  bool was_enabled_;
};

// A reference that is given back.
class Owned {
 public:
  Owned(const Python& api, PyObject* object) : api_(&api), object_(object) {}
  Owned(Owned&& other) noexcept : api_(other.api_), object_(other.object_) { other.object_ = nullptr; }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr) api_->DecRef(object_);
  }
  PyObject* get() const { return object_; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  const Python* api_;
  PyObject* object_;
};

// May Python be run by this thread now: an interpreter that is neither starting nor ending, and knows the thread.
bool python_may_run(const Python& api);

// Whether a handler of the program's signals raised this exception, which the interpreter ran inside of Python code of
// ours: a frame of its traceback runs the code of a handler that is set, or it is no Exception (KeyboardInterrupt).
bool is_of_handler(const Python& api, PyObject* exception);

// The same for Python code of ours, which raises again what is the program's: tapelens_is_of_handler(exception).
PyObject* python_is_of_handler(PyObject*, PyObject* exception);
inline constexpr PyMethodDef kIsOfHandler = {"tapelens_is_of_handler", &python_is_of_handler, kMethO, nullptr};

// For what Python code of ours left as an error: it is forgotten, and this true. Of a handler: false, and the main
// thread, which alone runs handlers of signals, raises it before its next instruction in Python.
bool forget_error(const Python& api);

// For what came out of Python code of ours that lets no error of its own out: whatever it is, a handler of the
// program's signals raised it, as that code began or ended, and the program gets it as above.
void give_error_back(const Python& api);

std::string text_attribute(const Python& api, PyObject* object, const char* name);

}  // namespace tapelens::cpython
