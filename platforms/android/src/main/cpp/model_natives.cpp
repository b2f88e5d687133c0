#include "natives.h"
#include "support.h"

namespace skiff::jni {
namespace {

/// The C API's functions over a signature's inputs, or over its outputs.
struct Ports {
  decltype(&skiff_model_input_count) count;
  decltype(&skiff_model_input_name) name;
  decltype(&skiff_model_input_type) type;
  decltype(&skiff_model_input_symbol) symbol;
  decltype(&skiff_model_input_quantization) quantization;
};
constexpr Ports kInputs = {&skiff_model_input_count, &skiff_model_input_name, &skiff_model_input_type,
                           &skiff_model_input_symbol, &skiff_model_input_quantization};
constexpr Ports kOutputs = {&skiff_model_output_count, &skiff_model_output_name, &skiff_model_output_type,
                            &skiff_model_output_symbol, &skiff_model_output_quantization};
const Ports& PortsOf(jboolean output) { return output == JNI_TRUE ? kOutputs : kInputs; }

const SkiffModel* FromJava(jlong model) { return FromHandle<SkiffModel>(model); }

/// `open` takes a path or bytes; the folder may be null.
template <class Open>
jlong OpenWith(JNIEnv* env, jbyteArray cache_folder, const Open& open) {
  const Text folder(env, cache_folder);
  SkiffModel* model = nullptr;
  if (!folder.ok()) return 0;
  SkiffModelOptions options;
  skiff_model_options_init(&options, sizeof(options));
  options.cache_folder = folder.c_str();
  Succeeds(env, [&](char* message, size_t size) { return open(&options, &model, message, size); });
  return ToHandle(model);
}

jlong OpenModel(JNIEnv* env, jclass, jbyteArray path, jbyteArray cache_folder) {
  const Text text(env, path);
  if (!text.ok()) return 0;
  return OpenWith(env, cache_folder, [&](const auto* options, auto** model, char* message, size_t size) {
    return skiff_model_open_with(text.c_str(), options, model, message, size);
  });
}

jlong OpenModelBytes(JNIEnv* env, jclass, jobject direct, jint offset, jint bytes, jbyteArray cache_folder) {
  const auto* begin = static_cast<const uint8_t*>(env->GetDirectBufferAddress(direct)) + offset;
  return OpenWith(env, cache_folder, [&](const auto* options, auto** model, char* message, size_t size) {
    return skiff_model_open_bytes_with(begin, static_cast<size_t>(bytes), options, model, message, size);
  });
}

void SaveCache(JNIEnv* env, jclass, jlong model) {
  Succeeds(env, [&](char* message, size_t size) {
    return skiff_model_save_cache(FromHandle<SkiffModel>(model), message, size);
  });
}

void CloseModel(JNIEnv*, jclass, jlong model) { skiff_model_close(FromHandle<SkiffModel>(model)); }

jint SignatureCount(JNIEnv*, jclass, jlong model) { return skiff_model_signature_count(FromJava(model)); }

jbyteArray SignatureName(JNIEnv* env, jclass, jlong model, jint signature) {
  return ToBytes(env, skiff_model_signature_name(FromJava(model), signature));
}

jint PortCount(JNIEnv*, jclass, jlong model, jint signature, jboolean output) {
  return PortsOf(output).count(FromJava(model), signature);
}

jbyteArray PortName(JNIEnv* env, jclass, jlong model, jint signature, jboolean output, jint index) {
  return ToBytes(env, PortsOf(output).name(FromJava(model), signature, index));
}

jlongArray PortType(JNIEnv* env, jclass, jlong model, jint signature, jboolean output, jint index) {
  SkiffTensor type;
  const bool known = Succeeds(env, [&](char* message, size_t size) {
    return PortsOf(output).type(FromJava(model), signature, index, &type, message, size);
  });
  if (!known) return nullptr;
  jlong values[1 + SKIFF_MAX_RANK] = {type.dtype};
  for (int32_t axis = 0; axis < type.rank; ++axis) values[1 + axis] = type.extents[axis];
  return ToLongs(env, values, 1 + type.rank);
}

jint PortSymbol(JNIEnv*, jclass, jlong model, jint signature, jboolean output, jint index, jint axis) {
  return PortsOf(output).symbol(FromJava(model), signature, index, axis);
}

/// The axis, the block, then the zero points.
jlongArray PortQuantization(JNIEnv* env, jclass, jlong model, jint signature, jboolean output, jint index) {
  SkiffQuantization from;
  if (PortsOf(output).quantization(FromJava(model), signature, index, &from, sizeof(from)) == 0)
    return nullptr;
  const jlong head[] = {from.axis, from.block};
  constexpr jsize kHead = 2;
  const jlongArray to = env->NewLongArray(kHead + static_cast<jsize>(from.count));
  if (to == nullptr) return nullptr;
  env->SetLongArrayRegion(to, 0, kHead, head);
  for (jsize i = 0; i < static_cast<jsize>(from.count) && env->ExceptionCheck() == JNI_FALSE; ++i) {
    const jlong zero_point = from.zero_points == nullptr ? from.zero_point : from.zero_points[i];
    env->SetLongArrayRegion(to, kHead + i, 1, &zero_point);
  }
  return to;
}

jfloatArray PortScales(JNIEnv* env, jclass, jlong model, jint signature, jboolean output, jint index) {
  SkiffQuantization from;
  PortsOf(output).quantization(FromJava(model), signature, index, &from, sizeof(from));
  const auto count = static_cast<jsize>(from.count);
  const jfloatArray to = env->NewFloatArray(count);
  if (to == nullptr) return nullptr;
  env->SetFloatArrayRegion(to, 0, count, from.scales == nullptr ? &from.scale : from.scales);
  return to;
}

jboolean InputImage(JNIEnv* env, jclass, jlong model, jint signature, jint index, jintArray to_sizes,
                    jfloatArray to_values) {
  SkiffImageSpec spec;
  if (skiff_model_input_image(FromJava(model), signature, index, &spec, sizeof(spec)) == 0) return JNI_FALSE;
  const jint sizes[] = {static_cast<jint>(spec.width), static_cast<jint>(spec.height),
                        static_cast<jint>(spec.channels), spec.bgr, spec.nhwc};
  env->SetIntArrayRegion(to_sizes, 0, 5, sizes);
  if (env->ExceptionCheck()) return JNI_FALSE;
  env->SetFloatArrayRegion(to_values, 0, 4, spec.mean);
  if (env->ExceptionCheck()) return JNI_FALSE;
  env->SetFloatArrayRegion(to_values, 4, 4, spec.scale);
  return env->ExceptionCheck() ? JNI_FALSE : JNI_TRUE;
}

jint LabelCount(JNIEnv*, jclass, jlong model, jint signature, jint index) {
  return skiff_model_output_label_count(FromJava(model), signature, index);
}

jbyteArray Label(JNIEnv* env, jclass, jlong model, jint signature, jint index, jint label) {
  return ToBytes(env, skiff_model_output_label(FromJava(model), signature, index, label));
}

jint SymbolCount(JNIEnv*, jclass, jlong model) { return skiff_model_symbol_count(FromJava(model)); }

jbyteArray SymbolName(JNIEnv* env, jclass, jlong model, jint symbol) {
  return ToBytes(env, skiff_model_symbol_name(FromJava(model), symbol));
}

jlongArray SymbolRange(JNIEnv* env, jclass, jlong model, jint symbol) {
  int64_t min = 0;
  int64_t max = 0;
  int64_t multiple = 0;
  const bool known = Succeeds(env, [&](char* message, size_t size) {
    return skiff_model_symbol_range(FromJava(model), symbol, &min, &max, &multiple, message, size);
  });
  const jlong values[] = {min, max, multiple};
  return known ? ToLongs(env, values, 3) : nullptr;
}

jint VariableCount(JNIEnv*, jclass, jlong model) { return skiff_model_variable_count(FromJava(model)); }

jbyteArray VariableName(JNIEnv* env, jclass, jlong model, jint variable) {
  return ToBytes(env, skiff_model_variable_name(FromJava(model), variable));
}

jbyteArray Metadata(JNIEnv* env, jclass, jlong model, jbyteArray key) {
  const Text text(env, key);
  return text.ok() ? ToBytes(env, skiff_model_metadata(FromJava(model), text.c_str())) : nullptr;
}

}  // namespace

Natives ModelNatives() {
  static const JNINativeMethod kMethods[] = {
      Native("openModel", "([B[B)J", &OpenModel),
      Native("openModelBytes", "(Ljava/nio/ByteBuffer;II[B)J", &OpenModelBytes),
      Native("saveCache", "(J)V", &SaveCache),
      Native("closeModel", "(J)V", &CloseModel),
      Native("signatureCount", "(J)I", &SignatureCount),
      Native("signatureName", "(JI)[B", &SignatureName),
      Native("portCount", "(JIZ)I", &PortCount),
      Native("portName", "(JIZI)[B", &PortName),
      Native("portType", "(JIZI)[J", &PortType),
      Native("portSymbol", "(JIZII)I", &PortSymbol),
      Native("portQuantization", "(JIZI)[J", &PortQuantization),
      Native("portScales", "(JIZI)[F", &PortScales),
      Native("inputImage", "(JII[I[F)Z", &InputImage),
      Native("labelCount", "(JII)I", &LabelCount),
      Native("label", "(JIII)[B", &Label),
      Native("symbolCount", "(J)I", &SymbolCount),
      Native("symbolName", "(JI)[B", &SymbolName),
      Native("symbolRange", "(JI)[J", &SymbolRange),
      Native("variableCount", "(J)I", &VariableCount),
      Native("variableName", "(JI)[B", &VariableName),
      Native("metadata", "(J[B)[B", &Metadata),
  };
  return {kMethods, sizeof(kMethods) / sizeof(kMethods[0])};
}

}  // namespace skiff::jni
