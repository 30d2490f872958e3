// See operators.h.
#include "profiler/rewrite/operators.h"

#include <algorithm>

#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/host.h"
#include "profiler/rewrite/settings.h"

namespace tapelens::rewrite {

namespace {

class Installing final : public OperatorHost {
 public:
  torch::Library& kernels(c10::DeviceType device) const override {
    TORCH_CHECK(is_cpu_or_has_streams(device), "rewrites support no tensors of ", device);
    const auto key = device == c10::kCPU ? c10::DispatchKey::AutogradCPU : c10::DispatchKey::AutogradCUDA;
    // Never destroyed: its kernels may be called until the process ends.
    return *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  }
  bool applies_here(const RewriteInfo& info, std::string_view operator_name) const override {
    return rewrite::applies_here(info, operator_name);
  }
  uint64_t min_bytes() const override { return settings().min_bytes; }
  void applied(const RewriteInfo& info, std::string_view operator_name, uint64_t bytes, uint64_t kept) const override {
    rewrite::applied(info.id, info.level, {.operator_name = operator_name}, bytes, kept);
  }
  void skipped(const RewriteInfo& info, std::string_view operator_name, std::string_view reason,
               uint64_t bytes) const override {
    rewrite::skipped(info.id, info.level, {.operator_name = operator_name}, reason, bytes);
  }
};
constinit const Installing g_installing{};

}  // namespace

void install_operator_rewrites() {
  for (const Rewrite* rewrite : wanted_rewrites()) {
    const RewriteInfo info = info_of(*rewrite);
    attempt({info.id, info.level}, [&] { rewrite->install(g_installing); });
  }
}

bool applies_here(const RewriteInfo& info, std::string_view operator_name) {
  if (settings().has(info.id, static_cast<int>(info.level))) return true;
  return std::ranges::any_of(settings().sites, [&](const Site& site) {
    return site.rewrite == info.id && (site.op.empty() || site.op == operator_name) && is_here(site);
  });
}

}  // namespace tapelens::rewrite
