// What a probe may do beside recording: rewrite, and know the values of a simulated GPU. The probes that are installed
// do both (all_parts.cpp); one that `tapelens build-probe` compiles records only (record_only.cpp).
#pragma once

namespace tapelens::probe {

// Whether this process is to be rewritten, and can be.
bool start_rewrites();
void watch_rewrites();
void abandon_rewrites_in_child();
// Whether it has a simulated GPU whose values are to be known.
bool start_simulated_values();
void watch_simulated_values();

}  // namespace tapelens::probe
