# skiff_auto_option(NAME TEXT FOUND): an option that is AUTO until somebody says ON or OFF. AUTO is FOUND, what has just been found on
# this machine; it is not kept, so that what is installed later is found by the next configuration.
macro(skiff_auto_option name text found)
  set(${name} AUTO CACHE STRING "${text}")
  set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
  if("${${name}}" STREQUAL "AUTO")
    set(${name} ${found})
  endif()
endmacro()
