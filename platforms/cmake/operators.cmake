# Which operators a build has. SKIFF_OPERATORS names a list, as `skiff size-list MODEL...` writes it; it sets:
#   SKIFF_OPERATORS_REFERENCE   operators whose reference kernels are needed
#   SKIFF_OPERATORS_XNNPACK     operators that XNNPACK's delegate lowers
#   SKIFF_OPERATORS_VULKAN      operators that the Vulkan delegate lowers
#   SKIFF_OPERATORS_CONTROL     operators with bodies, which the runtime runs itself
#   SKIFF_OPERATORS_F16         ON: XNNPACK's delegate computes in f16, too
#   SKIFF_VULKAN_SHADERS        shader families
# Without a list a build has everything.
#
# skiff_write_operator_table(FILE) writes the rows of ops.def that this build has: the row of an operator in none of the
# lists is left out, and a column that does not list it names nothing. What nothing names, the linker drops.
set(SKIFF_OPERATORS_F16 ON)
if(SKIFF_OPERATORS)
  if(SKIFF_BUILD_CONVERTER OR SKIFF_BUILD_TESTS)
    message(FATAL_ERROR "SKIFF_OPERATORS makes a runtime for some models; the converter and the tests need all operators. "
                        "Configure with -DSKIFF_BUILD_CONVERTER=OFF -DSKIFF_BUILD_TESTS=OFF, or the preset `minimal`.")
  endif()
  get_filename_component(skiff_operator_list ${SKIFF_OPERATORS} ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  if(NOT EXISTS ${skiff_operator_list})
    message(FATAL_ERROR "SKIFF_OPERATORS: there is no file ${skiff_operator_list}; `skiff size-list MODEL -o FILE` writes one")
  endif()
  set(SKIFF_OPERATORS_F16 OFF)
  include(${skiff_operator_list})
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${skiff_operator_list})
endif()

# In the caller's `row`: a column names nothing where its list does not name the operator.
macro(skiff_keep_column list name index nothing)
  if(NOT "${name}" IN_LIST SKIFF_OPERATORS_${list})
    list(REMOVE_AT row ${index})
    list(INSERT row ${index} ${nothing})
  endif()
endmacro()

function(skiff_write_operator_table file)
  set(source ${PROJECT_SOURCE_DIR}/runtime/ops/ops.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(STRINGS ${source} rows REGEX "^OP\\(")
  set(text "// The rows of runtime/ops/ops.def that this build has, with the columns that it has (platforms/cmake/operators.cmake).\n")
  set(names "")
  foreach(row IN LISTS rows)
    # id, Name, Attrs, min_in, max_in, out, Infer, Kernel, traits, values, XNNPACK, Vulkan
    string(REGEX REPLACE "^OP\\((.*)\\)$" "\\1" row "${row}")
    string(REGEX REPLACE ", *" ";" row "${row}")
    list(LENGTH row columns)
    if(NOT columns EQUAL 12)
      message(FATAL_ERROR "${source}: a row of the table has 12 columns, not ${columns}: ${row}")
    endif()
    list(GET row 1 name)
    list(APPEND names ${name})
    if(SKIFF_OPERATORS)
      skiff_keep_column(REFERENCE ${name} 7 None)
      skiff_keep_column(XNNPACK ${name} 10 _)
      skiff_keep_column(VULKAN ${name} 11 _)
      if("${row}" MATCHES ";None;[^;]*;[^;]*;_;_$" AND NOT name IN_LIST SKIFF_OPERATORS_CONTROL)
        continue()
      endif()
    endif()
    list(JOIN row ", " row)
    string(APPEND text "OP(${row})\n")
  endforeach()
  foreach(list REFERENCE XNNPACK VULKAN CONTROL)
    foreach(name IN LISTS SKIFF_OPERATORS_${list})
      if(NOT name IN_LIST names)
        message(FATAL_ERROR "${SKIFF_OPERATORS}: SKIFF_OPERATORS_${list} names '${name}', which is no operator of ${source}")
      endif()
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()
