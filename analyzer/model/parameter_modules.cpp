#include "analyzer/model/parameter_modules.h"

#include <string_view>

namespace tapelens::model {

namespace {

// "layer1.conv" of the path "Net.layer1.conv". The root module's own name is not part of parameter names.
std::string_view inside_of_root(std::string_view path) {
  const size_t dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
}

// "layer1.conv" of "layer1.conv.weight"; empty for a parameter of the root itself.
std::string_view module_part(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

}  // namespace

ParameterModules::ParameterModules(const Process& process, const Text& text) {
  const Roles& roles = process.roles;
  if (roles.rows() == 0) return;
  // No module if models of different classes have one of that name.
  std::unordered_map<std::string_view, ModuleId> by_name;
  for (uint32_t row = 1; row <= text.module_path.rows(); ++row) {
    const ModuleId id{row};
    const std::string_view path = text.string(text.module_path[id]);
    const auto [at, fresh] = by_name.try_emplace(inside_of_root(path), id);
    if (!fresh && at->second && text.string(text.module_path[at->second]) != path) at->second = {};
  }
  const auto place = [&](AllocationId allocation, StringId name) {
    if (!allocation) return;
    const auto at = by_name.find(module_part(text.string(name)));
    if (at != by_name.end() && at->second) module_.try_emplace(allocation.value, at->second);
  };
  for (uint32_t row = 1; row <= roles.rows(); ++row) {
    const RoleId role{row};
    if (roles.kind[role] == Role::parameter || roles.kind[role] == Role::buffer)
      place(roles.allocation[role], roles.name[role]);
  }
  for (uint32_t row = 1; row <= roles.rows(); ++row) {
    const RoleId role{row};
    if (roles.kind[role] != Role::gradient && roles.kind[role] != Role::optimizer_state) continue;
    const AllocationId allocation = roles.allocation[role];
    if (const ModuleId module = of(roles.parameter[role]); module && allocation)
      module_.try_emplace(allocation.value, module);
  }
}

ModuleId ParameterModules::of(AllocationId allocation) const {
  const auto at = module_.find(allocation.value);
  return at == module_.end() ? ModuleId{} : at->second;
}

}  // namespace tapelens::model
