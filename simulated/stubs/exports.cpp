#include "simulated/stubs/exports.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace tapelens::stubs {
namespace {

using trace::Error;
using trace::Result;

// A mapped file. Every access is checked against its size.
class Image {
 public:
  static Result<Image> of(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat facts {};
    if (descriptor < 0 || fstat(descriptor, &facts) != 0) {
      const int error = errno;
      if (descriptor >= 0) close(descriptor);
      return Error{std::strerror(error)};
    }
    void* data = MAP_FAILED;
    if (S_ISREG(facts.st_mode) && facts.st_size > 0) {
      data = mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    close(descriptor);
    if (data == MAP_FAILED) return Error{"is no shared library"};
    return Image(static_cast<const char*>(data), static_cast<uint64_t>(facts.st_size));
  }
  Image(Image&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Image& operator=(Image&&) = delete;
  ~Image() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }

  uint64_t size() const { return size_; }
  // A copy, because nothing in the file needs to be aligned.
  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > size_ || size_ - offset < sizeof(T)) return {};
    T value;
    std::memcpy(&value, data_ + offset, sizeof(T));
    return value;
  }
  // The text from `offset` to its zero byte, which must come before `end`.
  std::optional<std::string_view> text(uint64_t offset, uint64_t end) const {
    if (end > size_ || offset >= end) return {};
    const void* zero = std::memchr(data_ + offset, 0, end - offset);
    if (zero == nullptr) return {};
    return std::string_view(data_ + offset, static_cast<const char*>(zero));
  }

 private:
  Image(const char* data, uint64_t size) : data_(data), size_(size) {}
  const char* data_;
  uint64_t size_;
};

// `offset` + `more`, or on overflow an offset past every file.
uint64_t behind(uint64_t offset, uint64_t more) { return offset > UINT64_MAX - more ? UINT64_MAX : offset + more; }

// The tables of the dynamic segment, as offsets in the file.
class Tables {
 public:
  explicit Tables(const Image& image) : image_(image) {}

  // Returns an error text; empty on success.
  std::string find() {
    const auto header = image_.at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return "is no shared library";
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_X86_64) {
      return "is no library for x86-64";
    }
    if (header->e_type != ET_DYN || header->e_phentsize != sizeof(Elf64_Phdr)) return "is no shared library";
    std::optional<Elf64_Phdr> dynamic;
    for (uint64_t i = 0; i < header->e_phnum; ++i) {
      const auto segment = image_.at<Elf64_Phdr>(behind(header->e_phoff, i * sizeof(Elf64_Phdr)));
      if (!segment) return "its segments are not in the file";
      if (segment->p_type == PT_LOAD) loaded_.push_back(*segment);
      if (segment->p_type == PT_DYNAMIC) dynamic = segment;
    }
    if (!dynamic) return "has no dynamic segment";
    return read_dynamic(*dynamic);
  }

  // A text of the dynamic string table.
  std::optional<std::string> string(uint64_t offset) const {
    const auto text = image_.text(behind(strings_, offset), behind(strings_, string_bytes_));
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }
  // The number of dynamic symbols. The file does not store it; it follows from the hash table.
  std::optional<uint64_t> symbol_count() const { return gnu_hash_ != 0 ? counted_by_gnu_hash() : counted_by_hash(); }
  std::optional<Elf64_Sym> symbol(uint64_t index) const {
    return image_.at<Elf64_Sym>(behind(symbols_, index * sizeof(Elf64_Sym)));
  }
  bool has_versions() const { return versions_ != 0; }
  std::optional<uint16_t> version(uint64_t index) const {
    return image_.at<uint16_t>(behind(versions_, index * sizeof(uint16_t)));
  }
  // The version nodes that the library defines, by index; none if they are invalid.
  std::optional<std::map<uint16_t, std::string>> nodes() const {
    std::map<uint16_t, std::string> nodes;
    for (uint64_t at = definitions_, left = definition_count_; at != 0 && left > 0; --left) {
      const auto node = image_.at<Elf64_Verdef>(at);
      if (!node) return {};
      const auto name = image_.at<Elf64_Verdaux>(behind(at, node->vd_aux));
      auto text = name ? string(name->vda_name) : std::nullopt;
      const bool is_library = (node->vd_flags & VER_FLG_BASE) != 0;  // the library itself, not a version of a function
      if (!text || (text->empty() && !is_library)) return {};
      if (!is_library) nodes[node->vd_ndx] = std::move(*text);
      if (node->vd_next == 0) break;
      at = behind(at, node->vd_next);
    }
    return nodes;
  }

  std::string soname;
  std::vector<std::string> needed;

 private:
  // The file offset of an address; 0, which no table has, if it is not loaded from the file.
  uint64_t offset(uint64_t address) const {
    for (const Elf64_Phdr& segment : loaded_) {
      if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
        return behind(segment.p_offset, address - segment.p_vaddr);
      }
    }
    return 0;
  }

  std::string read_dynamic(const Elf64_Phdr& segment) {
    std::vector<uint64_t> needed_at;
    std::optional<uint64_t> soname_at;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = image_.at<Elf64_Dyn>(behind(segment.p_offset, at));
      if (!entry) return "its dynamic segment is not in the file";
      if (entry->d_tag == DT_NULL) break;
      const uint64_t value = entry->d_un.d_val;
      switch (entry->d_tag) {
        case DT_NEEDED:
          needed_at.push_back(value);
          break;
        case DT_SONAME:
          soname_at = value;
          break;
        case DT_STRTAB:
          strings_ = offset(value);
          break;
        case DT_STRSZ:
          string_bytes_ = value;
          break;
        case DT_SYMTAB:
          symbols_ = offset(value);
          break;
        case DT_GNU_HASH:
          gnu_hash_ = offset(value);
          break;
        case DT_HASH:
          hash_ = offset(value);
          break;
        case DT_VERSYM:
          versions_ = offset(value);
          break;
        case DT_VERDEF:
          definitions_ = offset(value);
          break;
        case DT_VERDEFNUM:
          definition_count_ = value;
          break;
        default:
          break;
      }
    }
    if (strings_ == 0 || symbols_ == 0 || (gnu_hash_ == 0 && hash_ == 0)) return "has no table of symbols";
    for (const uint64_t at : needed_at) {
      auto name = string(at);
      if (!name) return "the name of a library that it needs is not in the file";
      needed.push_back(std::move(*name));
    }
    if (soname_at) {
      auto name = string(*soname_at);
      if (!name) return "its own name is not in the file";
      soname = std::move(*name);
    }
    return {};
  }

  std::optional<uint64_t> counted_by_hash() const {
    const auto chains = image_.at<uint32_t>(behind(hash_, 4));
    return chains ? std::optional<uint64_t>(*chains) : std::nullopt;
  }

  std::optional<uint64_t> counted_by_gnu_hash() const {
    const auto buckets = image_.at<uint32_t>(gnu_hash_), first = image_.at<uint32_t>(behind(gnu_hash_, 4)),
               bloom = image_.at<uint32_t>(behind(gnu_hash_, 8));
    if (!buckets || !first || !bloom) return {};
    const uint64_t bucket_table = behind(gnu_hash_, 16 + uint64_t{8} * *bloom);
    const uint64_t chain_table = behind(bucket_table, uint64_t{4} * *buckets);
    uint64_t last = 0;
    for (uint64_t i = 0; i < *buckets; ++i) {
      const auto begin = image_.at<uint32_t>(behind(bucket_table, 4 * i));
      if (!begin) return {};
      last = std::max<uint64_t>(last, *begin);
    }
    if (last < *first) return *first;  // no symbol is defined
    for (;; ++last) {
      const auto hash = image_.at<uint32_t>(behind(chain_table, 4 * (last - *first)));
      if (!hash) return {};
      if ((*hash & 1) != 0) return last + 1;
    }
  }

  const Image& image_;
  std::vector<Elf64_Phdr> loaded_;
  uint64_t strings_ = 0, string_bytes_ = 0, symbols_ = 0, gnu_hash_ = 0, hash_ = 0, versions_ = 0, definitions_ = 0,
           definition_count_ = 0;
};

