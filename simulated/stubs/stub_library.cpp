#include "simulated/stubs/stub_library.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <string_view>

namespace tapelens::stubs {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kCode = 16;  // bytes of each function
constexpr uint32_t kBloomShift = 6;

enum Section : uint16_t {
  kNone,
  kHash,
  kSymbols,
  kStrings,
  kVersions,
  kNodes,
  kText,
  kDynamic,
  kCounters,
  kSectionNames,
  kSections
};

struct Bytes : std::string {
  template <class T>
  void put(const T& value) {
    append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void align(uint64_t to) { resize((size() + to - 1) / to * to, '\0'); }
};

// A string table without duplicates, by offset.
class Strings {
 public:
  uint32_t operator()(const std::string& text) {
    const auto [found, is_new] = offsets_.emplace(text, static_cast<uint32_t>(bytes.size()));
    if (is_new) bytes.append(text).push_back('\0');
    return found->second;
  }
  std::string bytes = std::string(1, '\0');

 private:
  std::map<std::string, uint32_t> offsets_ = {{"", 0}};
};

uint32_t gnu_hash(std::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<uint8_t>(c);
  return hash;
}

uint32_t sysv_hash(std::string_view name) {
  uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<uint8_t>(c);
    const uint32_t high = hash & 0xf0000000;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

// The symbol table's order, which the hash table requires: the functions, and the counters at the last index.
struct Order {
  uint32_t buckets = 1;
  std::vector<uint32_t> indices, hashes;  // of symbol 1 and further

  explicit Order(const std::vector<Function>& functions) {
    const auto count = static_cast<uint32_t>(functions.size() + 1);
    std::vector<uint32_t> unsorted;
    for (const Function& function : functions) unsorted.push_back(gnu_hash(function.name));
    unsorted.push_back(gnu_hash(kStubCalls));
    buckets = std::max(1U, count / 4);
    indices.resize(count);
    std::iota(indices.begin(), indices.end(), 0U);
    std::stable_sort(indices.begin(), indices.end(),
                     [&](uint32_t a, uint32_t b) { return unsorted[a] % buckets < unsorted[b] % buckets; });
    for (const uint32_t index : indices) hashes.push_back(unsorted[index]);
  }
};

std::string hash_table(const Order& order) {
  const auto count = static_cast<uint32_t>(order.hashes.size());
  const uint32_t words = std::bit_ceil(std::max(1U, count / 8));  // about 8 bits of the filter for each name
  std::vector<uint64_t> bloom(words);
  std::vector<uint32_t> first(order.buckets), chains(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t hash = order.hashes[i], bucket = hash % order.buckets;
    bloom[hash / 64 % words] |= uint64_t{1} << (hash % 64) | uint64_t{1} << ((hash >> kBloomShift) % 64);
    if (first[bucket] == 0) first[bucket] = i + 1;
    const bool ends = i + 1 == count || order.hashes[i + 1] % order.buckets != bucket;
    chains[i] = (hash & ~1U) | (ends ? 1U : 0U);
  }
  Bytes table;
  for (const uint32_t word : {order.buckets, 1U, words, kBloomShift}) table.put(word);
  for (const uint64_t word : bloom) table.put(word);
  for (const uint32_t word : first) table.put(word);
  for (const uint32_t word : chains) table.put(word);
  return table;
}

// The version nodes of the functions, by index: 1 is the library itself.
std::vector<std::string> nodes_of(const StubLibrary& library) {
  std::vector<std::string> nodes;
  for (const Function& function : library.functions) {
    if (!function.version.empty() && std::ranges::find(nodes, function.version) == nodes.end()) {
      nodes.push_back(function.version);
    }
  }
  if (!nodes.empty()) nodes.insert(nodes.begin(), library.soname);
  return nodes;
}

std::string node_table(const std::vector<std::string>& nodes, Strings& strings) {
  Bytes table;
  for (size_t i = 0; i < nodes.size(); ++i) {
    Elf64_Verdef node{};
    node.vd_version = VER_DEF_CURRENT;
    node.vd_flags = i == 0 ? VER_FLG_BASE : 0;
    node.vd_ndx = static_cast<Elf64_Half>(i + 1);
    node.vd_cnt = 1;
    node.vd_hash = sysv_hash(nodes[i]);
    node.vd_aux = sizeof(node);
    node.vd_next = i + 1 < nodes.size() ? sizeof(node) + sizeof(Elf64_Verdaux) : 0;
    table.put(node);
    table.put(Elf64_Verdaux{strings(nodes[i]), 0});
  }
  return table;
}

// The address of each section, which equals its file offset.
struct Extent {
  uint64_t address = 0, bytes = 0;
};
using Extents = Extent[kSections];

std::string code(size_t count, uint64_t text, uint64_t counters) {
  Bytes bytes;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t next = text + i * kCode + 10;  // the instruction after incl
    bytes.append("\xf3\x0f\x1e\xfa\xff\x05", 6);
    bytes.put(static_cast<int32_t>(counters + 4 * i - next));
    bytes.append("\x31\xc0\xc3\xcc\xcc\xcc", 6);
  }
  return bytes;
}

std::string dynamic_table(const StubLibrary& library, const Extents& extents, size_t nodes, Strings& strings) {
  std::vector<Elf64_Dyn> entries;
  const auto put = [&](int64_t tag, uint64_t value) { entries.push_back({tag, {value}}); };
  for (const std::string& needed : library.needed) put(DT_NEEDED, strings(needed));
  put(DT_SONAME, strings(library.soname));
  put(DT_GNU_HASH, extents[kHash].address);
  put(DT_STRTAB, extents[kStrings].address);
  put(DT_SYMTAB, extents[kSymbols].address);
  put(DT_STRSZ, strings.bytes.size());
  put(DT_SYMENT, sizeof(Elf64_Sym));
  if (nodes > 0) {
    put(DT_VERSYM, extents[kVersions].address);
    put(DT_VERDEF, extents[kNodes].address);
    put(DT_VERDEFNUM, nodes);
  }
  put(DT_NULL, 0);
  Bytes table;
  for (const Elf64_Dyn& entry : entries) table.put(entry);
  return table;
}

std::string symbol_table(const StubLibrary& library, const Order& order, const Extents& extents, Strings& strings) {
  Bytes table;
  table.put(Elf64_Sym{});
  for (const uint32_t index : order.indices) {
    Elf64_Sym symbol{};
    if (index < library.functions.size()) {
      symbol.st_name = strings(library.functions[index].name);
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      symbol.st_shndx = kText;
      symbol.st_value = extents[kText].address + index * kCode;
      symbol.st_size = kCode;
    } else {
      symbol.st_name = strings(kStubCalls);
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
      symbol.st_shndx = kCounters;
      symbol.st_value = extents[kCounters].address;
      symbol.st_size = extents[kCounters].bytes;
    }
    table.put(symbol);
  }
  return table;
}

std::string version_table(const StubLibrary& library, const Order& order, const std::vector<std::string>& nodes) {
  Bytes table;
  table.put(uint16_t{VER_NDX_LOCAL});
  for (const uint32_t index : order.indices) {
    uint16_t version = VER_NDX_GLOBAL;
    if (index < library.functions.size() && !library.functions[index].version.empty()) {
      const auto node = std::find(nodes.begin() + 1, nodes.end(), library.functions[index].version);
      version = static_cast<uint16_t>(node - nodes.begin() + 1);
      if (library.functions[index].hidden) version |= 0x8000;
    }
    table.put(version);
  }
  return table;
}

Elf64_Phdr segment(uint32_t type, uint32_t flags, uint64_t begin, uint64_t file_bytes, uint64_t bytes, uint64_t align) {
  Elf64_Phdr header{};
  header.p_type = type;
  header.p_flags = flags;
  header.p_offset = header.p_vaddr = header.p_paddr = begin;
  header.p_filesz = file_bytes;
  header.p_memsz = bytes;
  header.p_align = align;
  return header;
}

constexpr size_t kSegments = 5;

void put_segments(Bytes& file, const Extents& extents) {
  const Extent &text = extents[kText], &dynamic = extents[kDynamic], &counters = extents[kCounters];
  const uint64_t head = extents[kNodes].address + extents[kNodes].bytes;
  const uint64_t data = counters.address + counters.bytes - dynamic.address;
  file.put(segment(PT_LOAD, PF_R, 0, head, head, kPage));
  file.put(segment(PT_LOAD, PF_R | PF_X, text.address, text.bytes, text.bytes, kPage));
  file.put(segment(PT_LOAD, PF_R | PF_W, dynamic.address, dynamic.bytes, data, kPage));
  file.put(segment(PT_DYNAMIC, PF_R | PF_W, dynamic.address, dynamic.bytes, dynamic.bytes, 8));
  file.put(segment(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16));
}

// Linkers need sections, loaders do not.
void put_sections(Bytes& file, const Extents& extents, size_t nodes) {
  struct Kind {
    const char* name;
    uint32_t type;
    uint64_t flags;
    uint32_t link, info;
    uint64_t align, entry;
  };
  const auto only_with_nodes = [nodes](uint32_t type) { return nodes > 0 ? type : uint32_t{SHT_NULL}; };
  const Kind kinds[kSections] = {
      {"", SHT_NULL, 0, 0, 0, 0, 0},
      {".gnu.hash", SHT_GNU_HASH, SHF_ALLOC, kSymbols, 0, 8, 0},
      {".dynsym", SHT_DYNSYM, SHF_ALLOC, kStrings, 1, 8, sizeof(Elf64_Sym)},
      {".dynstr", SHT_STRTAB, SHF_ALLOC, 0, 0, 1, 0},
      {".gnu.version", only_with_nodes(SHT_GNU_versym), SHF_ALLOC, kSymbols, 0, 2, 2},
      {".gnu.version_d", only_with_nodes(SHT_GNU_verdef), SHF_ALLOC, kStrings, static_cast<uint32_t>(nodes), 8, 0},
      {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0, 16, 0},
      {".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, kStrings, 0, 8, sizeof(Elf64_Dyn)},
      {".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, 0, 8, 0},
      {".shstrtab", SHT_STRTAB, 0, 0, 0, 1, 0},
  };
  Strings names;
  for (const Kind& kind : kinds) names(kind.name);
  const uint64_t names_at = file.size();
  file += names.bytes;
  file.align(8);
  const uint64_t at = file.size();
  for (size_t i = 0; i < kSections; ++i) {
    const Kind& kind = kinds[i];
    Elf64_Shdr header{};
    if (kind.type != SHT_NULL) {
      const bool is_names = i == kSectionNames;
      header = {names(kind.name),
                kind.type,
                kind.flags,
                is_names ? 0 : extents[i].address,
                is_names ? names_at : extents[i].address,
                is_names ? names.bytes.size() : extents[i].bytes,
                kind.link,
                kind.info,
                kind.align,
                kind.entry};
    }
    file.put(header);
  }
  Elf64_Ehdr header{};
  std::memcpy(&header, file.data(), sizeof(header));
  header.e_shoff = at;
  std::memcpy(file.data(), &header, sizeof(header));
}

Elf64_Ehdr elf_header() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = kSegments;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSectionNames;
  return header;
}

}  // namespace

std::string stub_library(const StubLibrary& library) {
  const Order order(library.functions);
  const std::vector<std::string> nodes = nodes_of(library);
  Extents extents{};
  // Strings are added while the tables are made. A table's size does not depend on another table's position, so a first
  // pass computes the sizes and a second pass the content.
  Strings strings;
  const std::string hash = hash_table(order), versions = nodes.empty() ? "" : version_table(library, order, nodes);
  const std::string node_bytes = node_table(nodes, strings);
  const uint64_t symbol_bytes = symbol_table(library, order, extents, strings).size();
  const uint64_t dynamic_bytes = dynamic_table(library, extents, nodes.size(), strings).size();

  uint64_t end = sizeof(Elf64_Ehdr) + kSegments * sizeof(Elf64_Phdr);
  const auto lay = [&](Section section, uint64_t bytes, uint64_t align) {
    extents[section] = {(end + align - 1) / align * align, bytes};
    end = extents[section].address + bytes;
  };
  lay(kHash, hash.size(), 8);
  lay(kSymbols, symbol_bytes, 8);
  lay(kStrings, strings.bytes.size(), 1);
  lay(kVersions, versions.size(), 2);
  lay(kNodes, node_bytes.size(), 8);
  lay(kText, std::max<size_t>(library.functions.size(), 1) * kCode, kPage);  // segments must not be empty
  lay(kDynamic, dynamic_bytes, kPage);
  lay(kCounters, 4 * library.functions.size(), 8);

  Bytes file;
  file.put(elf_header());
  put_segments(file, extents);
  const auto put = [&](Section section, const std::string& bytes) {
    file.resize(extents[section].address, '\0');
    file += bytes;
  };
  put(kHash, hash);
  put(kSymbols, symbol_table(library, order, extents, strings));
  put(kStrings, strings.bytes);
  put(kVersions, versions);
  put(kNodes, node_bytes);
  put(kText, code(library.functions.size(), extents[kText].address, extents[kCounters].address));
  put(kDynamic, dynamic_table(library, extents, nodes.size(), strings));
  put_sections(file, extents, nodes.size());
  return file;
}

}  // namespace tapelens::stubs
