#pragma once

namespace tdsl::rt::sparse {

/// The operations that visit a matrix whose columns may be coded. Those in a loop count twice.
struct CodedVisits {
  int walks = 0;    ///< over the elements without codes, by operations with one update per element,
  int nests = 0;    ///< and by nests of operators with several; with codes, these are
  int counts = 0;   ///< passes over the distinct values of every column,
  int totals = 0;   ///< passes that also look up a result by the code of each row,
  int weights = 0;  ///< and passes that add to a sum by the code of each row
  int decoded = 0;  ///< walks over rows that are decoded first
};

}  // namespace tdsl::rt::sparse
