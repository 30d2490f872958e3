// Stub libraries that have only names: the reader, the loader and the linker accept the output, and the reader refuses
// a broken file.
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "simulated/stubs/exports.h"
#include "simulated/stubs/stub_library.h"

namespace tapelens::stubs {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "tapelens-stubs-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return (path_ / name).string();
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// The output of a command, which must succeed.
std::string output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  char part[4096];
  for (size_t got; (got = fread(part, 1, sizeof(part), pipe)) > 0;) text.append(part, got);
  EXPECT_EQ(pclose(pipe), 0) << command << '\n' << text;
  return text;
}

std::vector<Function> some_functions(std::mt19937& random, size_t count, const std::vector<std::string>& nodes) {
  std::set<std::string> names;
  while (names.size() < count) {
    std::string name = "cu";
    for (size_t length = 1 + random() % 30; length > 0; --length) name += static_cast<char>('a' + random() % 26);
    names.insert(name);
  }
  std::vector<Function> functions;
  for (const std::string& name : names) {
    functions.push_back({name, nodes.empty() ? "" : nodes[random() % nodes.size()], false});
  }
  std::shuffle(functions.begin(), functions.end(), random);
  return functions;
}

std::set<std::pair<std::string, std::string>> named(const std::vector<Function>& functions) {
  std::set<std::pair<std::string, std::string>> set;
  for (const Function& function : functions) set.emplace(function.name, function.version);
  return set;
}

TEST(StubLibrary, OfRandomNamesIsReadAgainAndEveryFunctionIsFoundCalledAndCounted) {
  std::mt19937 random(1);
  const Folder folder;
  const std::vector<std::string> node_sets[] = {{}, {"libmade.so.1"}, {"libmade.so.1", "MADE_1.1", "MADE_1.2"}};
  for (const size_t count : {0, 1, 2, 7, 100, 3000}) {
    for (const auto& nodes : node_sets) {
      const std::string soname = "libmade" + std::to_string(count) + "-" + std::to_string(nodes.size()) + ".so.1";
      const StubLibrary wanted{soname, {"libc.so.6"}, some_functions(random, count, nodes)};
      const std::string path = folder.put(soname, stub_library(wanted));
      const auto exports = read_exports(path);
      ASSERT_TRUE(exports) << exports.error().message;
      EXPECT_EQ(exports->soname, soname);
      EXPECT_EQ(exports->needed, wanted.needed);
      EXPECT_EQ(named(exports->functions), named(wanted.functions));
      EXPECT_EQ(exports->functions.size(), count);

      void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      ASSERT_NE(library, nullptr) << dlerror();
      const auto* calls = static_cast<const uint32_t*>(dlsym(library, kStubCalls));
      ASSERT_NE(calls, nullptr);
      for (size_t i = 0; i < count; ++i) {
        const Function& function = wanted.functions[i];
        void* found = function.version.empty() ? dlsym(library, function.name.c_str())
                                               : dlvsym(library, function.name.c_str(), function.version.c_str());
        ASSERT_NE(found, nullptr) << function.name << ": " << dlerror();
        ASSERT_EQ(calls[i], 0U);
        ASSERT_EQ(reinterpret_cast<uint64_t (*)(int)>(found)(7), 0U);
        ASSERT_EQ(calls[i], 1U) << function.name << " is another function's code";
      }
      EXPECT_EQ(dlsym(library, "cu_that_nobody_named"), nullptr);
      dlclose(library);
    }
  }
}

TEST(StubLibrary, HasNothingThatReadelfComplainsOf) {
  std::mt19937 random(2);
  const Folder folder;
  for (const auto& nodes : {std::vector<std::string>{}, {"libmade.so.13"}}) {
    const auto path = folder.put("libmade.so.13",
                                 stub_library({"libmade.so.13", {"libother.so.1"}, some_functions(random, 50, nodes)}));
    const std::string text = output_of("readelf --wide --all " + path);
    EXPECT_EQ(text.find("arning"), std::string::npos) << text;
    EXPECT_EQ(text.find("rror"), std::string::npos) << text;
    EXPECT_NE(text.find("Library soname: [libmade.so.13]"), std::string::npos) << text;
    EXPECT_NE(text.find("Shared library: [libother.so.1]"), std::string::npos) << text;
  }
}

TEST(StubLibrary, CanBeLinkedAgainstAndAnswersUnderItsVersionNode) {
  const Folder folder;
  folder.put(
      "libmade.so.1",
      stub_library({"libmade.so.1", {}, {{"made_one", "libmade.so.1", false}, {"made_two", "libmade.so.1", false}}}));
  const std::string source = folder.put(
      "program.c", "int made_one(void); int made_two(void); int main(void) { return made_one() + made_two(); }");
  const std::string program = folder.path("program");
  output_of("cc " + source + " -o " + program + " -L" + folder.path("") + " -l:libmade.so.1 -Wl,-z,now -Wl,-rpath," +
            folder.path(""));
  EXPECT_NE(output_of("readelf --wide --dyn-syms " + program).find("made_two@libmade.so.1"), std::string::npos);
  output_of(program);
}

