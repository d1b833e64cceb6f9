#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "runtime/io/output_file.h"
#include "runtime/io/temporaries.h"
#include "tests/runtime/temporary_folder.h"

using namespace tdsl::rt;

namespace {

/// Sets the job for names, during a test.
struct OfJob {
  explicit OfJob(const std::string& job, int rank = 0) { name_temporaries(job, rank); }
  ~OfJob() { name_temporaries("", 0); }
};

}  // namespace

TEST_CASE("temporary names tell job and rank") {
  const tdsl::tests::TemporaryFolder folder;
  CHECK(temporary_name(folder / "C.npy") != temporary_name(folder / "C.npy"));
  const OfJob job("123", 7);
  CHECK(temporary_name(folder / "C.npy") == folder / ".C.npy.tmp-123-7");
  (void)folder.write(".C.npy.tmp-123-7", "");
  CHECK(temporary_name(folder / "C.npy") == folder / ".C.npy.tmp-123-7-2");
  const OfJob strange("../1");
  CHECK(temporary_name(folder / "C.npy").find("..") == std::string::npos);
}

TEST_CASE("only files of a killed attempt of the same job are removed") {
  const tdsl::tests::TemporaryFolder folder;
  const OfJob job("123");
  for (const char* name :
       {".C.npy.tmp-123-0", ".C.npy.tmp-123-5-2", ".C.npy.tmp-12-0", ".C.npy.tmp-1234-0", ".D.npy.tmp-123-0", "C.npy"})
    (void)folder.write(name, "");
  {
    const OutputFile live = OutputFile::create(folder / "C.npy", Unfinished::kNamed);
    remove_leftovers(folder / "C.npy");
    CHECK_FALSE(std::filesystem::exists(folder / ".C.npy.tmp-123-0"));
    CHECK_FALSE(std::filesystem::exists(folder / ".C.npy.tmp-123-5-2"));
    CHECK(std::filesystem::exists(folder / ".C.npy.tmp-123-0-2"));  // being written
  }
  CHECK_FALSE(std::filesystem::exists(folder / ".C.npy.tmp-123-0-2"));
  for (const char* name : {".C.npy.tmp-12-0", ".C.npy.tmp-1234-0", ".D.npy.tmp-123-0", "C.npy"})
    CHECK(std::filesystem::exists(folder / name));
  remove_leftovers(folder / "nowhere/C.npy");
}
