// cuDNN: recurrent networks. PyTorch reads the position of each matrix in the weight space. The sizes of the spaces for
// backward are estimates, because only the real library knows its own.
#include <cstdlib>
#include <cstring>

#include "simulated/device/dnn.h"

using namespace tapelens::simulated;

namespace {

constexpr size_t kFixedWorkspace = size_t{16} << 20;

// cudnnRNNMode_t
enum Mode : int { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };

struct Network {
  int mode, bias_mode, directions, type, input, hidden, projection, layers;

  bool has_projection() const { return projection > 0 && projection != hidden; }
  int output() const { return has_projection() ? projection : hidden; }
  int gates() const { return mode == kLstm ? 4 : mode == kGru ? 3 : 1; }
  // Matrices of a layer in one direction: for the input, for the state, and for the projection.
  int matrices() const { return 2 * gates() + (has_projection() ? 1 : 0); }
  bool has_bias() const { return bias_mode != 0; }
  int pseudo_layers() const { return layers * directions; }

  struct Shape {
    size_t rows, columns;
    size_t elements() const { return rows * columns; }
  };
  Shape matrix(int layer, int which) const {
    const auto h = static_cast<size_t>(hidden), p = static_cast<size_t>(output());
    if (which == 2 * gates()) return {p, h};
    if (which >= gates()) return {h, p};
    return {h, layer < directions ? static_cast<size_t>(input) : p * static_cast<size_t>(directions)};
  }
  size_t elements_of(int layer) const {
    size_t all = 0;
    for (int i = 0; i < matrices(); ++i) all += matrix(layer, i).elements();
    return all;
  }
  size_t elements_of_matrices() const {
    size_t all = 0;
    for (int layer = 0; layer < pseudo_layers(); ++layer) all += elements_of(layer);
    return all;
  }
  size_t biases_of_layer() const { return has_bias() ? static_cast<size_t>(2 * gates() * hidden) : 0; }
};

struct Sequences {
  int type, longest, batch, width;
};

void describe(void* to, int type, size_t rows, size_t columns) {
  auto* tensor = static_cast<TensorDescriptor*>(to);
  tensor->type = type;
  tensor->dimensions = 3;
  const int sizes[] = {1, static_cast<int>(rows), static_cast<int>(columns)};
  const int strides[] = {sizes[1] * sizes[2], sizes[2], 1};
  std::memcpy(tensor->sizes, sizes, sizeof(sizes));
  std::memcpy(tensor->strides, strides, sizeof(strides));
}

}  // namespace

TAPELENS_CUDA int cudnnCreateRNNDescriptor(void** to) {
  *to = make_handle<Network>();
  return kDnnSuccess;
}
TAPELENS_CUDA int cudnnDestroyRNNDescriptor(void* what) {
  free(what);
  return kDnnSuccess;
}
TAPELENS_CUDA int cudnnCreateRNNDataDescriptor(void** to) {
  *to = make_handle<Sequences>();
  return kDnnSuccess;
}
TAPELENS_CUDA int cudnnDestroyRNNDataDescriptor(void* what) {
  free(what);
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnSetRNNDescriptor_v8(void* to, int, int mode, int bias_mode, int directions, int, int type, int,
                                           int, int input, int hidden, int projection, int layers, void*, unsigned) {
  *static_cast<Network*>(to) = {mode, bias_mode, directions == 1 ? 2 : 1, type, input, hidden, projection, layers};
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnSetRNNDataDescriptor(void* to, int type, int, int longest, int batch, int width, const int*,
                                            void*) {
  *static_cast<Sequences*>(to) = {type, longest, batch, width};
  return kDnnSuccess;
}

TAPELENS_CUDA int cudnnGetRNNWeightSpaceSize(void*, const void* of, size_t* bytes) {
  const auto& network = *static_cast<const Network*>(of);
  *bytes = dnn_width(network.type) *
           (network.elements_of_matrices() + network.biases_of_layer() * static_cast<size_t>(network.pseudo_layers()));
  return kDnnSuccess;
}

// Layout: all matrices, layer by layer, then all biases.
TAPELENS_CUDA int cudnnGetRNNWeightParams(void*, const void* of, int layer, size_t, const void* weights, int which,
                                          void* matrix, void** matrix_at, void* bias, void** bias_at) {
  const auto& network = *static_cast<const Network*>(of);
  const size_t width = dnn_width(network.type);
  char* begin = static_cast<char*>(const_cast<void*>(weights));
  if (layer < 0 || layer >= network.pseudo_layers() || which < 0 || which >= network.matrices()) {
    return kDnnBadParameter;
  }
  size_t before = 0;
  for (int i = 0; i < layer; ++i) before += network.elements_of(i);
  for (int i = 0; i < which; ++i) before += network.matrix(layer, i).elements();
  const Network::Shape shape = network.matrix(layer, which);
  if (matrix != nullptr) describe(matrix, network.type, shape.rows, shape.columns);
  if (matrix_at != nullptr) *matrix_at = begin + before * width;
  const bool has_bias = network.has_bias() && which < 2 * network.gates();
  if (bias != nullptr && has_bias) describe(bias, network.type, static_cast<size_t>(network.hidden), 1);
  if (bias_at == nullptr) return kDnnSuccess;
  *bias_at = nullptr;
  if (has_bias) {
    *bias_at =
        begin + width * (network.elements_of_matrices() + network.biases_of_layer() * static_cast<size_t>(layer) +
                         static_cast<size_t>(which * network.hidden));
  }
  return kDnnSuccess;
}

// Estimates, from an LSTM of two layers on an H100 with cuDNN 9: 16,992,544 and 68,032 bytes. Workspace: 16 MiB and the
// gates of every step. Reserve: the gates and the state of every layer, and the outputs between layers.
TAPELENS_CUDA int cudnnGetRNNTempSpaceSizes(void*, const void* of, int training, const void* input, size_t* workspace,
                                            size_t* reserve) {
  const auto& network = *static_cast<const Network*>(of);
  const auto& sequences = *static_cast<const Sequences*>(input);
  const size_t steps = static_cast<size_t>(sequences.longest) * static_cast<size_t>(sequences.batch) *
                       static_cast<size_t>(network.hidden * network.directions) * dnn_width(network.type);
  if (workspace != nullptr) *workspace = kFixedWorkspace + steps * static_cast<size_t>(network.gates());
  if (reserve != nullptr) {
    *reserve = training != 0 ? steps * static_cast<size_t>((network.gates() + 2) * network.layers - 1) : 0;
  }
  return kDnnSuccess;
}
