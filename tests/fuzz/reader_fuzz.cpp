#include "tests/fuzz/reader_fuzz.h"

#include <cstddef>
#include <cstdint>

// libFuzzer's entry point for the readers of entry files: the first byte says which.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const char* const kExtensions[] = {".mtx", ".tns", ".npz"};
  tdsl::tests::check_reader(std::string(reinterpret_cast<const char*>(data) + 1, size - 1), kExtensions[data[0] % 3]);
  return 0;
}
