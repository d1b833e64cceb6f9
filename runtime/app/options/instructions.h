#pragma once

#include <cstdint>
#include <string>

// Executables built for one machine (`tdslc build --native`) use all its instruction sets. An emitted program registers
// the sets it was compiled for before `main`; the runtime, which is portable, compares them with the processor at hand.

namespace tdsl::rt {

/// One bit per instruction set, in the order of the names in instructions.cpp.
inline constexpr std::uint32_t kCompiledInstructions = 0u
#ifdef __SSE4_2__
                                                       | 1u << 0
#endif
#ifdef __AVX__
                                                       | 1u << 1
#endif
#ifdef __AVX2__
                                                       | 1u << 2
#endif
#ifdef __FMA__
                                                       | 1u << 3
#endif
#ifdef __BMI2__
                                                       | 1u << 4
#endif
#ifdef __AVX512F__
                                                       | 1u << 5
#endif
#ifdef __AVX512DQ__
                                                       | 1u << 6
#endif
#ifdef __AVX512BW__
                                                       | 1u << 7
#endif
#ifdef __AVX512VL__
                                                       | 1u << 8
#endif
#ifdef __AVX512FP16__
                                                       | 1u << 9
#endif
    ;

/// Registers instruction sets that the program uses. Returns whether there are any.
bool note_instructions(std::uint32_t bits);
/// Comma-separated names of the instruction sets that the program uses and this processor lacks.
[[nodiscard]] std::string missing_instructions();

}  // namespace tdsl::rt
