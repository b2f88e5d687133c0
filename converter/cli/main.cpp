#include "cli/tool.h"

int main(int argc, char** argv) { return skiff::cli::RunTool(argc, argv); }
