/* `tapelens attach`: this library is loaded into a program that already runs, by Python code inside of it
 * (cli/attach.cpp). Libraries that are loaded already have resolved their calls without it. So it writes the addresses
 * of its stand-ins to the places where the dynamic linker has written those of LibTorch's functions: the same places
 * that it would have written at the start with LD_PRELOAD. At the end it writes the functions back.
 *
 * Each attach loads its own copy of this library and of the probe, with fresh state. The copies stay loaded, because
 * memory and threads of the program may still refer to them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/inject/inject.h"
#include "profiler/inject/library.h"
#include "trace/variables.h"

#define EXPORT __attribute__((visibility("default")))

#if defined(__x86_64__)
enum { kJumpSlot = R_X86_64_JUMP_SLOT, kGlobal = R_X86_64_GLOB_DAT, kAbsolute = R_X86_64_64 };
#elif defined(__aarch64__)
enum { kJumpSlot = R_AARCH64_JUMP_SLOT, kGlobal = R_AARCH64_GLOB_DAT, kAbsolute = R_AARCH64_ABS64 };
#endif

/* Functions of libc that leaving.c defines: the recording ends with them. */
#define LEAVING(X) \
  X(_exit) X(_Exit) X(execve) X(execv) X(execvpe) X(execvp) X(fexecve) X(execveat) X(execl) X(execlp) X(execle)

struct redirected {
  const char* name;
  void* original;
  void* stand_in;
};

enum {
#define X(name) leaving_##name,
  LEAVING(X)
#undef X
      kLeaving,
  kFunctions = TAPELENS_symbol_count + kLeaving,
  kSlots = 256 /* size of the hash table: a power of two, far larger than the number of functions */
};

static struct redirected functions[kFunctions];
static uint8_t slots[kSlots]; /* index + 1; 0: free */

static uint32_t hash_of(const char* name) {
  uint32_t hash = 2166136261u;
  for (; *name != 0; ++name) hash = (hash ^ (uint8_t)*name) * 16777619u;
  return hash;
}

static const struct redirected* find(const char* name) {
  for (uint32_t slot = hash_of(name) % kSlots; slots[slot] != 0; slot = (slot + 1) % kSlots) {
    const struct redirected* function = &functions[slots[slot] - 1];
    if (strcmp(function->name, name) == 0) return function;
  }
  return NULL;
}

/* Before the first look at the libraries: a lookup needs the dynamic linker's lock. A function that this LibTorch does
 * not have is left out. */
