// `tapelens-gui`: its command line and its window.
#pragma once

namespace tapelens::gui {

// The exit code: 0 fine, 2 wrong usage, 3 a file cannot be read or a picture not be written.
int run_application(int argc, char** argv);

}  // namespace tapelens::gui
