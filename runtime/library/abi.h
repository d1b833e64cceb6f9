/* What libraries that `tdslc build --library` makes have in common. A copy is in every header. */
#ifndef TDSL_LIBRARY_TYPES
#define TDSL_LIBRARY_TYPES

#include <stdint.h>

#define TDSL_MOST_DIMENSIONS 8

/* Element types: bool is a byte, 0 or 1; a complex number is its real, then its imaginary part (C's float _Complex and
 * double _Complex); f16 is C's _Float16, bf16 the upper half of a float. */
enum {
  TDSL_BOOL = 0,
  TDSL_I32 = 1,
  TDSL_I64 = 2,
  TDSL_F32 = 3,
  TDSL_F64 = 4,
  TDSL_C64 = 5,
  TDSL_C128 = 6,
  TDSL_I8 = 7,
  TDSL_U8 = 8,
  TDSL_I16 = 9,
  TDSL_U16 = 10,
  TDSL_U32 = 11,
  TDSL_U64 = 12,
  TDSL_F16 = 13,
  TDSL_BF16 = 14
};

/* What functions return; 0 is success. */
enum {
  TDSL_GOOD = 0,
  TDSL_FAILED = 1,  /* the run went wrong, without results; the handle takes the next call */
  TDSL_MISUSED = 2, /* an argument is wrong, nothing was run; the handle is as before */
  TDSL_REFUSED = 3  /* ranks were lost in an earlier call, or `open` had failed; the handle takes no calls */
};

/* The elements lo <= x < hi of an array, in this rank's memory: element x is at data + sum((x[d] - lo[d]) * stride[d])
 * elements. */
typedef struct tdsl_box {
  void* data;
  int64_t lo[TDSL_MOST_DIMENSIONS];
  int64_t hi[TDSL_MOST_DIMENSIONS];
  int64_t stride[TDSL_MOST_DIMENSIONS]; /* in elements; may be negative */
} tdsl_box;

/* A tensor of all ranks, and the boxes of it that this rank has or wants. */
typedef struct tdsl_array {
  const char* name; /* as the program calls it */
  int type;
  int dimensions;                      /* 0: a scalar */
  int64_t shape[TDSL_MOST_DIMENSIONS]; /* of the whole tensor */
  int64_t box_count;
  tdsl_box* boxes;
} tdsl_array;

/* Added to the type of a matrix whose boxes have stored elements only: a box is whole rows, its `data` a tdsl_sparse*.
 */
#define TDSL_SPARSE 256

/* Rows of a matrix, compressed (CSR): the elements of row r of the box are those from indptr[r] up to indptr[r + 1];
 * row by row, columns in any order, elements of equal subscripts are added. Of an input: everything is given. Of an
 * output: `run` gives rows, cols and count, then `fill` writes the three lists, ordered and without equal subscripts.
 */
typedef struct tdsl_sparse {
  int64_t size;       /* sizeof(tdsl_sparse) */
  int64_t index_bits; /* 32 or 64: of indptr and indices, which are signed */
  void* indptr;       /* rows + 1 numbers */
  void* indices;      /* the columns of `count` elements */
  void* values;       /* likewise, of the array's type */
  int64_t rows;       /* of this box */
  int64_t cols;
  int64_t count;
} tdsl_sparse;

#endif
