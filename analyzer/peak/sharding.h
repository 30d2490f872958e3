// How the parameters of a process are spread over a device mesh (DTensor): the mesh, this process's place in it, and
// the placements. The recorder tells each parameter once (profiler/observe/python_hooks.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::peak {

class Analysis;

// Parameters that are spread alike.
struct Sharding {
  std::string mesh;        // "dp=2 tp=4"; dimensions without names: "2 x 4"
  std::string coordinate;  // of the process: "dp=1 tp=3", "1, 3"; empty: it is not in the mesh
  std::string placements;  // "Shard(dim=0), Replicate()": of each dimension of the mesh
  std::vector<std::string> parameters;
  model::Bytes here,
      all;  // of these parameters: what the process has of them when they are not gathered, and the whole
};

// The most bytes first. Empty: no parameter is a DTensor, or the recording is from before this was told.
std::vector<Sharding> shardings(const Analysis& analysis);
// Where the process is in the largest mesh of them; empty: in none.
std::string mesh_coordinate(const Analysis& analysis);

}  // namespace tapelens::peak
