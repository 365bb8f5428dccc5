# TracerConfigVersion.cmake
#
# Versions with the same first number go together, and before 1.0 those with
# the same first two.

set(PACKAGE_VERSION "@VERSION@")
set(_Tracer_Compatible "@COMPATIBLE@")

set(PACKAGE_VERSION_COMPATIBLE FALSE)
if("${PACKAGE_FIND_VERSION}" STREQUAL "")
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
elseif(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION AND
    NOT PACKAGE_FIND_VERSION VERSION_LESS _Tracer_Compatible)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if("${PACKAGE_FIND_VERSION}" VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
unset(_Tracer_Compatible)

# The library is for x64 only; without a language the size is not known.
if(NOT "${CMAKE_SIZEOF_VOID_P}" MATCHES "^8?$")
    set(PACKAGE_VERSION "${PACKAGE_VERSION} (64-bit)")
    set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
