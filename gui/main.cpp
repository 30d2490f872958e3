#include "gui/app/options.h"

int main(int argc, char** argv) { return tapelens::gui::run_application(argc, argv); }
