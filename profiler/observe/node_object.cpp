#include "profiler/observe/node_object.h"

#include <dlfcn.h>

#include <type_traits>
#include <utility>

namespace tapelens::observe {

using torch::autograd::Node;

namespace {

// The PyTorch version decides whether nodes are counted by intrusive or by shared pointers.
using NodeHandle = decltype(std::declval<Node&>().getptr());
using NodeObject = cpython::PyObject* (*)(const NodeHandle&);

NodeObject function_to_object() {
  static const auto found = []() -> NodeObject {
    void* library = dlopen("libtorch_python.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;
    constexpr bool kIsShared = std::is_same_v<NodeHandle, std::shared_ptr<Node>>;
    return reinterpret_cast<NodeObject>(dlsym(
        library, kIsShared ? "_ZN5torch8autograd18functionToPyObjectERKSt10shared_ptrINS0_4NodeEE"
                           : "_ZN5torch8autograd18functionToPyObjectERKN3c1013intrusive_ptrINS0_4NodeENS1_6detail34"
                             "intrusive_target_default_null_typeIS3_EEEE"));
  }();
  return found;
}

}  // namespace

bool has_node_objects() { return function_to_object() != nullptr; }

cpython::PyObject* node_object(const Node& node) { return function_to_object()(const_cast<Node&>(node).getptr()); }

}  // namespace tapelens::observe
