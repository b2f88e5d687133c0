// Opens the model named on the command line through the installed headers and libraries, and runs it once.
#include <cstdio>

#include "skiff/delegates.h"
#include "skiff/model.h"
#include "skiff/session.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: consumer MODEL.skiff\n");
    return 2;
  }
  auto model = skiff::Model::Open(argv[1]);
  if (!model.ok()) {
    std::fprintf(stderr, "cannot open %s: %s\n", argv[1], model.status().message());
    return 1;
  }
  auto session = skiff::Session::Create(**model);
  if (!session.ok()) {
    std::fprintf(stderr, "cannot create a session: %s\n", session.status().message());
    return 1;
  }
  for (const auto& input : (*model)->inputs()) std::printf("input %s\n", input.name);
  return 0;
}