static void learn_functions(void) {
  /* By dlsym: with its address in the source, the linker could bind a name to the function of libc. */
  void* self = NULL;
  Dl_info place;
  if (dladdr((void*)&learn_functions, &place) != 0) self = dlopen(place.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  size_t count = 0;
  for (unsigned i = 0; self != NULL && i < kFunctions; ++i) {
    static const char* const leaving[] = {
#define X(name) #name,
        LEAVING(X)
#undef X
    };
    const int is_of_torch = i < TAPELENS_symbol_count;
    const char* name = is_of_torch ? tapelens_symbol_name((enum tapelens_symbol)i) : leaving[i - TAPELENS_symbol_count];
    void* original = is_of_torch ? tapelens_inject.real((enum tapelens_symbol)i) : dlsym(RTLD_NEXT, name);
    void* stand_in = dlsym(self, name);
    if (original == NULL || stand_in == NULL || original == stand_in) continue;
    functions[count] = (struct redirected){name, original, stand_in};
    uint32_t slot = hash_of(name) % kSlots;
    while (slots[slot] != 0) slot = (slot + 1) % kSlots;
    slots[slot] = (uint8_t)++count;
  }
}

/* A loaded library. */
struct library {
  uintptr_t base, begin, end;               /* `begin` to `end`: its pages */
  uintptr_t read_only_begin, read_only_end; /* pages that the dynamic linker wrote and then protected */
  int is_open;                              /* they are writable now */
  int failed;
};

static uintptr_t page_bytes(void) { return (uintptr_t)sysconf(_SC_PAGESIZE); }

static int make_writable(struct library* library) {
  const size_t bytes = library->read_only_end - library->read_only_begin;
  if (library->is_open || library->failed) return library->is_open;
  library->is_open = mprotect((void*)library->read_only_begin, bytes, PROT_READ | PROT_WRITE) == 0;
  library->failed = !library->is_open;
  return library->is_open;
}

/* Whether the dynamic linker has not resolved the function yet: the place still leads into the library itself. */
static int is_unresolved(const struct library* library, unsigned type, const void* value) {
  return type == kJumpSlot && (uintptr_t)value >= library->begin && (uintptr_t)value < library->end;
}

static void redirect(struct library* library, const ElfW(Rela) * relocation, size_t bytes, const ElfW(Sym) * symbols,
                     const char* strings, int to_stand_ins) {
  for (size_t i = 0; i < bytes / sizeof *relocation; ++i) {
    const ElfW(Rela)* one = &relocation[i];
    const unsigned type = (unsigned)ELF64_R_TYPE(one->r_info);
    const size_t symbol = ELF64_R_SYM(one->r_info);
    if ((type != kJumpSlot && type != kGlobal && type != kAbsolute) || symbol == 0 || one->r_addend != 0) continue;
    const struct redirected* function = find(strings + symbols[symbol].st_name);
    if (function == NULL) continue;
    void** place = (void**)(library->base + one->r_offset);
    void* now = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    /* Another tool's function stays: it was there first. */
    const int is_ours =
        to_stand_ins ? now == function->original || (now != function->stand_in && is_unresolved(library, type, now))
                     : now == function->stand_in;
    if (!is_ours) continue;
    const uintptr_t at = (uintptr_t)place;
    if (at >= library->read_only_begin && at < library->read_only_end && !make_writable(library)) continue;
    __atomic_store_n(place, to_stand_ins ? function->stand_in : function->original, __ATOMIC_RELEASE);
  }
}

struct look {
  int to_stand_ins;
  int failures; /* libraries that could not be changed */
  unsigned long long added;
};

static int look_at(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct look* look = (struct look*)data;
  look->added = info->dlpi_adds;
  struct library library = {.base = info->dlpi_addr, .begin = UINTPTR_MAX};
  const ElfW(Dyn)* dynamic = NULL;
  const uintptr_t page = page_bytes();
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    const uintptr_t begin = library.base + header->p_vaddr, end = begin + header->p_memsz;
    if (header->p_type == PT_LOAD) {
      if (begin < library.begin) library.begin = begin;
      if (end > library.end) library.end = end;
    } else if (header->p_type == PT_DYNAMIC) {
      dynamic = (const ElfW(Dyn)*)begin;
    } else if (header->p_type == PT_GNU_RELRO) {
      library.read_only_begin = begin & ~(page - 1);
      library.read_only_end = end & ~(page - 1);
    }
  }
  const uintptr_t self = (uintptr_t)&look_at;
  if (dynamic == NULL || (self >= library.begin && self < library.end)) return 0;
  uintptr_t symbols = 0, strings = 0, relocations = 0, jumps = 0;
  size_t relocation_bytes = 0, jump_bytes = 0;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const uintptr_t value = dynamic->d_un.d_val;
    /* The dynamic linker has made addresses of them, except in the kernel's own library. */
    const uintptr_t address = value < library.base ? value + library.base : value;
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        symbols = address;
        break;
      case DT_STRTAB:
        strings = address;
        break;
      case DT_RELA:
        relocations = address;
        break;
      case DT_RELASZ:
        relocation_bytes = value;
        break;
      case DT_JMPREL:
        jumps = address;
        break;
      case DT_PLTRELSZ:
        jump_bytes = value;
        break;
      case DT_PLTREL:
        if (value != DT_RELA) return 0;
        break;
      default:
        break;
    }
  }
  if (symbols == 0 || strings == 0) return 0;
  const ElfW(Sym)* table = (const ElfW(Sym)*)symbols;
  const char* names = (const char*)strings;
  if (relocations != 0)
    redirect(&library, (const ElfW(Rela)*)relocations, relocation_bytes, table, names, look->to_stand_ins);
  if (jumps != 0) redirect(&library, (const ElfW(Rela)*)jumps, jump_bytes, table, names, look->to_stand_ins);
  if (library.is_open) {
    mprotect((void*)library.read_only_begin, library.read_only_end - library.read_only_begin, PROT_READ);
  }
  look->failures += library.failed;
  return 0;
}

static pthread_mutex_t look_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long libraries_seen; /* number of loads so far */
static int is_attached;

static int look_at_all(int to_stand_ins) {
  struct look look = {to_stand_ins, 0, 0};
  dl_iterate_phdr(look_at, &look);
  libraries_seen = look.added;
  return look.failures == 0;
}

static int count_loads(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  *(unsigned long long*)data = info->dlpi_adds;
  return 1;
}

/* Libraries that the program has loaded since the last look. */
static void look_again(void) {
  unsigned long long loads = 0;
  dl_iterate_phdr(count_loads, &loads);
  pthread_mutex_lock(&look_lock);
  if (is_attached && loads != libraries_seen) look_at_all(1);
  pthread_mutex_unlock(&look_lock);
}

EXPORT int tapelens_attach(const char* settings, uint64_t bytes) {
  if (is_attached) return 0;
  tapelens_begin_attached(settings, bytes);
  tapelens_inject.look_again = look_again;
  learn_functions();
  pthread_mutex_lock(&look_lock);
  is_attached = 1;
  const int is_whole = look_at_all(1);
  if (!is_whole) look_at_all(0);
  pthread_mutex_unlock(&look_lock);
  if (!is_whole) {
    tapelens_inject.explain(TAPELENS_SPOOL,
                            "the system forbids changes to the program's loaded libraries (mprotect); the program "
                            "runs unrecorded");
  } else if (tapelens_load_probe() && tapelens_inject.detach != NULL) {
    return 1;
  }
  tapelens_detach();
  return 0;
}

EXPORT void tapelens_detach(void) {
  if (tapelens_inject.detach != NULL) tapelens_inject.detach();
  pthread_mutex_lock(&look_lock);
  if (is_attached) look_at_all(0);
  is_attached = 0;
  pthread_mutex_unlock(&look_lock);
}
