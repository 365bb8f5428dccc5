/*++

Module Name:

    RtlVersion.h

Abstract:

    The version of the products, in one place: for the programs, and for the
    resource compiler (Reader/TraceReader.rc).  Build/Package.py reads it too.

--*/

#ifndef TRACER_RTL_VERSION_H
#define TRACER_RTL_VERSION_H

#define TRACER_VERSION_MAJOR 0
#define TRACER_VERSION_MINOR 9
#define TRACER_VERSION_PATCH 0

#define TRACER_VERSION_AS_TEXT(Number) #Number
#define TRACER_VERSION_TEXT(Number) TRACER_VERSION_AS_TEXT(Number)

#define TRACER_VERSION                                                      \
    TRACER_VERSION_TEXT(TRACER_VERSION_MAJOR) "."                           \
    TRACER_VERSION_TEXT(TRACER_VERSION_MINOR) "."                           \
    TRACER_VERSION_TEXT(TRACER_VERSION_PATCH)

#endif // TRACER_RTL_VERSION_H
