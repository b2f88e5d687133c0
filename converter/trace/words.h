/// What sentences of errors call the things of this API: C++ names, unless a skin in another language has
/// said its own.
#pragma once

namespace skiff::eager {

struct Words {
  const char* language = "C++";
  const char* cond = "Cond()";
  const char* while_loop = "While()";
  const char* where = "Where()";
  const char* print = "Print()";
  const char* shape_of = "ShapeOf(x)";
  const char* scalar = "Tensor::Scalar(..)";
  const char* cast = "Cast()";
  const char* signature = "input_signature = {{{}}}";  ///< A format of fmt's; the types go in.
};

inline Words& MutableWords() {
  static Words words;
  return words;
}
inline const Words& TheWords() { return MutableWords(); }
/// For a skin, before anything else is called.
inline void SetWords(const Words& words) { MutableWords() = words; }

}  // namespace skiff::eager
