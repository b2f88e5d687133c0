/// The native methods of io.skiff.Native, in tables that JNI_OnLoad registers.
#pragma once

#include <jni.h>

namespace skiff::jni {

struct Natives {
  const JNINativeMethod* methods;
  jint count;
};
Natives ImageNatives();
Natives LibraryNatives();
Natives ModelNatives();
Natives SessionNatives();

/// One row of such a table. JNI's own struct wants mutable names on the desktop and constant ones on Android.
template <class Function>
JNINativeMethod Native(const char* name, const char* signature, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

}  // namespace skiff::jni
