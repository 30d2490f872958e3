// The oracle for C++ programs, preloaded into them without Tapelens: an autograd engine whose default saved-variable
// hooks count every tensor that is saved, as torch.autograd.graph.saved_tensors_hooks does in Python. Writes the counts
// to the file named by ORACLE_OUT when the program ends.
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<int64_t> count{0}, logical_bytes{0};

struct Hooks final : torch::autograd::SavedVariableHooks {
  void call_pack_hook(const at::Tensor& tensor) override {
    count.fetch_add(1);
    logical_bytes.fetch_add(tensor.numel() * static_cast<int64_t>(tensor.element_size()));
    kept = tensor;
  }
  at::Tensor call_unpack_hook() override { return kept; }
  at::Tensor kept;
};

struct CountingEngine final : torch::autograd::Engine {
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    return std::make_unique<Hooks>();
  }
};

torch::autograd::Engine& counting_engine() {
  static auto* const engine = new CountingEngine;  // never destroyed: its threads may outlive static objects
  return *engine;
}

struct Installed {
  Installed() { torch::autograd::set_default_engine_stub(&counting_engine); }
  ~Installed() {
    const char* path = std::getenv("ORACLE_OUT");
    std::FILE* file = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (file == nullptr) return;
    std::fprintf(file, "{\"count\": %lld, \"logical_bytes\": %lld}\n", static_cast<long long>(count.load()),
                 static_cast<long long>(logical_bytes.load()));
    std::fclose(file);
  }
} installed;

}  // namespace
