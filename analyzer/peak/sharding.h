// How the parameters of a process are spread over a device mesh (DTensor): the mesh, this process's place in it, and
// the placements. The recorder writes each parameter once (profiler/observe/python_hooks.py).
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
  std::string coordinate;  // the process's coordinate: "dp=1 tp=3", "1, 3"; empty: it is not in the mesh
  std::string placements;  // "Shard(dim=0), Replicate()": of each dimension of the mesh
  std::vector<std::string> parameters;
  model::Bytes here,
      all;  // the process's own bytes of these parameters while not gathered, and the bytes of the whole
};

// The most bytes first. Empty: no parameter is a DTensor, or an older Tapelens made the recording.
std::vector<Sharding> shardings(const Analysis& analysis);
// The process's coordinate in the largest of these meshes; empty: it is in none.
std::string mesh_coordinate(const Analysis& analysis);

}  // namespace tapelens::peak
