// The optional parts of a probe: rewriting, and the values of a simulated GPU. Installed probes have both
// (all_parts.cpp); a probe from `tapelens build-probe` only records (record_only.cpp).
#pragma once

namespace tapelens::probe {

// Whether rewriting is requested and possible in this process.
bool start_rewrites();
void watch_rewrites();
void abandon_rewrites_in_child();
// Whether the process has a simulated GPU whose values must be computed.
bool start_simulated_values();
void watch_simulated_values();

}  // namespace tapelens::probe
