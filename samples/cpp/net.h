// The network of the C++ sample: convolutions with group norm, a residual connection, a linear head.
#pragma once

#include <torch/torch.h>

#include <string_view>

namespace samples {

enum class Size { small, medium, large };

inline bool parse_size(std::string_view text, Size& size) {
  if (text == "small")
    size = Size::small;
  else if (text == "medium")
    size = Size::medium;
  else if (text == "large")
    size = Size::large;
  else
    return false;
  return true;
}

struct Shape {
  int64_t width = 8, layers = 2, batch = 4, image = 16;
};

inline Shape shape_of(Size size) {
  if (size == Size::medium) return {.width = 32, .layers = 4, .batch = 16, .image = 64};
  if (size == Size::large) return {.width = 64, .layers = 8, .batch = 32, .image = 112};
  return {};
}

struct NetImpl : torch::nn::Module {
  explicit NetImpl(const Shape& shape) {
    using torch::nn::Conv2dOptions;
    stem = register_module("stem", torch::nn::Conv2d(Conv2dOptions(3, shape.width, 3).padding(1)));
    for (int64_t i = 0; i < shape.layers; ++i) {
      convolutions->push_back(torch::nn::Conv2d(Conv2dOptions(shape.width, shape.width, 3).padding(1).bias(false)));
      norms->push_back(torch::nn::GroupNorm(torch::nn::GroupNormOptions(4, shape.width)));
    }
    register_module("convolutions", convolutions);
    register_module("norms", norms);
    head = register_module("head", torch::nn::Linear(shape.width, 10));
  }

  torch::Tensor forward(const torch::Tensor& images) {
    torch::Tensor x = torch::relu(stem(images));
    for (size_t i = 0; i < convolutions->size(); ++i) {
      const torch::Tensor y = convolutions->at<torch::nn::Conv2dImpl>(i).forward(x);
      x = x + torch::silu(norms->at<torch::nn::GroupNormImpl>(i).forward(y));
    }
    return head(x.mean({2, 3}));
  }

  torch::nn::Conv2d stem{nullptr};
  torch::nn::ModuleList convolutions, norms;
  torch::nn::Linear head{nullptr};
};
TORCH_MODULE(Net);

}  // namespace samples
