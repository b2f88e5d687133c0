// The whole of running a model with one f32 input: open, make a session, fill the input, run, read the
// output.
#include <skiff/delegates.h>
#include <skiff/session.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  // What went wrong, where and why is printed by the library; a LogSink (skiff/log.h) sends it elsewhere, and
  // status().message() is the same sentence.
  auto model = skiff::Model::Open(argv[1], {skiff::BuiltinDelegates()});
  if (!model.ok()) return 1;
  auto session = skiff::Session::Create(**model);
  if (!session.ok()) return 1;

  auto input = session.value()->InputBuffer(0);
  if (!input.ok() || input->dtype != skiff::DType::kF32) return 1;
  for (int64_t i = 0; i < input->shape.elements(); ++i) input->as<float>()[i] = 0.5f;

  if (!session.value()->Run().ok()) return 1;
  const auto output = session.value()->Output(0);
  if (!output.ok() || output.value().dtype != skiff::DType::kF32) return 1;
  for (int64_t i = 0; i < output.value().shape.elements(); ++i)
    std::printf("%g\n", output.value().as<float>()[i]);
  return 0;
}
