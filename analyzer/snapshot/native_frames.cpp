#include <algorithm>
#include <array>
#include <span>

#include "analyzer/model/text.h"
#include "analyzer/snapshot/stack_facts.h"

namespace tapelens::snapshot {

namespace {

bool ends_with_any(std::string_view text, std::span<const std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return text.ends_with(end); });
}

// In C++, an underscore joins the names of an operator and of its overload: add.Tensor is add_Tensor. The list has all
// names of overloads of PyTorch 2.11 to 2.15, except those that end in "_out".
constexpr std::string_view kOverloads =
    " "
    "Dimname DimnameList Dimname_Scalar Dimname_Tensor IntList KN L List OutScalar_Other OutScalar_Self "
    "OutTensor Q Scalar ScalarAndTensor ScalarList ScalarOpt_dim ScalarOpt_dim_dtype ScalarOpt_dtype "
    "ScalarOther ScalarSelf Scalar_Other Scalar_Scalar Scalar_Self Scalar_Tensor Scalar_mode Sequence Tensor "
    "TensorList_bins Tensor_Scalar Tensor_Tensor Tensor_float Tensor_generator Tensor_mode U X a all array "
    "atol_rtol_float atol_rtol_tensor b beta bin_ct bins_tensor ccol_row_value ccol_row_value_size center "
    "comp_plain_value comp_plain_value_size correction correction_names crow_col_value crow_col_value_size "
    "data decimals deprecated device dim dim_Dimname dim_DimnameList dim_IntList dim_dtype dim_int dim_max "
    "dim_min dim_values dimname dimname_src dimname_stable dimname_value dimname_values dimname_values_stable "
    "dims dtype dtype_layout dx eigenvalues eigvals ellipsis_idx float float_Tensor float_float from "
    "fullcoverage generator generator_with_names grad_input indexing indices indices_size input int int_Scalar "
    "int_Tensor int_bins intlist inverse low low_dtype low_generator low_generator_dtype m memory_format msg "
    "n_scalar named_out_dim names names_ScalarOpt_dim names_ScalarOpt_dim_dtype names_dim names_dim_max "
    "names_dim_min names_dim_values names_dtype no_stats ntonly ord_str other other_scalar out_ out_mode "
    "out_rcond_tensor out_tol_tensor output output_mask p p_str padding padding_idx periodic periodic_alpha "
    "periodic_alpha_beta quantized rcond_tensor reduce result scalar scalararray scalarint scalarrayarray "
    "scalarrayint sections self self_Tensor self_int self_scalar sign size sizes source_Storage "
    "source_Storage_storage_offset source_Tensor source_Tensor_storage_offset sparse_dim src stable start "
    "start_step step str_ord tensor_indices_or_sections tensor_lr tensor_qparams tensorarray tensorarrayint "
    "tensors to tol_tensor two unary using_ints using_names value value_reduce values values_stable vec x "
    "x_scalar ";

// Operators whose name ends like an overload.
constexpr std::string_view kWithoutOverload =
    " "
    "_add_batch_dim _assert_scalar _copy_from _cufft_get_plan_cache_max_size _cufft_get_plan_cache_size "
    "_cufft_set_plan_cache_max_size _empty_affine_quantized _empty_per_channel_affine_quantized "
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams _foreach_sign _functional_assert_scalar "
    "_functional_sym_constrain_range_for_size _histogramdd_from_bin_tensors _linalg_eigvals "
    "_log_softmax_backward_data _nested_get_values _nested_tensor_size _propagate_xla_data _remove_batch_dim "
    "_resize_output _softmax_backward_data _sparse_broadcast_to _sparse_compressed_tensor_with_dims "
    "_sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors _sparse_log_softmax_backward_data "
    "_sparse_softmax_backward_data _test_optional_filled_intlist _test_optional_intlist "
    "_validate_compressed_sparse_indices affine_grid_generator align_tensors align_to "
    "batch_norm_backward_reduce broadcast_tensors broadcast_to ccol_indices cholesky_inverse col_indices "
    "crow_indices cudnn_affine_grid_generator dense_dim empty_quantized flatten_dense_tensors get_device "
    "index_reduce is_same_size is_set_to linalg_eigvals max_pool1d_with_indices max_pool2d_with_indices "
    "max_pool3d_with_indices mkldnn_linear_backward_input norm_except_dim refine_names row_indices "
    "scatter_reduce segment_reduce set_data slice_inverse sparse_dim special_legendre_polynomial_p "
    "split_with_sizes sum_to_size sym_constrain_range_for_size sym_size take_along_dim tril_indices "
    "triu_indices unflatten_dense_tensors unique_dim unsafe_split_with_sizes ";

bool is_listed(std::string_view list, std::string_view name) {
  return list.find(" " + std::string(name) + " ") != std::string_view::npos;
}

std::string_view without_overload(std::string_view name) {
  constexpr std::string_view kOut = "_out";
  if (name.ends_with(kOut)) name.remove_suffix(kOut.size());
  if (is_listed(kWithoutOverload, name)) return name;
  // Uses the longest overload: dim_name in cumsum_dim_name, not name.
  for (size_t at = name.find('_', 1); at != std::string_view::npos; at = name.find('_', at + 1)) {
    if (is_listed(kOverloads, name.substr(at + 1))) return name.substr(0, at);
  }
  return name;
}

// The part of a function's name between a prefix and `end`. Empty: the name does not have this form.
std::string_view between(std::string_view function, std::string_view prefix, std::string_view end) {
  if (!function.starts_with(prefix)) return {};
  function.remove_prefix(prefix.size());
  const size_t at = function.find(end);
  if (at == std::string_view::npos) return {};
  const std::string_view behind = function.substr(at + end.size());
  return behind.empty() || behind.front() == '(' ? function.substr(0, at) : std::string_view{};
}

}  // namespace

bool has_line(std::string_view file) {
  static constexpr std::array<std::string_view, 9> kSources = {".cpp", ".cc",  ".cxx", ".c",  ".cu",
                                                               ".h",   ".hpp", ".cuh", ".pyx"};
  return model::is_python_frame(file) || ends_with_any(file, kSources);
}

bool is_native_library_frame(std::string_view file, std::string_view function) {
  // The interpreter, whether it is a library or not.
  const bool is_python =
      file.find("/bin/python") != std::string_view::npos || function.starts_with("Py") || function.starts_with("_Py");
  return is_python || function == "_start" || model::is_library_frame(file, function);
}

std::string operator_of(std::string_view function) {
  const std::string_view name = between(function, "at::_ops::", "::call");
  return name.empty() ? std::string() : "aten::" + std::string(without_overload(name));
}

std::string node_of(std::string_view function) {
  constexpr std::string_view kAutograd = "torch::autograd::", kGenerated = "generated::";
  const std::string_view name = between(function, kAutograd, "::apply");
  if (name.empty() || name == "PyNode") return {};
  if (name.starts_with(kGenerated)) return std::string(name.substr(kGenerated.size()));
  return std::string(kAutograd) + std::string(name);
}

}  // namespace tapelens::snapshot