TEST(StubLibrary, LeavesWhatItDoesNotHaveToTheLibrariesThatItNeeds) {
  const Folder folder;
  const auto path = folder.put("libmade.so.1", stub_library({"libmade.so.1", {"libc.so.6"}, {{"made", "", false}}}));
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(dlsym(library, "gnu_get_libc_version"), dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  dlclose(library);
}

TEST(Exports, OfTheCLibraryAreWhatItExports) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &info), 0);
  const auto exports = read_exports(info.dli_fname);
  ASSERT_TRUE(exports) << exports.error().message;
  EXPECT_EQ(exports->soname, "libc.so.6");
  EXPECT_GT(exports->functions.size(), 1000U);
  std::istringstream listed(output_of("readelf --wide --dyn-syms " + std::string(info.dli_fname)));
  std::set<std::string> shown;
  for (std::string line; std::getline(listed, line);) {
    std::istringstream words(line);
    for (std::string word; words >> word;) shown.insert(word);
  }
  for (const auto& [name, version, hidden] : exports->functions) {
    const std::string as_shown = name + (version.empty() ? "" : (hidden ? "@" : "@@") + version);
    ASSERT_EQ(shown.count(as_shown), 1U) << as_shown;
  }
}

TEST(Exports, OfAProgramsLibrariesNameWhatIsUndefinedInThem) {
  const Folder folder;
  const auto source = folder.put("part.c", "int elsewhere(void); int here(void) { return elsewhere(); }");
  output_of("cc -shared -fPIC -nostdlib " + source + " -o " + folder.path("part.so"));
  const auto exports = read_exports(folder.path("part.so"));
  ASSERT_TRUE(exports) << exports.error().message;
  EXPECT_EQ(exports->soname, "");
  EXPECT_EQ(exports->undefined, std::vector<std::string>{"elsewhere"});
  EXPECT_EQ(named(exports->functions), (std::set<std::pair<std::string, std::string>>{{"here", ""}}));
}

TEST(Exports, OfALibraryThatDefinesNothingNameWhatIsUndefinedInIt) {
  const Folder folder;
  const auto source = folder.put("part.c",
                                 "int elsewhere(void);"
                                 "__attribute__((visibility(\"hidden\"))) int here(void) { return elsewhere(); }");
  output_of("cc -shared -fPIC -nostdlib -Wl,--hash-style=gnu " + source + " -o " + folder.path("part.so"));
  const auto exports = read_exports(folder.path("part.so"));
  ASSERT_TRUE(exports) << exports.error().message;
  EXPECT_TRUE(exports->functions.empty());
  EXPECT_EQ(exports->undefined, std::vector<std::string>{"elsewhere"});
}

TEST(Exports, OfWhatIsNoLibraryAreRefusedWithItsName) {
  const Folder folder;
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"), std::string(64, '\0'),
                                   std::string("\x7f"
                                               "ELF") +
                                       std::string(60, '\xff')}) {
    const auto path = folder.put("file", bytes);
    const auto exports = read_exports(path);
    ASSERT_FALSE(exports);
    EXPECT_EQ(exports.error().message.find(path + ": "), 0U) << exports.error().message;
  }
  EXPECT_EQ(read_exports(folder.path("none")).error().message, folder.path("none") + ": No such file or directory");
  EXPECT_FALSE(read_exports(folder.path("")));
}

// Truncated or damaged anywhere: the reader answers or refuses. It never reads outside of the file (AddressSanitizer or
// the kernel would detect that), and never loops forever.
TEST(Exports, OfABrokenLibraryAreRefusedOrReadButNeverOutsideOfTheFile) {
  std::mt19937 random(3);
  const Folder folder;
  const std::string whole = stub_library({"libmade.so.1", {"libc.so.6"}, some_functions(random, 40, {"libmade.so.1"})});
  size_t refused = 0;
  for (size_t end = 0; end < whole.size(); end += 1 + random() % 97) {
    refused += !read_exports(folder.put("cut", whole.substr(0, end)));
  }
  EXPECT_GT(refused, 0U);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = whole;
    for (size_t n = 1 + random() % 4; n > 0; --n) {
      const size_t head = random() % 2 != 0 ? 1024 : damaged.size();
      damaged[random() % head] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
    }
    (void)read_exports(folder.put("damaged", damaged));
  }
}

}  // namespace
}  // namespace tapelens::stubs
