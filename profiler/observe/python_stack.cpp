// See stack.h. The C API walks Python's frames. The module of each Module.__call__ is read from the frame's first
// local. Its offset is measured once (calibrate), instead of being hard-coded for every version of CPython.
#include <ATen/core/grad_mode.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/mutex.h"
#include "profiler/cpython/python.h"
#include "profiler/observe/as_python.h"
#include "profiler/observe/attached.py.h"
#include "profiler/observe/compiled_graphs.py.h"
#include "profiler/observe/modules.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/python_functions.h"
#include "profiler/observe/python_hooks.py.h"
#include "profiler/observe/stack.h"
#include "profiler/observe/unseen.h"

namespace tapelens::observe {

StackOptions g_stacks;
bool g_follows_modules = false;

namespace {

using namespace cpython;

// The GIL protects none of this: Python that runs here may release it to another thread, and free-threaded CPython has
// none.
struct Interpreter {
  // Only one thread installs; others may use its results when they see `globals` or `call_code`.
  std::atomic_flag is_installing;
  std::atomic<bool> failed = false;
  std::atomic<PyObject*> globals = nullptr;
  std::atomic<const PyObject*> call_code = nullptr;  // of Module.__call__; null until torch is imported
  PyObject* learn = nullptr;
  PyObject* weak_callback = nullptr;
  // Byte offsets of the interpreter frame in a frame object, and of the first local in that. 0: not found, no module
  // calls.
  size_t interpreter_frame = 0, first_local = 0;
  std::atomic<bool> awaits_shards = false;  // whether parameters that FSDP has not gathered yet are still
                                            // unnamed
  base::Mutex lock;
  std::unordered_map<const void*, uint32_t> modules TAPELENS_GUARDED_BY(lock);       // module object -> id
  std::unordered_map<const void*, const void*> referents TAPELENS_GUARDED_BY(lock);  // weak reference -> module object
  std::unordered_set<const void*> kept TAPELENS_GUARDED_BY(lock);  // code objects that are kept alive, so that their
                                                                   // addresses stay valid
  std::unordered_map<uint64_t, uint32_t> kept_alike
      TAPELENS_GUARDED_BY(lock);  // number of kept ones by file, function and line
};
Interpreter& interpreter() {
  static auto* made = new Interpreter;
  return *made;
}

constexpr uintptr_t kTagBits = 3;  // CPython 3.14 marks references in the low bits

const void* word_at(const void* base, size_t offset) {
  return *reinterpret_cast<const void* const*>(static_cast<const char*>(base) + offset);
}
const void* untagged(const void* reference) {
  return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(reference) & ~kTagBits);
}

const void* first_local(const Interpreter& in, const PyObject* frame) {
  const void* base = frame;
  if (in.interpreter_frame != 0) base = word_at(frame, in.interpreter_frame);
  return untagged(word_at(base, in.first_local));
}

// ---- functions for the Python part; `self` is unused

PyObject* module_gone(PyObject*, PyObject* reference) {
  Interpreter& in = interpreter();
  const base::MutexLock guard(in.lock);
  const auto at = in.referents.find(reference);
  if (at != in.referents.end()) {
    in.modules.erase(at->second);
    in.referents.erase(at);
  }
  return give_none();
}

PyObject* tell_module(PyObject*, PyObject* arguments) {  // module, path, type
  const Python& api = *python();
  PyObject* module = api.GetTupleItem(arguments, 0);
  const char* path = api.AsUTF8(api.GetTupleItem(arguments, 1));
  const char* type = api.AsUTF8(api.GetTupleItem(arguments, 2));
  if (path == nullptr || type == nullptr) return nullptr;
  const uint32_t id = add_module(this_thread(), path, type);
  Interpreter& in = interpreter();
  bool is_new;
  {
    const base::MutexLock guard(in.lock);
    is_new = in.modules.insert_or_assign(module, id).second;
  }
  if (is_new) {
    PyObject* reference = api.NewWeakRef(module, in.weak_callback);  // kept, because a dead reference loses its
                                                                     // callback
    if (reference == nullptr) return nullptr;
    const base::MutexLock guard(in.lock);
    in.referents[reference] = module;
  }
  return give_none();
}

// Size of an object's header: 16 bytes, or 32 in free-threaded CPython. `object` is an instance of the class `object`,
// which has only a header. 0: not known.
size_t header_bytes(const Python& api, PyObject* object) {
  const Owned kind(api, api.GetAttrString(object, "__class__"));
  const Owned size(api, kind ? api.GetAttrString(kind.get(), "__basicsize__") : nullptr);
  const long bytes = size ? api.AsLong(size.get()) : 0;
  if (!size) api.ErrClear();
  return bytes == 16 || bytes == 32 ? static_cast<size_t>(bytes) : 0;
}

// Called from a Python function whose only local is `object`: searches the frame for it.
PyObject* calibrate(PyObject*, PyObject* object) {
  const Python& api = *python();
  Interpreter& in = interpreter();
  const Owned frame(api, api.ThreadState_GetFrame(api.GILState_GetThisThreadState()));
  const size_t header = header_bytes(api, object);
  if (!frame || header == 0) return give_none();
  constexpr size_t kMostWords = 64;  // frames are longer than that
  const auto search = [&](const void* base, size_t from) -> size_t {
    for (size_t offset = from; offset < 8 * kMostWords; offset += 8)
      if (untagged(word_at(base, offset)) == object) return offset;
    return 0;
  };
  // CPython 3.11 and later keep locals in an interpreter frame, which the frame object points to.
  size_t pointer = 0, local = 0;
  if (api.Frame_GetLasti != nullptr) {
    pointer = header + 8;
    local = search(word_at(frame.get(), pointer), 8);
  } else {
    local = search(frame.get(), header);
  }
  if (in.first_local != 0 && (in.first_local != local || in.interpreter_frame != pointer)) local = 0;
  in.interpreter_frame = pointer;
  in.first_local = local;
  return give_none();
}

// Arguments: frame object, count. Returns the values of the frame's first variables; None for an unset variable, and
// for all if the frame layout is unknown. (Before CPython 3.13, a frame's `f_locals` would keep the values alive.)
PyObject* give_locals(PyObject*, PyObject* arguments) {
  const Python& api = *python();
  const Interpreter& in = interpreter();
  PyObject* frame = api.GetTupleItem(arguments, 0);
  const long count = api.AsLong(api.GetTupleItem(arguments, 1));
  if (frame == nullptr || count < 0) return nullptr;
  PyObject* values = api.NewTuple(count);
  if (values == nullptr) return nullptr;
  const void* base = in.interpreter_frame != 0 ? word_at(frame, in.interpreter_frame) : frame;
  for (long i = 0; i < count; ++i) {
    const void* word = in.first_local != 0 && base != nullptr ? word_at(base, in.first_local + 8 * i) : nullptr;
    const bool is_object = (reinterpret_cast<uintptr_t>(word) & kTagBits) != kTagBits;  // 3: a tagged integer of 3.14
    auto* value = is_object ? static_cast<PyObject*>(const_cast<void*>(untagged(word))) : nullptr;
    if (value == nullptr) value = api.none;
    api.IncRef(value);
    api.SetTupleItem(values, i, value);
  }
  return values;
}

PyObject* tell_awaited(PyObject*, PyObject* is_awaited) {
  interpreter().awaits_shards = python()->AsLong(is_awaited) != 0;
  return give_none();
}

PyMethodDef g_functions[] = {
    {"tapelens_module", tell_module, kMethVarargs, nullptr}, {"tapelens_calibrate", calibrate, kMethO, nullptr},
    {"tapelens_locals", give_locals, kMethVarargs, nullptr}, {"tapelens_awaits_shards", tell_awaited, kMethO, nullptr},
    {"tapelens_module_gone", module_gone, kMethO, nullptr},
};

// Runs the Python part in separate globals, then repeatedly calls its install() until torch is imported.
void install(const Python& api, Interpreter& in) {
  PyObject* globals = in.globals;
  if (globals == nullptr) {
    globals = api.NewDict();
    api.SetItemString(globals, "__builtins__", api.GetBuiltins());
    const auto offer = [&](PyMethodDef& function) {
      PyObject* made = api.NewFunction(&function, nullptr, nullptr);
      api.SetItemString(globals, function.name, made);
      return made;
    };
    for (PyMethodDef& function : g_functions) {
      PyObject* made = offer(function);
      if (function.function == module_gone) in.weak_callback = made;
    }
    for (PyMethodDef& function : python_functions()) offer(function);
    const bool wants_values = is_recording() && record::wants_step_values();
    api.SetItemString(globals, "tapelens_wants_values",
                      api.GetItemString(api.GetBuiltins(), wants_values ? "True" : "False"));
    Owned ran(api, api.RunString(kPythonHooks, kFileInput, globals, globals));
    if (ran && is_recording()) ran = Owned(api, api.RunString(kCompiledGraphs, kFileInput, globals, globals));
    if (ran && g_inject->is_attached != 0) {
      ran = Owned(api, api.RunString(kAttached, kFileInput, globals, globals));
    }
    const char* more = is_recording() ? record::python_part() : nullptr;
    if (ran && more != nullptr) ran = Owned(api, api.RunString(more, kFileInput, globals, globals));
    in.learn = api.GetItemString(globals, "learn");
    if (!ran || in.learn == nullptr) {
      if (!ran && !forget_error(api)) return;
      in.failed = true;
      say("modules and optimizers cannot be watched in this Python: the recording names neither");
      return;
    }
    const Owned calibrated(api, api.CallOneArg(api.GetItemString(globals, "calibrate"), nullptr, nullptr));
    if (!calibrated && !forget_error(api)) return;
    in.globals = globals;
    if (in.first_local == 0) say("the frames of this Python are not understood: the recording names no modules");
  }
  const Owned code(api, api.CallOneArg(api.GetItemString(globals, "install"), nullptr, nullptr));
  if (!code) {
    if (!forget_error(api)) return;
    in.failed = true;
    say("optimizers of this PyTorch cannot be watched: the recording has no steps");
  } else if (code.get() != api.none) {
    api.IncRef(code.get());
    in.call_code = code.get();
  }
}

// Calls a function of the Python part.
Owned call_hook(const Python& api, const char* name, PyObject* argument) {
  Owned told(api, api.CallOneArg(hook_function(name), argument, nullptr));
  if (!told) forget_error(api);
  return told;
}

uint32_t module_id(const Python& api, Interpreter& in, const void* module, PyObject* outermost) {
  const auto find = [&]() -> uint32_t {
    const base::MutexLock guard(in.lock);
    const auto at = in.modules.find(module);
    return at == in.modules.end() ? 0 : at->second;
  };
  uint32_t id = find();
  // Reports names from the outermost called module, so that they are names in the whole model. A module outside of that
  // model is reported as its own root.
  for (PyObject* root : {outermost, static_cast<PyObject*>(const_cast<void*>(module))}) {
    if (id != 0) break;
    const Owned told(api, api.CallOneArg(in.learn, root, nullptr));
    if (!told) forget_error(api);
    id = find();
  }
  return id;
}

// Updates the thread's module calls to those in its stack, innermost first.
void update_modules(const Python& api, Thread& thread, const std::vector<ModuleFrame>& found) {
  size_t same = 0;
  while (same < std::min(found.size(), thread.modules.size())) {
    const ModuleFrame& now = found[found.size() - 1 - same];
    if (now.frame != thread.modules[same].frame || now.self != thread.modules[same].self) break;
    ++same;
  }
  end_module_calls(thread, same);
  for (; same < found.size(); ++same) {
    ModuleFrame call = found[found.size() - 1 - same];
    call.id = module_id(api, interpreter(), call.self, static_cast<PyObject*>(const_cast<void*>(found.back().self)));
    if (is_recording()) {
      // Inside an operator, the operator disabled them: a reentrant checkpoint, a custom function.
      record::module_begins(thread, call.id, !at::GradMode::is_enabled() && !inside_operator(thread));
    }
    thread.modules.push_back(call);
    if (interpreter().awaits_shards) call_hook(api, "tell_shards", api.none);
  }
}

// For a frame in an Inductor file: the kernel of its line, and its places in the program, innermost first. The views
// point into `answer`.
struct GeneratedPlace {
  std::optional<Owned> answer;
  std::string_view kernel;
  std::vector<FrameText> of;
};

bool may_be_generated(std::string_view function) {
  function.remove_prefix(function.rfind('.') + 1);  // "Runner.call"
  return function == "call" || function.starts_with("partition_");
}

GeneratedPlace generated_place(const Python& api, PyObject* frame, std::string_view function) {
  GeneratedPlace place;
  if (!may_be_generated(function)) return place;
  if (api.ErrOccurred() != nullptr) return place;  // the program's error, which our calls must not replace
  place.answer = call_hook(api, "generated_of", frame);
  PyObject* const answer = place.answer->get();
  if (answer == nullptr || answer == api.none) return place;
  const auto text = [&](ptrdiff_t at) {
    const char* characters = api.AsUTF8(api.GetTupleItem(answer, at));
    if (characters == nullptr) api.ErrClear();
    return characters == nullptr ? std::string_view() : std::string_view(characters);
  };
  const auto number = [&](ptrdiff_t at) { return api.AsLong(api.GetTupleItem(answer, at)); };
  place.kernel = text(1);
  for (ptrdiff_t at = 2; at < 2 + 3 * number(0); at += 3) {
    place.of.push_back({text(at), text(at + 1), static_cast<uint32_t>(number(at + 2))});
  }
  return place;
}

// Code objects that a program makes repeatedly (torch.enable_grad()(f) does) are kept only up to a limit. An object
// that is not kept may leave its address to another, so a stack with it cannot be found by its hash.
bool keep_code(const Python& api, PyObject* code, std::string_view file, std::string_view function) {
  constexpr uint32_t kMostAlike = 64, kMost = 1 << 16;
  const Owned first(api, api.GetAttrString(code, "co_firstlineno"));
  if (!first) api.ErrClear();
  const auto line = static_cast<uint64_t>(first ? api.AsLong(first.get()) : 0);
  const std::hash<std::string_view> hash;
  Interpreter& in = interpreter();
  const base::MutexLock guard(in.lock);
  if (in.kept.contains(code)) return true;
  uint32_t& alike = in.kept_alike[mix(mix(hash(file), hash(function)), line)];
  if (alike == kMostAlike || in.kept.size() == kMost) return false;
  ++alike;
  in.kept.insert(code);
  api.IncRef(code);
  return true;
}

// Whether Python may run during the stack walk.
enum class Running : uint8_t { allowed, forbidden };

uint32_t python_stack(const Python& api, Thread& thread, Running running) {
  Interpreter& in = interpreter();
  const Gil gil(api);
  const AsPython as_python;
  const bool may_run = running == Running::allowed;
  if (may_run && in.call_code == nullptr && !in.failed && api.ErrOccurred() == nullptr &&
      !in.is_installing.test_and_set()) {
    if (in.call_code == nullptr && !in.failed) install(api, in);
    in.is_installing.clear();
  }
  const PyObject* const call_code = in.call_code;

  thread_local std::vector<ModuleFrame> modules;
  modules.clear();
  uint64_t hash = 0x7a9e1e45;
  PyObject* const state = api.GILState_GetThisThreadState();
  for (Owned frame(api, api.ThreadState_GetFrame(state)); frame; frame = Owned(api, api.Frame_GetBack(frame.get()))) {
    const Owned code(api, api.Frame_GetCode(frame.get()));
    hash = mix(hash, address_of(code.get()));
    hash = mix(hash, static_cast<uint64_t>(api.Frame_GetLasti != nullptr ? api.Frame_GetLasti(frame.get())
                                                                         : api.Frame_GetLineNumber(frame.get())));
    if (code.get() == call_code && in.first_local != 0)
      modules.push_back({in.interpreter_frame != 0 ? word_at(frame.get(), in.interpreter_frame) : frame.get(),
                         first_local(in, frame.get()), 0});
  }
  if (may_run && (!modules.empty() || !thread.modules.empty())) update_modules(api, thread, modules);
  if (!is_recording() || !g_stacks.python) return 0;  // the watch on modules and optimizers is needed in any case
  if (const uint32_t known = record::find_stack(thread, hash)) return known;

  std::vector<std::string> texts;  // file, function
  std::vector<uint32_t> lines;
  bool is_kept = true;
  GeneratedPlace generated;
  for (Owned frame(api, api.ThreadState_GetFrame(state)); frame; frame = Owned(api, api.Frame_GetBack(frame.get()))) {
    const Owned code(api, api.Frame_GetCode(frame.get()));
    texts.push_back(text_attribute(api, code.get(), "co_filename"));
    std::string function = text_attribute(api, code.get(), "co_qualname");
    texts.push_back(function.empty() ? text_attribute(api, code.get(), "co_name") : std::move(function));
    lines.push_back(static_cast<uint32_t>(std::max(0, api.Frame_GetLineNumber(frame.get()))));
    is_kept &= keep_code(api, code.get(), texts[texts.size() - 2], texts.back());
    if (lines.size() == 1 && may_run) generated = generated_place(api, frame.get(), texts.back());
  }
  std::vector<FrameText> frames;
  // If Python may not run, the kernel is unknown: the caller's line replaces the Inductor frame.
  const size_t unasked = !may_run && !lines.empty() && may_be_generated(texts[1]) ? 1 : 0;
  for (size_t i = unasked; i < lines.size(); ++i) frames.push_back({texts[2 * i], texts[2 * i + 1], lines[i]});
  if (!generated.kernel.empty()) {
    frames.front().function = generated.kernel;
    frames.front().is_generated = true;
    frames.insert(frames.begin() + 1, generated.of.begin(), generated.of.end());
  }
  return frames.empty() ? 0 : record::add_stack(thread, is_kept ? hash : 0, frames);
}

}  // namespace

