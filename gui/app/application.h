// The command line and the window of `tapelens-gui`.
#pragma once

namespace tapelens::gui {

// Returns the exit code: 0 fine, 2 wrong usage, 3 unreadable file or unwritable picture.
int run_application(int argc, char** argv);

}  // namespace tapelens::gui
