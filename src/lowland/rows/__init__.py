"""Row sources, conversion of rows and columns, and moments in one pass.

**Sources.** A `RowSource` yields consecutive blocks. The block size depends only on the number of columns: at most
4,096 rows, and at most 2²² entries (32 MB in float64) or one row. A block of wide rows therefore takes no more memory
than one of narrow rows, and a plan counts one block per thread. Sparse blocks that stay sparse have at least 256
rows. Arrays are cut without a copy; blocks of other sizes are cut again to this size. So an array, a stream and any
number of threads give the same bits. Tables of a cluster stay there (`EngineRows`): work is sent to them. An iterator
of blocks can be read once; a list of blocks, or a function that returns a new iterator, as often as a solver needs. A
source has the column names of the input, if any, so that errors can name a cell: `DataError.row` and `DataError.column`
hold the numbers.

**Weights** are repetitions: weight 2 is the row twice. Variances are divided by the sum of the weights minus
``ddof``.

**Units.** Squares of 1e-300 are zero, and those of 1e300 infinite. A fit therefore checks a sample of the rows. If
their spread is outside 1e-30 … 1e30 (float32: 2e-10 … 1e15), all rows are divided by a power of two that brings it
into this range (`units`). X and 2ᵏX give the same model, bit for bit, down to subnormal numbers. The model
stores what it learned in the unit of its fit, and ``exponent_``. Each class lists in ``_units`` which power of the
unit an attribute, a result or evidence has; values are converted when they are read (`Measured`) or returned
(`scaled_back`). Rows are not scaled if a parameter has a unit of its own (a number for a kernel's ``gamma``, a metric
given as a function). Values that the unit of the rows cannot represent are infinity or zero, and the fit warns. A fit
whose sums overflow because a few rows are far larger than the sample reads all rows and starts again. Rows or columns
whose squares are zero beside those of others raise a `ScaleError` or count as constant.

**Moments.** Each block is shifted by a pilot mean that its dtype represents exactly; its scatter is summed and merged
in row order (Chan, Golub, LeVeque 1983). The mean is an origin plus an offset, so a mean of 1e8 costs no digits.
Products of float32 rows are added up in float64 every 512 rows: longer float32 sums were wrong by 13 eps, these by 1.
Scatters of more than 1,024 columns are summed by tiles of the result, so that one D × D matrix is held and not one
per thread. `RFactor` does the same by QR, without squares.
"""
