#include "tools/build/cache.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <vector>

#include "tests/unit/temporary_folder.h"
#include "tools/build/compile.h"
#include "tools/build/precompiled.h"

using namespace tdsl::codegen;
using namespace tdsl::codegen::testing;
namespace fs = std::filesystem;

TEST_CASE("codegen cache: its folder is the user's alone") {
  const TemporaryFolder folder;
  const std::string cache = folder / "parent/tdsl";
  REQUIRE(make_private_folder(cache));
  CHECK(mode_of(cache) == 0700);
  CHECK(mode_of(folder / "parent") == 0700);
  ::chmod(cache.c_str(), 0755);
  REQUIRE(make_private_folder(cache));
  CHECK(mode_of(cache) == 0700);
  for (const mode_t mode : {0770U, 0702U, 01777U}) {
    ::chmod(cache.c_str(), mode);
    CHECK_THROWS_WITH_AS(static_cast<void>(make_private_folder(cache)), doctest::Contains("others may write to it"),
                         CompilerFailure);
    CHECK(mode_of(cache) == mode);
  }
  put_content(folder / "file", "");
  CHECK_THROWS_AS(static_cast<void>(make_private_folder(folder / "file")), CompilerFailure);
  CHECK_FALSE(make_private_folder(folder / "file/tdsl"));
}

TEST_CASE("codegen cache: neither a link nor another user's folder is used") {
  const TemporaryFolder folder;
  REQUIRE(make_private_folder(folder / "real"));
  fs::create_symlink(folder / "real", folder / "link");
  CHECK_THROWS_WITH_AS(static_cast<void>(make_private_folder(folder / "link")),
                       doctest::Contains("it is a symbolic link"), CompilerFailure);
  fs::create_symlink(folder / "nowhere", folder / "dangling");
  CHECK_THROWS_WITH_AS(static_cast<void>(make_private_folder(folder / "dangling")),
                       doctest::Contains("it is a symbolic link"), CompilerFailure);
  CHECK_FALSE(fs::exists(folder / "nowhere"));
  const bool root = ::geteuid() == 0;
  const std::string theirs = root ? folder / "real" : "/usr";
  if (root) REQUIRE(::chown(theirs.c_str(), 1, static_cast<gid_t>(-1)) == 0);
  CHECK_THROWS_WITH_AS(static_cast<void>(make_private_folder(theirs)), doctest::Contains("it belongs to another user"),
                       CompilerFailure);
}

TEST_CASE("codegen cache: an executable that has changed is not intact") {
  const TemporaryFolder folder;
  const CacheEntry entry(folder.path(), "key", "program");
  CHECK_FALSE(entry.intact());
  const std::string whole =
      "\x7F"
      "ELF and more";
  put_content(folder / "source", "int main() {}");
  put_content(folder / "built", whole);
  ::chmod((folder / "built").c_str(), 0700);
  entry.put(folder / "source", folder / "built");
  CHECK(entry.intact());
  CHECK(content_of(entry.executable()) == whole);
  CHECK(content_of(entry.executable() + ".cpp") == "int main() {}");
  for (const std::string& damaged : std::vector<std::string>{"", whole.substr(1), whole + "\n",
                                                             "\x7F"
                                                             "ELF and nore"}) {
    put_content(entry.executable(), damaged);
    CHECK_FALSE(entry.intact());
  }
  put_content(entry.executable(), whole);
  CHECK(entry.intact());
  fs::remove(entry.executable() + ".sum");
  CHECK_FALSE(entry.intact());
}

TEST_CASE(
    "codegen compile: a compiler that crashes on precompiled headers is run without them; other errors are the "
    "program's") {
  const TemporaryFolder folder;
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  REQUIRE(::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1) == 0);
  const auto compile = [&](const std::string& complaint) {
    put_content(folder / "c++", "#!/bin/sh\ncase \"$*\" in *-I*/precompiled/*) echo '" + complaint +
                                    "'; exit 1 ;; esac\nwhile [ \"$1\" != -o ]; do shift; done\necho built >\"$2\"\n");
    REQUIRE(::chmod((folder / "c++").c_str(), 0700) == 0);
    Toolchain toolchain;
    toolchain.compiler = folder / "c++";
    toolchain.precompiled = {folder / "precompiled"};
    const std::string headers = toolchain.precompiled.front() + "/" + precompiled_key(toolchain) + "/runtime";
    std::filesystem::create_directories(headers);
    put_content(headers + "/emitted.h.gch", "");
    return compile_program(toolchain, {.source = "int main() {}", .name = "p", .use_cache = false});
  };
  CHECK(content_of(compile("p.cpp:1:1: internal compiler error: Segmentation fault").path) == "built\n");
  CHECK_THROWS_WITH_AS(static_cast<void>(compile("p.cpp:1:1: error: no")), doctest::Contains("error: no"),
                       CompilerFailure);
  REQUIRE((before == nullptr ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", kept.c_str(), 1)) == 0);
}
