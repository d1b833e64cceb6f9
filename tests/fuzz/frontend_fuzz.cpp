#include "tests/fuzz/frontend_fuzz.h"

#include <cstddef>
#include <cstdint>

/// libFuzzer's entry point.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tdsl::tests::fuzz_frontend({reinterpret_cast<const char*>(data), size});
  return 0;
}
