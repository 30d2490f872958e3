// See symbols.h.
#include "trace/symbols.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "trace/regular_file.h"

namespace tapelens::trace {
namespace {

// Does not look for separate debug files: that could query servers on the network.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

std::string demangled(const char* name) {
  if (name == nullptr) return {};
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

std::string name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != nullptr)
    return demangled(dwarf_formstring(&attribute));
  const char* name = dwarf_diename(die);
  return name != nullptr ? name : std::string();
}

// The call site of an inlined function.
void call_site(Dwarf_Die* cu, Dwarf_Die* inlined, SymbolFrame& caller) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  caller.file.clear();
  caller.line = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) == 0)
    caller.line = static_cast<uint32_t>(number);
  if (dwarf_getsrcfiles(cu, &files, &count) == 0 &&
      dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) == 0 && number < count)
    if (const char* file = dwarf_filesrc(files, number, nullptr, nullptr)) caller.file = file;
}

}  // namespace

bool is_runtime_library(const std::string& path) {
  const std::string_view whole = path;
  const auto name = whole.substr(whole.rfind('/') + 1);
  for (const char* prefix : {"libtorch", "libc10", "libc.so", "libc-", "libstdc++", "libtapelens", "ld-linux",
                             "libgcc_s", "libpthread", "libgomp", "[vdso]", "linux-vdso"})
    if (name.starts_with(prefix)) return true;
  // The probe: lib/tapelens/...
  return whole.find("/tapelens/") != whole.npos && name.find("probe") != name.npos;
}

struct Symbols::Files {
  Dwfl_Callbacks callbacks{};
  Dwfl* dwfl = nullptr;
  std::unordered_map<uint64_t, std::vector<SymbolFrame>> known;  // by return address
};

Symbols::Symbols(std::vector<SymbolMapping> mappings) : mappings_(std::move(mappings)), files_(new Files) {
  std::sort(mappings_.begin(), mappings_.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  files_->callbacks.find_elf = dwfl_build_id_find_elf;  // never called: files are reported by path
  files_->callbacks.find_debuginfo = no_debug_file;
  files_->callbacks.section_address = dwfl_offline_section_address;
  files_->dwfl = dwfl_begin(&files_->callbacks);
  if (files_->dwfl == nullptr) return;
  dwfl_report_begin(files_->dwfl);
  std::vector<std::pair<std::string_view, uint64_t>> reported;
  for (const SymbolMapping& mapping : mappings_) {
    const std::pair<std::string_view, uint64_t> file(mapping.path, mapping.bias);
    if (std::find(reported.begin(), reported.end(), file) != reported.end()) continue;
    reported.push_back(file);
    auto opened = RegularFile::open(mapping.path);
    if (!opened) continue;
    const char* path = mapping.path.c_str();
    // elfutils closes the descriptors of reported files.
    if (dwfl_report_elf(files_->dwfl, path, path, opened->descriptor(), mapping.bias, true) != nullptr)
      opened->release();
  }
  dwfl_report_end(files_->dwfl, nullptr, nullptr);
}

Symbols::~Symbols() {
  if (files_->dwfl != nullptr) dwfl_end(files_->dwfl);
}

const SymbolMapping* Symbols::mapping_of(uint64_t address) const {
  const auto after = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                                      [](uint64_t a, const SymbolMapping& mapping) { return a < mapping.begin; });
  if (after == mappings_.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

const std::vector<SymbolFrame>& Symbols::frames_at(uint64_t return_address) {
  const auto [known, is_new] = files_->known.try_emplace(return_address);
  std::vector<SymbolFrame>& frames = known->second;
  if (!is_new) return frames;
  const uint64_t address = return_address - 1;  // within the call instruction
  SymbolFrame frame;
  Dwfl_Module* module = files_->dwfl != nullptr ? dwfl_addrmodule(files_->dwfl, address) : nullptr;
  if (module != nullptr) {
    frame.function = demangled(dwfl_module_addrname(module, address));
    int line = 0;
    if (Dwfl_Line* at = dwfl_module_getsrc(module, address))
      if (const char* file = dwfl_lineinfo(at, nullptr, &line, nullptr, nullptr, nullptr)) frame.file = file;
    frame.line = static_cast<uint32_t>(std::max(line, 0));
    Dwarf_Addr bias = 0;
    Dwarf_Die* cu = dwfl_module_addrdie(module, address, &bias);
    Dwarf_Die* scopes = nullptr;
    int count = cu != nullptr ? dwarf_getscopes(cu, address - bias, &scopes) : 0;
    if (count > 0) {
      // These scopes follow the source text. The innermost scope gives the nesting of inlined calls.
      Dwarf_Die innermost = scopes[0];
      std::free(scopes);
      scopes = nullptr;
      count = dwarf_getscopes_die(&innermost, &scopes);
    }
    const std::string outermost = frame.function;
    for (int i = 0; i < count; ++i) {
      if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
      frame.function = name_of(&scopes[i]);
      frames.push_back(frame);
      call_site(cu, &scopes[i], frame);
      frame.function = outermost;
    }
    std::free(scopes);
  }
  if (frame.file.empty() || frame.function.empty()) {
    const SymbolMapping* mapping = mapping_of(address);
    if (frame.file.empty() && mapping != nullptr) frame.file = mapping->path;
    if (frame.function.empty()) {
      char offset[32];
      std::snprintf(offset, sizeof(offset), "+0x%llx",
                    static_cast<unsigned long long>(address - (mapping != nullptr ? mapping->bias : 0)));
      frame.function = offset;
    }
  }
  frames.push_back(std::move(frame));
  return frames;
}

std::vector<SymbolFrame> Symbols::stack(std::span<const uint64_t> return_addresses) {
  std::vector<SymbolFrame> stack;
  for (const uint64_t address : return_addresses) {
    const SymbolMapping* mapping = mapping_of(address - 1);
    if (mapping == nullptr || is_runtime_library(mapping->path)) continue;
    const auto& frames = frames_at(address);
    stack.insert(stack.end(), frames.begin(), frames.end());
  }
  if (stack.empty() && !return_addresses.empty()) stack = frames_at(return_addresses.front());
  return stack;
}

}  // namespace tapelens::trace
