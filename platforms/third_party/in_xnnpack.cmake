# Included by XNNPACK's project (CMAKE_PROJECT_XNNPACK_INCLUDE).
if(SKIFF_SANITIZE)
  # It calls packing functions of several types through one (src/reference/packing.cc), which is undefined and works.
  add_compile_options(-fsanitize=${SKIFF_SANITIZE} -fno-sanitize=function -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
endif()

# Compiles some of the micro-kernels at a time. There are many hundred small files, each of which reads the same headers of intrinsics.
# One file now includes those that have flags in common and are all scalar or all not (these name their types alike): a quarter of
# the time is left, and the machine code is the same but for constants that kernels share then.
set(skiff_joined_files 20)

function(skiff_join_microkernels)
  get_target_property(sources microkernels-prod SOURCES)
  list(REMOVE_DUPLICATES sources)
  set(result ${sources})
  list(FILTER sources INCLUDE REGEX "\\.c$")
  list(FILTER result EXCLUDE REGEX "\\.c$")
  set(groups)
  foreach(source IN LISTS sources)
    get_source_file_property(flags ${source} COMPILE_FLAGS)
    string(REGEX MATCH "-scalar" scalar "${source}")
    string(MD5 group "${flags}${scalar}")
    set(flags_${group} ${flags})
    list(APPEND groups ${group})
    list(APPEND sources_${group} "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${source}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    while(sources_${group})
      list(SUBLIST sources_${group} 0 ${skiff_joined_files} joined)
      list(REMOVE_ITEM sources_${group} ${joined})
      list(LENGTH sources_${group} left)
      set(file ${CMAKE_CURRENT_BINARY_DIR}/joined/${group}_${left}.c)
      list(JOIN joined "" text)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      if(flags_${group})
        set_source_files_properties(${file} PROPERTIES COMPILE_FLAGS "${flags_${group}}")
      endif()
      list(APPEND result ${file})
    endwhile()
  endforeach()
  set_target_properties(microkernels-prod PROPERTIES SOURCES "${result}")
endfunction()

# When all flags are set.
cmake_language(DEFER DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} CALL skiff_join_microkernels)
