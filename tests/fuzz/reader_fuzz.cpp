#include "tests/fuzz/reader_fuzz.h"

#include <cstddef>
#include <cstdint>

/// libFuzzer's entry point for the readers of entry files.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tdsl::tests::check_reader_input(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
