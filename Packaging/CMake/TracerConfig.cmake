# TracerConfig.cmake
#
#     find_package(Tracer REQUIRED)
#     tracer_enable(program engine)
#
# traces two targets: their sources are compiled with hooks, and they are linked
# with the library.  With -DTRACER=OFF they only find Penter.h, which does
# nothing then.
#
#     tracer_enable(TARGET... [MODE calls|inlined] [UNTRACED])
#
# MODE calls (the default): the calls that the program makes.
# MODE inlined: functions that the compiler inlined are recorded as calls, too
#     (not with MSVC).
# UNTRACED: the same objects, with hooks that do nothing.
#
# Every EXE and DLL that is to be traced needs it, and a static library whose
# functions are to be recorded.

if(CMAKE_VERSION VERSION_LESS 3.15)
    set(Tracer_FOUND FALSE)
    set(Tracer_NOT_FOUND_MESSAGE "Tracer needs CMake 3.15 or later")
    return()
endif()

# Whatever the project has asked for.
cmake_policy(PUSH)
cmake_policy(VERSION 3.15)

include("${CMAKE_CURRENT_LIST_DIR}/TracerTargets.cmake")

if(NOT DEFINED TRACER)
    option(TRACER "Compile with hooks and link with Tracer" ON)
endif()

# The switches for one language, in a variable of the caller.
function(_tracer_switches Variable Language Mode)
    set(Id "${CMAKE_${Language}_COMPILER_ID}")
    set(Variant "${CMAKE_${Language}_COMPILER_FRONTEND_VARIANT}")
    set(Debug -g)

    if(Id STREQUAL "MSVC")
        if(Mode STREQUAL "inlined")
            message(FATAL_ERROR "tracer_enable: MODE inlined: MSVC's hooks "
                "do not see functions that were inlined")
        endif()
        set(Switches /Gh /GH)
        set(Debug /Z7)
    elseif(Id STREQUAL "GNU" AND Mode STREQUAL "calls")
        set(Switches -pg -mfentry -mfentry-name=_penter
            -minstrument-return=call -fno-optimize-sibling-calls)
    elseif(Id STREQUAL "Clang" AND Mode STREQUAL "calls")
        set(Switches -finstrument-functions-after-inlining)
    elseif(Id MATCHES "^(GNU|Clang)$")
        set(Switches -finstrument-functions)
    else()
        message(FATAL_ERROR "tracer_enable: ${Language}: the compiler ${Id} is "
            "none of MSVC, GNU and Clang")
    endif()

    if(Id STREQUAL "Clang" AND Variant STREQUAL "MSVC")
        list(TRANSFORM Switches PREPEND "/clang:")
        set(Debug /Z7)
    endif()

    # Names and lines come from it; where there is some, it stays.
    list(APPEND Switches
        "$<$<NOT:$<OR:$<CONFIG:Debug>,$<CONFIG:RelWithDebInfo>>>:${Debug}>")
    set(${Variable} "${Switches}" PARENT_SCOPE)
endfunction()

function(tracer_enable)
    cmake_parse_arguments(PARSE_ARGV 0 Given "UNTRACED" "MODE" "")
    if(NOT Given_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "tracer_enable: no target is given")
    endif()
    if(NOT DEFINED Given_MODE AND NOT Given_KEYWORDS_MISSING_VALUES)
        set(Given_MODE calls)
    endif()
    if(NOT Given_MODE MATCHES "^(calls|inlined)$")
        message(FATAL_ERROR
            "tracer_enable: MODE ${Given_MODE}: it is calls or inlined")
    endif()

    set(Library Tracer::Headers)
    if(TRACER)
        if(NOT WIN32 OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8 OR
            "${CMAKE_C_COMPILER_ARCHITECTURE_ID}${CMAKE_CXX_COMPILER_ARCHITECTURE_ID}"
            MATCHES "ARM")
            message(FATAL_ERROR "tracer_enable: Tracer is for Windows x64: "
                "use -DTRACER=OFF for other systems")
        endif()
        set(Library Tracer::Penter)
        if(Given_UNTRACED)
            set(Library Tracer::PenterNull)
        endif()
    endif()

    get_property(Enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
    foreach(Target IN LISTS Given_UNPARSED_ARGUMENTS)
        if(NOT TARGET "${Target}")
            message(FATAL_ERROR "tracer_enable: ${Target} is no target")
        endif()

        # Not target_link_libraries: a target may have used it with PRIVATE or
        # without, and must not do both.
        set_property(TARGET "${Target}" APPEND PROPERTY
            LINK_LIBRARIES ${Library})
        get_property(Kind TARGET "${Target}" PROPERTY TYPE)
        if(Kind STREQUAL "STATIC_LIBRARY")
            set_property(TARGET "${Target}" APPEND PROPERTY
                INTERFACE_LINK_LIBRARIES "$<LINK_ONLY:${Library}>")
        endif()
        if(NOT TRACER)
            continue()
        endif()

        foreach(Language IN ITEMS C CXX)
            if(Language IN_LIST Enabled)
                _tracer_switches(Switches ${Language} ${Given_MODE})
                foreach(Switch IN LISTS Switches)
                    set_property(TARGET "${Target}" APPEND PROPERTY
                        COMPILE_OPTIONS
                        "$<$<COMPILE_LANGUAGE:${Language}>:${Switch}>")
                endforeach()
            endif()
        endforeach()
    endforeach()
endfunction()

cmake_policy(POP)
