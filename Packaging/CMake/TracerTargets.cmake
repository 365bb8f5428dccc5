# TracerTargets.cmake
#
# The parts of the package, found from where this file is: in the folder cmake,
# or in share/tracer (vcpkg).
#
#     Tracer::Headers         Penter.h and TraceFormat.h
#     Tracer::Penter          the library, and the define for Penter.h
#     Tracer::PenterNull      the same, with hooks that do nothing
#     Tracer::TraceReader     the program

if(TARGET Tracer::Headers)
    return()
endif()

get_filename_component(_Tracer_Folder "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)
if(NOT EXISTS "${_Tracer_Folder}/include/Penter.h")
    get_filename_component(_Tracer_Folder "${_Tracer_Folder}" DIRECTORY)
endif()

foreach(_Tracer_File IN ITEMS include/Penter.h include/TraceFormat.h
    lib/TracerPenter.lib lib/TracerPenterNull.lib)
    if(NOT EXISTS "${_Tracer_Folder}/${_Tracer_File}")
        message(FATAL_ERROR
            "Tracer: ${_Tracer_Folder}/${_Tracer_File} is missing")
    endif()
endforeach()

add_library(Tracer::Headers INTERFACE IMPORTED)
set_target_properties(Tracer::Headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_Tracer_Folder}/include")

# Microsoft's C runtime has a TLS directory, through which the hooks hear of the
# ends of threads, only where _tls_used is referenced.
set(_Tracer_Options)
set(_Tracer_Simulated "${CMAKE_C_SIMULATE_ID}${CMAKE_CXX_SIMULATE_ID}")
if(MSVC OR _Tracer_Simulated MATCHES "MSVC")
    set(_Tracer_Options LINKER:/DEBUG LINKER:/INCLUDE:_tls_used)
endif()

foreach(_Tracer_Name IN ITEMS Penter PenterNull)
    add_library(Tracer::${_Tracer_Name} STATIC IMPORTED)
    set_target_properties(Tracer::${_Tracer_Name} PROPERTIES
        IMPORTED_LOCATION "${_Tracer_Folder}/lib/Tracer${_Tracer_Name}.lib"
        INTERFACE_COMPILE_DEFINITIONS TRACER_PENTER
        INTERFACE_LINK_LIBRARIES "Tracer::Headers;kernel32"
        INTERFACE_LINK_OPTIONS "${_Tracer_Options}")
endforeach()

foreach(_Tracer_File IN ITEMS bin tools/tracer)
    if(EXISTS "${_Tracer_Folder}/${_Tracer_File}/TraceReader.exe" AND
        NOT TARGET Tracer::TraceReader)
        add_executable(Tracer::TraceReader IMPORTED)
        set_target_properties(Tracer::TraceReader PROPERTIES IMPORTED_LOCATION
            "${_Tracer_Folder}/${_Tracer_File}/TraceReader.exe")
    endif()
endforeach()

unset(_Tracer_Folder)
unset(_Tracer_File)
unset(_Tracer_Name)
unset(_Tracer_Options)
unset(_Tracer_Simulated)
