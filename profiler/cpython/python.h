// The part of CPython that the probe needs, found by dlsym: one probe serves every CPython from 3.10, without its
// headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tapelens::cpython {

struct PyObject;  // opaque

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
  int (*GILState_Check)();  // whether the calling thread holds the GIL
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
  PyObject* memory_error;   // the class MemoryError
};

// Null if the process has no interpreter, or one without a function listed above.
const Python* python();

// Holds the GIL during its lifetime; no effect on a Python without a GIL. Only for threads that Python knows.
class Gil {
 public:
  explicit Gil(const Python& api) : api_(api), state_((++t_count, api.GILState_Ensure())) {}
  ~Gil() {
    api_.GILState_Release(state_);
    --t_count;
  }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;
  // Whether a Gil object exists on the calling thread, which holds the GIL or waits for it.
  static bool is_here() { return t_count > 0; }

 private:
  static constinit thread_local int t_count;
  const Python& api_;
  int state_;
};

// While it lives, Python does not collect cycles, whose finalizers are Python code.
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

// An owned reference, released at the end of its lifetime.
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

// Whether this thread may run Python now: the interpreter is neither starting nor ending, and knows the thread.
bool python_may_run(const Python& api);

// Whether one of the program's signal handlers raised this exception, in the middle of our Python code. True if a frame
// of its traceback runs the code of an installed handler, or if it is not an Exception (KeyboardInterrupt).
bool is_of_handler(const Python& api, PyObject* exception);

// The same for our Python code, which re-raises the program's exceptions: tapelens_is_of_handler(exception).
PyObject* python_is_of_handler(PyObject*, PyObject* exception);
inline constexpr PyMethodDef kIsOfHandler = {"tapelens_is_of_handler", &python_is_of_handler, kMethO, nullptr};

// Handles an error that our Python code left. Discards it and returns true, unless a signal handler raised it. Then
// returns false, and the main thread, the only one that runs signal handlers, raises it before its next Python
// instruction.
bool forget_error(const Python& api);

// Handles an error from Python code of ours that catches all its own errors: one of the program's signal handlers must
// have raised it at the begin or the end of that code. The program gets it as in forget_error(). If memory is full, our
// code may also leave its MemoryError, which is discarded.
void give_error_back(const Python& api);

std::string text_attribute(const Python& api, PyObject* object, const char* name);

}  // namespace tapelens::cpython