bool is_function(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

bool is_exported(const Elf64_Sym& symbol) {
  const auto binding = ELF64_ST_BIND(symbol.st_info), visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return (binding == STB_GLOBAL || binding == STB_WEAK) && (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

// Returns an error text; empty on success.
std::string read_symbols(const Tables& tables, Exports& exports) {
  const auto count = tables.symbol_count();
  const auto nodes = tables.nodes();
  if (!count) return "its table of symbols is not in the file";
  if (!nodes) return "its version nodes are not in the file";
  for (uint64_t i = 1; i < *count; ++i) {
    const auto symbol = tables.symbol(i);
    if (!symbol) return "symbol " + std::to_string(i) + " is not in the file";
    if (!is_exported(*symbol)) continue;
    auto name = tables.string(symbol->st_name);
    if (!name) return "the name of symbol " + std::to_string(i) + " is not in the file";
    if (symbol->st_shndx == SHN_UNDEF) {
      exports.undefined.push_back(std::move(*name));
      continue;
    }
    if (!is_function(*symbol) || symbol->st_shndx == SHN_ABS) continue;
    Function function{std::move(*name), {}, false};
    if (tables.has_versions()) {
      const auto version = tables.version(i);
      if (!version) return "the version of " + function.name + " is not in the file";
      constexpr uint16_t kHidden = 0x8000;
      const uint16_t node = *version & static_cast<uint16_t>(~kHidden);
      if (node == VER_NDX_LOCAL) continue;
      if (node > VER_NDX_GLOBAL) {
        const auto found = nodes->find(node);
        if (found == nodes->end()) return "the version of " + function.name + " is not one of its nodes";
        function.version = found->second;
        function.hidden = (*version & kHidden) != 0;
      }
    }
    exports.functions.push_back(std::move(function));
  }
  return {};
}

}  // namespace

Result<Exports> read_exports(const std::string& path) {
  const auto image = Image::of(path);
  if (!image) return Error{path + ": " + image.error().message};
  Tables tables(*image);
  Exports exports;
  std::string wrong = tables.find();
  if (wrong.empty()) wrong = read_symbols(tables, exports);
  if (!wrong.empty()) return Error{path + ": " + wrong};
  exports.soname = std::move(tables.soname);
  exports.needed = std::move(tables.needed);
  return exports;
}

}  // namespace tapelens::stubs
