// The precision of products (matrix products, convolutions): settings of the process that decide the bits of costly
// operators. They have setters that warn or also change others, so their members are read and written.
#pragma once

#include <cstdint>

namespace tapelens::rewrite {

// All of them in one number that is never 0.
uint64_t product_precision();
void set_product_precision(uint64_t precision);

}  // namespace tapelens::rewrite
