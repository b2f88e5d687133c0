# Which operators a build has. SKIFF_OPERATORS names a list, as `skiff size-list MODEL...` writes it; it sets:
#   SKIFF_OPERATORS_REFERENCE   operators whose reference kernels are needed
#   SKIFF_OPERATORS_<DELEGATE>  operators that a delegate runs: XNNPACK, VULKAN; APPLICATION: those of applications
#   SKIFF_OPERATORS_CONTROL     what the runtime runs itself: operators with bodies, scatters into variables
#   SKIFF_OPERATORS_F16         ON: XNNPACK's delegate computes in f16, too
#   SKIFF_VULKAN_SHADERS        shader families
#   SKIFF_FEATURES              what else the models need: names of runtime/core/features.def
# Without a list a build has everything.
#
# skiff_write_operator_table(FILE) writes the rows of ops.def that this build has: the row of an operator in none of the
# lists is left out, and one that is not in the list of the reference has no kernel. skiff_write_lowering_table(DELEGATE
# SOURCE FILE [FEATURE]) writes the rows of a delegate's table of lowerings for the operators of its list; none, where the
# build does not have the feature that they are for. skiff_write_feature_table(FILE) writes the rows of features.def that
# this build has. What no row names, the linker drops.
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

# The rows MACRO(a, b, ...) of a table, each as "a@b@...".
function(skiff_read_table file macro columns result)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} rows REGEX "^${macro}\\(")
  set(all "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "^${macro}\\( *(.*)\\)$" "\\1" row "${row}")
    string(REGEX REPLACE ", *" ";" row "${row}")
    list(LENGTH row count)
    if(NOT count EQUAL columns)
      message(FATAL_ERROR "${file}: a row of the table has ${columns} columns, not ${count}: ${row}")
    endif()
    string(REPLACE ";" "@" row "${row}")
    list(APPEND all "${row}")
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

# The names of the variables that list operators.
function(skiff_operator_lists result)
  get_cmake_property(variables VARIABLES)
  list(FILTER variables INCLUDE REGEX "^SKIFF_OPERATORS_[A-Z0-9]+$")
  list(REMOVE_ITEM variables SKIFF_OPERATORS_F16)
  set(${result} "${variables}" PARENT_SCOPE)
endfunction()

# The list has no name that the table does not have.
function(skiff_check_listed list kind source names)
  foreach(name IN LISTS ${list})
    if(NOT name IN_LIST names)
      message(FATAL_ERROR "${SKIFF_OPERATORS}: ${list} names '${name}', which is no ${kind} of ${source}")
    endif()
  endforeach()
endfunction()

function(skiff_write_operator_table file)
  set(source ${PROJECT_SOURCE_DIR}/runtime/ops/ops.def)
  skiff_read_table(${source} OP 10 rows)  # id, Name, Attrs, min_in, max_in, out, Infer, Kernel, traits, values
  skiff_operator_lists(lists)
  set(needed "")
  foreach(list IN LISTS lists)
    list(APPEND needed ${${list}})
  endforeach()
  set(text "// The rows of runtime/ops/ops.def that this build has (platforms/cmake/operators.cmake).\n")
  set(names "")
  foreach(row IN LISTS rows)
    string(REPLACE "@" ";" row "${row}")
    list(GET row 1 name)
    list(APPEND names ${name})
    if(SKIFF_OPERATORS)
      if(NOT name IN_LIST needed)
        continue()
      endif()
      if(NOT name IN_LIST SKIFF_OPERATORS_REFERENCE)
        list(REMOVE_AT row 7)
        list(INSERT row 7 None)
      endif()
    endif()
    list(JOIN row ", " row)
    string(APPEND text "OP(${row})\n")
  endforeach()
  foreach(list IN LISTS lists)
    skiff_check_listed(${list} operator ${source} "${names}")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()

function(skiff_write_feature_table file)
  set(source ${PROJECT_SOURCE_DIR}/runtime/core/features.def)
  skiff_read_table(${source} FEATURE 2 rows)  # Name, text
  set(text "// The rows of runtime/core/features.def that this build has (platforms/cmake/operators.cmake).\n")
  set(names "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "@.*" "" name "${row}")
    list(APPEND names ${name})
    if(SKIFF_OPERATORS AND NOT name IN_LIST SKIFF_FEATURES)
      continue()
    endif()
    string(REPLACE "@" ", " row "${row}")
    string(APPEND text "FEATURE(${row})\n")
  endforeach()
  if(SKIFF_OPERATORS)
    skiff_check_listed(SKIFF_FEATURES feature ${source} "${names}")
  endif()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()

function(skiff_write_lowering_table delegate source file)
  string(TOUPPER ${delegate} list)
  skiff_read_table(${source} LOWERING 2 rows)  # operator, lowering
  get_filename_component(table ${source} NAME)
  set(text "// The rows of delegates/${delegate}/${table} that this build has (platforms/cmake/operators.cmake).\n")
  if(SKIFF_OPERATORS AND ARGN AND NOT ARGN IN_LIST SKIFF_FEATURES)
    set(rows "")
  endif()
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "@.*" "" name "${row}")
    if(SKIFF_OPERATORS AND NOT name IN_LIST SKIFF_OPERATORS_${list})
      continue()
    endif()
    string(REPLACE "@" ", " row "${row}")
    string(APPEND text "LOWERING(${row})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()