PyObject* hook_function(const char* name) {
  const Interpreter& in = interpreter();
  PyObject* const globals = in.globals;
  return globals == nullptr || in.failed ? nullptr : python()->GetItemString(globals, name);
}

namespace {

// Unseen: the program's modes do not see the tensors' attributes that this reads.
void call_unseen(Thread& thread, const char* name) {
  const Python* api = python();
  if (api == nullptr || !python_may_run(*api)) return;
  const Gil gil(*api);
  PyObject* const hook = hook_function(name);
  if (hook == nullptr || api->ErrOccurred() != nullptr) return;
  const Unseen unseen(*api, thread);
  const AsPython as_python;
  if (!Owned(*api, api->CallOneArg(hook, api->none, nullptr))) give_error_back(*api);
}

}  // namespace

void adopt_alive(Thread& thread) {
  stack_here(thread);  // installs the Python part
  call_unseen(thread, "adopt_alive");
}

void take_back_python_hooks() { call_unseen(this_thread(), "take_back"); }

bool is_line_in_stack(std::string_view file, uint32_t line) {
  const Python* api = python();
  if (api == nullptr) return true;
  if (!python_may_run(*api)) return false;
  const Gil gil(*api);
  PyObject* const state = api->GILState_GetThisThreadState();
  for (Owned frame(*api, api->ThreadState_GetFrame(state)); frame;
       frame = Owned(*api, api->Frame_GetBack(frame.get()))) {
    if (static_cast<uint32_t>(api->Frame_GetLineNumber(frame.get())) != line) continue;
    const Owned code(*api, api->Frame_GetCode(frame.get()));
    const std::string path = text_attribute(*api, code.get(), "co_filename");
    if (!path.ends_with(file)) continue;
    if (path.size() == file.size() || path[path.size() - file.size() - 1] == '/') return true;
  }
  return false;
}

