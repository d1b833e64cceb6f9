#pragma once

#include <cstdint>
#include <string>

// An executable built for one machine (`tdslc build --native`) uses what that machine has. Emitted programs say what
// that is before `main`, by a constant of their own compilation; the runtime, which runs everywhere, compares it with
// the processor it finds.

namespace tdsl::rt {

/// Bits of instruction sets, in the order of their names in instructions.cpp.
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

/// The program uses these. Returns whether it uses any.
bool note_instructions(std::uint32_t bits);
/// The names of what it uses and this processor lacks, with commas.
[[nodiscard]] std::string missing_instructions();

}  // namespace tdsl::rt
