// JNI_OnLoad, and what belongs to no object.
#include "natives.h"
#include "support.h"

namespace skiff::jni {
namespace {

constexpr jint kVersion = JNI_VERSION_1_6;

jbyteArray Version(JNIEnv* env, jclass) { return ToBytes(env, skiff_version_string()); }

jbyteArray StatusName(JNIEnv* env, jclass, jint status) {
  return ToBytes(env, skiff_status_name(static_cast<SkiffStatus>(status)));
}

jbyteArray DTypeName(JNIEnv* env, jclass, jint dtype) { return ToBytes(env, skiff_dtype_name(dtype)); }

jint DTypeSize(JNIEnv*, jclass, jint dtype) { return static_cast<jint>(skiff_dtype_size(dtype)); }

jlong Address(JNIEnv* env, jclass, jobject direct) { return ToHandle(env->GetDirectBufferAddress(direct)); }

bool Register(JNIEnv* env) {
  const jclass native = env->FindClass("io/skiff/Native");
  if (native == nullptr) return false;
  for (const Natives& natives : {LibraryNatives(), ModelNatives(), SessionNatives()}) {
    if (env->RegisterNatives(native, natives.methods, natives.count) != JNI_OK) return false;
  }
  env->DeleteLocalRef(native);
  return LoadException(env);
}

}  // namespace

Natives LibraryNatives() {
  static const JNINativeMethod kMethods[] = {
      Native("version", "()[B", &Version),
      Native("statusName", "(I)[B", &StatusName),
      Native("dtypeName", "(I)[B", &DTypeName),
      Native("dtypeSize", "(I)I", &DTypeSize),
      Native("address", "(Ljava/nio/ByteBuffer;)J", &Address),
  };
  return {kMethods, sizeof(kMethods) / sizeof(kMethods[0])};
}

}  // namespace skiff::jni

extern "C" JNIEXPORT jint JNI_OnLoad(JavaVM* machine, void*) {
  JNIEnv* env = nullptr;
  if (machine->GetEnv(reinterpret_cast<void**>(&env), skiff::jni::kVersion) != JNI_OK) return JNI_ERR;
  return skiff::jni::Register(env) ? skiff::jni::kVersion : JNI_ERR;
}

extern "C" JNIEXPORT void JNI_OnUnload(JavaVM* machine, void*) {
  JNIEnv* env = nullptr;
  if (machine->GetEnv(reinterpret_cast<void**>(&env), skiff::jni::kVersion) == JNI_OK)
    skiff::jni::UnloadException(env);
}
