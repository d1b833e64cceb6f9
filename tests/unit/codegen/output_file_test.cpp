#include "tools/build/output_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/unit/temporary_folder.h"

using namespace tdsl::codegen;
using namespace tdsl::codegen::testing;
namespace fs = std::filesystem;

TEST_CASE("codegen output file: it has its name when it is whole, and no link is followed") {
  const TemporaryFolder folder;
  const std::string path = folder / "out";
  put_content(folder / "victim", "precious");
  fs::create_symlink(folder / "victim", path);
  {
    OutputFile out(path, 0640);
    out.write("new ");
    std::size_t entries = 0;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      ++entries;
      // With a predictable name another process could plant a link.
      CHECK(entry.path().filename().string().find(std::to_string(::getpid())) == std::string::npos);
    }
    CHECK(entries == 3);
    CHECK(fs::is_symlink(path));
    out.write("content");
    out.commit();
  }
  CHECK_FALSE(fs::is_symlink(path));
  CHECK(content_of(path) == "new content");
  CHECK(content_of(folder / "victim") == "precious");
  { OutputFile dropped(path, 0600); }
  CHECK(content_of(path) == "new content");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 2);
}

TEST_CASE("codegen output file: texts keep links and modes") {
  const TemporaryFolder folder;
  put_content(folder / "text", "old");
  ::chmod((folder / "text").c_str(), 0604);
  fs::create_symlink("text", folder / "link");
  write_text(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(content_of(folder / "text") == "new");
  CHECK(mode_of(folder / "text") == 0604);
  CHECK_THROWS_WITH_AS(write_text(folder.path(), ""), doctest::Contains("is a directory"), OutputError);
  CHECK_THROWS_WITH_AS(write_text(folder / "nowhere/text", ""),
                       doctest::Contains("nowhere/text: No such file or directory"), OutputError);
  CHECK_THROWS_AS(write_text("/dev/full", "text"), OutputError);
}
