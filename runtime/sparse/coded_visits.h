#pragma once

namespace tdsl::rt::sparse {

/// The operations that visit a matrix whose columns may be coded. Those in a loop count twice. Visits once per distinct
/// value of a column, without a code of each row, cost nothing and are not listed.
struct CodedVisits {
  int walks = 0;    ///< over the elements, if they are not coded; otherwise
  int totals = 0;   ///< passes that look up a value by the code of each row,
  int weights = 0;  ///< passes that add to a sum by the code of each row,
  int decoded = 0;  ///< and walks over decoded rows, which visit the elements without codes, too
};

}  // namespace tdsl::rt::sparse
