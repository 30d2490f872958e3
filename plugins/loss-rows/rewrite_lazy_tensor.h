// A tensor of the program's graph without memory. Operators of a cross entropy take its rows; any other operator makes
// it an ordinary tensor first, in place. So code that reads it unexpectedly gets the right values.
#pragma once

#include <c10/core/TensorImpl.h>

#include "plugins/loss-rows/rewrite_rows.h"

namespace tapelens::rewrite::loss_rows {

// False: another library uses the dispatch key by which operators on such tensors are noticed. Call it once.
bool install_lazy_tensors();

at::Tensor lazy(RowsPtr rows);
// Rows of a matrix, viewed with other sizes.
at::Tensor lazy(RowsPtr rows, at::IntArrayRef sizes);
// Null: the tensor is an ordinary one, maybe by now.
RowsPtr rows_of(const at::Tensor& tensor);
// Makes it an ordinary tensor, with its history. No effect on an ordinary tensor. Not for tensors of several threads.
void make_ordinary(const at::Tensor& tensor);

}  // namespace tapelens::rewrite::loss_rows
