// See compiled_graphs.h. compiled_graphs.py reads the graphs.
#include "profiler/observe/compiled_graphs.h"

#include <string_view>

#include "profiler/observe/graph.h"
#include "profiler/observe/named_tensors.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/python_functions.h"

namespace tapelens::observe {

using namespace cpython;
using torch::autograd::Node;

namespace {

PyObject* traced(PyObject* pair, PyObject* arguments, PyObject* keywords) {
  const Python& api = *python();
  PyObject* first = api.GetTupleItem(arguments, 0);  // PyTorch passes the name as this argument
  const char* name = first == nullptr ? nullptr : api.AsUTF8(first);
  if (name == nullptr) api.ErrClear();
  if (name != nullptr && keywords != nullptr && std::string_view(name) == "aot_forward_graph" && is_recording()) {
    // The hook catches its own errors: any other exception is the program's, such as an interrupt.
    const Owned told(api, api.CallTwoArgs(api.GetTupleItem(pair, 1), arguments, keywords, nullptr));
    if (!told) return nullptr;
  }
  return api.Call(api.GetTupleItem(pair, 0), arguments, keywords);
}

}  // namespace

PyObject* make_traced(PyObject*, PyObject* pair) {
  constexpr int kMethKeywords = 2;
  using Function = PyObject* (*)(PyObject*, PyObject*);  // the type for CPython calls with keywords, by the flag
  static PyMethodDef definition{"trace_structured", reinterpret_cast<Function>(reinterpret_cast<void*>(&traced)),
                                kMethVarargs | kMethKeywords, nullptr};
  return python()->NewFunction(&definition, pair, nullptr);
}

PyObject* tell_graph(PyObject*, PyObject* arguments) {
  const Python& api = *python();
  const auto number = [&](ptrdiff_t at) { return api.AsLong(api.GetTupleItem(arguments, at)); };
  const auto text = [&](ptrdiff_t at) { return api.AsUTF8(api.GetTupleItem(arguments, at)); };
  const long graph = number(0), saves = number(1), unchecked = number(2);
  std::vector<GraphSave> told;
  for (ptrdiff_t i = 0; i < saves + unchecked; ++i) {
    const char *field = text(4 * i + 3), *file = text(4 * i + 4), *function = text(4 * i + 5);
    if (field == nullptr || file == nullptr || function == nullptr) return nullptr;
    told.push_back({field, {file, function, static_cast<uint32_t>(number(4 * i + 6))}});
  }
  if (is_recording()) record::graph_told(this_thread(), graph, told, static_cast<size_t>(saves));
  return give_none();
}

std::optional<CompiledCall> compiled_call(Thread& thread, const Node& node) {
  std::optional<CompiledCall> call;
  if (!has_node_objects() || node_name(node) != "CompiledFunctionBackward") return call;
  in_python(thread, [&](const Python& api) {
    const Owned object(api, node_object(node));
    const Owned number(api, object ? api.CallOneArg(hook_function("graph_of"), object.get(), nullptr) : nullptr);
    if (!number) {
      forget_error(api);
      return;
    }
    const long graph = api.AsLong(number.get());
    if (graph < 0) return;
    call = {graph, {}};
    ask(api, "unchecked_of", object.get(), call->unchecked);
  });
  return call;
}

}  // namespace tapelens::observe
