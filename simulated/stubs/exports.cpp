#include "simulated/stubs/exports.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>

namespace tapelens::stubs {
namespace {

using trace::Error;
using trace::Result;

// The first section of a type, as libelf reads it: without data if the library has none, or if it is not in the file.
struct SectionData {
  GElf_Shdr header{};
  Elf_Data* data = nullptr;

  size_t count(size_t bytes) const { return data != nullptr ? data->d_size / bytes : 0; }
};

class Library {
 public:
  explicit Library(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    elf_end(elf_);
    if (descriptor_ >= 0) close(descriptor_);
  }

  // Returns an error text; empty on success.
  std::string open() {
    struct stat facts {};
    if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0) return std::strerror(errno);
    GElf_Ehdr header{};
    elf_version(EV_CURRENT);
    if (S_ISREG(facts.st_mode)) elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
    if (elf_kind(elf_) != ELF_K_ELF || gelf_getehdr(elf_, &header) == nullptr) return "is not a shared library";
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64) {
      return "is not a library for x86-64";
    }
    return header.e_type == ET_DYN ? "" : "is not a shared library";
  }

  SectionData section(GElf_Word type) const {
    for (Elf_Scn* at = nullptr; (at = elf_nextscn(elf_, at)) != nullptr;) {
      SectionData found;
      if (gelf_getshdr(at, &found.header) == nullptr || found.header.sh_type != type) continue;
      found.data = elf_getdata(at, nullptr);
      return found;
    }
    return {};
  }
  // A text of the string table of a section; none if it is not in the file.
  std::optional<std::string> string(const SectionData& section, uint64_t offset) const {
    const char* text = elf_strptr(elf_, section.header.sh_link, offset);
    return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
  }

 private:
  int descriptor_;
  Elf* elf_ = nullptr;
};

// Returns an error text; empty on success.
std::string read_dynamic(const Library& library, Exports& exports) {
  const SectionData section = library.section(SHT_DYNAMIC);
  if (section.data == nullptr) return "has no dynamic segment";
  for (size_t i = 0; i < section.count(sizeof(Elf64_Dyn)); ++i) {
    GElf_Dyn entry{};
    if (gelf_getdyn(section.data, static_cast<int>(i), &entry) == nullptr) return "its dynamic segment is damaged";
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME) continue;
    auto name = library.string(section, entry.d_un.d_val);
    if (!name) return "its name, or that of a library that it needs, is not in the file";
    if (entry.d_tag == DT_SONAME) {
      exports.soname = std::move(*name);
    } else {
      exports.needed.push_back(std::move(*name));
    }
  }
  return {};
}

// The version nodes that the library defines, by index; none if they are invalid.
std::optional<std::map<uint16_t, std::string>> version_nodes(const Library& library) {
  std::map<uint16_t, std::string> nodes;
  const SectionData section = library.section(SHT_GNU_verdef);
  for (uint64_t at = 0; at < section.count(1);) {
    GElf_Verdef node{};
    GElf_Verdaux aux{};
    if (gelf_getverdef(section.data, static_cast<int>(at), &node) == nullptr) return {};
    const uint64_t name_at = at + node.vd_aux;
    if (name_at >= section.data->d_size || gelf_getverdaux(section.data, static_cast<int>(name_at), &aux) == nullptr) {
      return {};
    }
    auto name = library.string(section, aux.vda_name);
    const bool is_library = (node.vd_flags & VER_FLG_BASE) != 0;  // the library itself, not a version of a function
    if (!name || (name->empty() && !is_library)) return {};
    if (!is_library) nodes[node.vd_ndx] = std::move(*name);
    if (node.vd_next == 0) break;
    at += node.vd_next;
  }
  return nodes;
}

bool is_function(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

bool is_exported(const GElf_Sym& symbol) {
  const auto binding = GELF_ST_BIND(symbol.st_info), visibility = GELF_ST_VISIBILITY(symbol.st_other);
  return (binding == STB_GLOBAL || binding == STB_WEAK) && (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

// Returns an error text; empty on success.
std::string read_symbols(const Library& library, Exports& exports) {
  const SectionData symbols = library.section(SHT_DYNSYM), versions = library.section(SHT_GNU_versym);
  const auto nodes = version_nodes(library);
  if (symbols.data == nullptr) return "has no table of symbols";
  if (!nodes) return "its version nodes are not in the file";
  for (size_t i = 1; i < symbols.count(sizeof(Elf64_Sym)); ++i) {
    GElf_Sym symbol{};
    if (gelf_getsym(symbols.data, static_cast<int>(i), &symbol) == nullptr) return "its table of symbols is damaged";
    if (!is_exported(symbol)) continue;
    auto name = library.string(symbols, symbol.st_name);
    if (!name) return "the name of symbol " + std::to_string(i) + " is not in the file";
    if (symbol.st_shndx == SHN_UNDEF) {
      exports.undefined.push_back(std::move(*name));
      continue;
    }
    if (!is_function(symbol) || symbol.st_shndx == SHN_ABS) continue;
    Function function{std::move(*name), {}, false};
    if (versions.header.sh_type != SHT_NULL) {
      constexpr uint16_t kHidden = 0x8000;
      GElf_Versym version{};
      if (gelf_getversym(versions.data, static_cast<int>(i), &version) == nullptr) {
        return "the version of " + function.name + " is not in the file";
      }
      const uint16_t node = version & static_cast<uint16_t>(~kHidden);
      if (node == VER_NDX_LOCAL) continue;
      if (node > VER_NDX_GLOBAL) {
        const auto found = nodes->find(node);
        if (found == nodes->end()) return "the version of " + function.name + " is not one of its nodes";
        function.version = found->second;
        function.hidden = (version & kHidden) != 0;
      }
    }
    exports.functions.push_back(std::move(function));
  }
  return {};
}

}  // namespace

Result<Exports> read_exports(const std::string& path) {
  Library library(path);
  Exports exports;
  std::string wrong = library.open();
  if (wrong.empty()) wrong = read_dynamic(library, exports);
  if (wrong.empty()) wrong = read_symbols(library, exports);
  if (!wrong.empty()) return Error{path + ": " + wrong};
  return exports;
}

}  // namespace tapelens::stubs
