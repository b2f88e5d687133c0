#include "delegates/supports.h"

namespace skiff {

#define DELEGATE(Name) const DelegateSupport& Name##Support();
#include "delegates/known.def"
#undef DELEGATE

Span<const DelegateSupport* const> BuiltinSupports() {
  static const DelegateSupport* const supports[] = {
#define DELEGATE(Name) &Name##Support(),
#include "delegates/known.def"
#undef DELEGATE
  };
  return {supports, sizeof(supports) / sizeof(*supports)};
}

const char* NameOfDelegate(DelegateKind kind) {
  for (const DelegateSupport* support : BuiltinSupports()) {
    if (support->kind() == kind) return support->name();
  }
  return DelegateKindName(kind);
}

}  // namespace skiff
