// Opens the model named on the command line through the installed headers and libraries, and runs it once.
#include <cstdio>
#include <cstring>

#include "skiff/delegates.h"
#include "skiff/image.h"
#include "skiff/labels.h"
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
    // The sample's input, [1, 3, 32, 32], of a picture of one black pixel.
    skiff::PortInfo port = (*session)->signature().inputs[i];
    port.image.width = port.image.height = 32;
    port.image.channels = 3;
    auto image = skiff::ImageInput::Create(port);
    const uint8_t pixel[3] = {};
    if (!image.ok() || !(*image)->Write({pixel, 1, 1}, *input).ok()) return 1;
    std::printf("input %s\n", (*session)->signature().inputs[i].name);
  }
  if (!(*session)->Run().ok()) return 1;
  auto scores = (*session)->Output(0);
  skiff::ClassScore best;
  if (!scores.ok() || !skiff::BestClasses((*session)->signature().outputs[0], *scores, {&best, 1}).ok())
    return 1;
  int fast_nodes = 0;
  for (int i = 0; i < (*session)->node_count(); ++i) {
    if ((*session)->node(i).delegate == skiff::DelegateKind::kXnnpack) ++fast_nodes;
  }
  std::printf("%d of %d nodes ran on XNNPACK\n", fast_nodes, (*session)->node_count());
  return fast_nodes > 0 ? 0 : 1;
}
