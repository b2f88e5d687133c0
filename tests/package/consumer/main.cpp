// Opens the model named on the command line through the installed headers and libraries, and runs it once.
#include <cstdio>
#include <cstring>

#include "skiff/delegates.h"
#include "skiff/model.h"
#include "skiff/session.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: consumer MODEL.skiff\n");
    return 2;
  }
  skiff::ModelOptions options;
  options.delegates = skiff::BuiltinDelegates();
  auto model = skiff::Model::Open(argv[1], options);  // Errors are logged to stderr.
  if (!model.ok()) return 1;
  auto session = skiff::Session::Create(**model);
  if (!session.ok()) return 1;
  for (size_t i = 0; i < (*session)->signature().inputs.size(); ++i) {
    auto input = (*session)->InputBuffer(static_cast<int>(i));
    if (!input.ok()) return 1;
    std::memset(input->data, 0, static_cast<size_t>(input->bytes()));
    std::printf("input %s\n", (*session)->signature().inputs[i].name);
  }
  if (!(*session)->Run().ok()) return 1;
  int fast_nodes = 0;
  for (int i = 0; i < (*session)->node_count(); ++i) {
    if ((*session)->node(i).delegate == skiff::DelegateKind::kXnnpack) ++fast_nodes;
  }
  std::printf("%d of %d nodes ran on XNNPACK\n", fast_nodes, (*session)->node_count());
  return fast_nodes > 0 ? 0 : 1;
}
