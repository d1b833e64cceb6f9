#pragma once

#include <string>

namespace tdsl::tools {

/// Rates of one thread by class of kernel; 0: not measured.
struct KernelRates {
  double product = 0;      ///< flops per second of large matrix products
  double row_product = 0;  ///< of products in blocks of rows, apart from the packing that plans price
  double loop = 0;         ///< of vector loops over data in cache
  double stream = 0;       ///< bytes per second of loops over data in memory
  double last_cache = 0;   ///< bytes of the last-level cache, as the system tells it
  std::string trouble;     ///< why vector loops could not be measured
};

/// Runs products and a stream in this process, and vector loops in a program that it builds, as users' loops are.
[[nodiscard]] KernelRates measure_rates();

}  // namespace tdsl::tools
