/*++

Module Name:

    RtlVersion.h

Abstract:

    The version of the products, in one place.

--*/

#ifndef TRACER_RTL_VERSION_H
#define TRACER_RTL_VERSION_H

#define TRACER_VERSION "0.9.0"

#endif // TRACER_RTL_VERSION_H
