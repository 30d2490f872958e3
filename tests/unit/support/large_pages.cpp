// Linked into a program, simulates a kernel with pages of 64 KiB, as on aarch64. Mappings must begin at a page, and
// they occupy whole pages.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace {

constexpr uintptr_t kPage = 65536;

template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool begins_a_page(const void* address) { return reinterpret_cast<uintptr_t>(address) % kPage == 0; }
size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

extern "C" {

long sysconf(int name) noexcept {
  static const auto real = next(&sysconf, "sysconf");
  return name == _SC_PAGESIZE ? static_cast<long>(kPage) : real(name);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  static const auto real = next(&mmap, "mmap");
  if (offset % static_cast<off_t>(kPage) != 0 || ((flags & MAP_FIXED) != 0 && !begins_a_page(address))) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  if ((flags & MAP_FIXED) != 0) return real(address, bytes, protection, flags, file, offset);
  constexpr int kRoom = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* room = real(nullptr, whole_pages(bytes) + kPage, PROT_NONE, kRoom, -1, 0);
  if (room == MAP_FAILED) return room;
  auto* begin = reinterpret_cast<void*>(whole_pages(reinterpret_cast<uintptr_t>(room)));
  return real(begin, bytes, protection, flags | MAP_FIXED, file, offset);
}

int munmap(void* address, size_t bytes) noexcept {
  static const auto real = next(&munmap, "munmap");
  if (begins_a_page(address)) return real(address, whole_pages(bytes));
  errno = EINVAL;
  return -1;
}

int madvise(void* address, size_t bytes, int advice) noexcept {
  static const auto real = next(&madvise, "madvise");
  if (begins_a_page(address)) return real(address, bytes, advice);
  errno = EINVAL;
  return -1;
}
}
