// A plain LibTorch trainer in C++: a small convolutional net on random images, Adam, one line a step.
// It knows nothing of Tapelens: record it with `tapelens record -- trainer --size small`.
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "net.h"

namespace {

struct Options {
  samples::Size size = samples::Size::small;
  int steps = 3;
  int64_t seed = 0;
  int threads = 1;
};

[[noreturn]] void usage(const char* program, int code) {
  std::fprintf(code == 0 ? stdout : stderr,
               "usage: %s [--size small|medium|large] [--steps N] [--seed N] [--threads N]\n", program);
  std::exit(code);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0) usage(argv[0], 0);
    if (i + 1 == argc) usage(argv[0], 2);
    const std::string flag = argv[i++];
    const char* value = argv[i];
    if (flag == "--size") {
      if (!samples::parse_size(value, options.size)) usage(argv[0], 2);
    } else if (flag == "--steps") {
      options.steps = std::atoi(value);
    } else if (flag == "--seed") {
      options.seed = std::atoll(value);
    } else if (flag == "--threads") {
      options.threads = std::atoi(value);
    } else {
      usage(argv[0], 2);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  torch::manual_seed(options.seed);
  if (options.threads > 0) torch::set_num_threads(options.threads);
  const samples::Shape shape = samples::shape_of(options.size);
  samples::Net net(shape);
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(1e-3));
  for (int step = 0; step < options.steps; ++step) {
    const torch::Tensor images = torch::randn({shape.batch, 3, shape.image, shape.image});
    const torch::Tensor labels = torch::randint(0, 10, {shape.batch}, torch::kLong);
    optimizer.zero_grad();
    const torch::Tensor loss = torch::nn::functional::cross_entropy(net->forward(images), labels);
    loss.backward();
    optimizer.step();
    std::printf("step %d loss %.9g\n", step, static_cast<double>(loss.item<float>()));
    std::fflush(stdout);
  }
  return 0;
}