void end_module_calls(Thread& thread, size_t kept) {
  for (; thread.modules.size() > kept; thread.modules.pop_back()) {
    if (is_recording()) record::module_ends(thread);
  }
}

uint32_t stack_here(Thread& thread) {
  if (const Python* api = python(); api != nullptr && python_may_run(*api)) {
    const bool was_busy = thread.busy;
    thread.busy = true;
    const uint32_t stack = python_stack(*api, thread, Running::allowed);
    thread.busy = was_busy;
    return stack;
  }
  return g_stacks.native && is_recording() && python() == nullptr ? native_stack_here(thread) : 0;
}

namespace {

// Until 3.11 an allocation may collect cycles; later only the interpreter's loop does, which does not run in a walk.
bool collects_in_allocations() {
  static const bool is_older = [] {
    const auto* version = static_cast<const unsigned long*>(dlsym(RTLD_DEFAULT, "Py_Version"));  // from 3.11
    return version == nullptr || *version < 0x030C0000;
  }();
  return is_older;
}

}  // namespace

uint32_t stack_within_lock(Thread& thread) {
  const Python* api = python();
  if (api == nullptr || !python_may_run(*api) || api->GILState_Check() == 0) return 0;
  // Not if it is useless: under free threading, another thread's gc.disable() would be undone at the end.
  std::optional<WithoutCollection> without;
  if (collects_in_allocations()) without.emplace(*api);
  return python_stack(*api, thread, Running::forbidden);
}

}  // namespace tapelens::observe
