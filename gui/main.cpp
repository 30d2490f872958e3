#include "gui/app/application.h"

int main(int argc, char** argv) { return tapelens::gui::run_application(argc, argv); }
