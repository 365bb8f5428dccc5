/*++

Module Name:

    KdApi.h

Abstract:

    What the debugger engine (dbgeng.dll) is to us: of each interface the
    methods that are called, at their places.  The places never change; a test
    compares them with mingw-w64's dbgeng.h.

--*/

#ifndef TRACER_KD_API_H
#define TRACER_KD_API_H

#include "../Rtl/RtlTypes.h"

#define KD_OUTPUT_NORMAL            0x1u
#define KD_OUTPUT_ERROR             0x2u
#define KD_CLASS_KERNEL             1u
#define KD_CLASS_USER               2u
#define KD_KERNEL_DUMP              1024u   // this qualifier and above
#define KD_ANY_ID                   0xFFFFFFFFu

#define KD_EXTENSION_VERSION        0x00010000u

//
// Methods that are not called stand in for their places.
//

#define KD_UNUSED(First, Last) PVOID Unused##First[(Last) - (First) + 1]

//
// What all of them begin with.
//

typedef struct _KD_UNKNOWN KD_UNKNOWN;
typedef KD_UNKNOWN *PKD_UNKNOWN;

typedef struct _KD_UNKNOWN_METHODS {
    HRESULT (WINAPI *QueryInterface)(PKD_UNKNOWN This,      // 0
                                     const GUID *InterfaceId,
                                     PVOID *Interface);
    ULONG (WINAPI *AddRef)(PKD_UNKNOWN This);               // 1
    ULONG (WINAPI *Release)(PKD_UNKNOWN This);              // 2
} KD_UNKNOWN_METHODS;

struct _KD_UNKNOWN {
    const KD_UNKNOWN_METHODS *Methods;
};

//
// IDebugControl
//

typedef struct _KD_CONTROL KD_CONTROL;
typedef KD_CONTROL *PKD_CONTROL;

typedef struct _KD_CONTROL_METHODS {
    KD_UNKNOWN_METHODS Unknown;
    HRESULT (WINAPI *GetInterrupt)(PKD_CONTROL This);       // 3
    KD_UNUSED(4, 13);
    HRESULT (WINAPIV *Output)(PKD_CONTROL This,             // 14
                              ULONG Mask,
                              PCSTR Format,
                              ...);
    KD_UNUSED(15, 33);
    HRESULT (WINAPI *GetDebuggeeType)(PKD_CONTROL This,     // 34
                                      PULONG Class,
                                      PULONG Qualifier);
    KD_UNUSED(35, 41);
    HRESULT (WINAPI *IsPointer64Bit)(PKD_CONTROL This);     // 42
} KD_CONTROL_METHODS;

struct _KD_CONTROL {
    const KD_CONTROL_METHODS *Methods;
};

//
// IDebugDataSpaces2, which begins as IDebugDataSpaces does.
//

typedef struct _KD_DATA KD_DATA;
typedef KD_DATA *PKD_DATA;

typedef struct _KD_DATA_METHODS {
    KD_UNKNOWN_METHODS Unknown;
    HRESULT (WINAPI *ReadVirtual)(PKD_DATA This,            // 3
                                  ULONGLONG Address,
                                  PVOID Buffer,
                                  ULONG SizeInBytes,
                                  PULONG BytesRead);
    KD_UNUSED(4, 27);
    HRESULT (WINAPI *QueryVirtual)(PKD_DATA This,           // 28
                                   ULONGLONG Address,
                                   PMEMORY_BASIC_INFORMATION64 Information);
} KD_DATA_METHODS;

struct _KD_DATA {
    const KD_DATA_METHODS *Methods;
};

//
// IDebugSymbols
//

typedef struct _KD_MODULE_PARAMETERS {
    ULONGLONG Base;
    ULONG Size;
    ULONG TimeDateStamp;
    ULONG Checksum;
    ULONG Flags;
    ULONG SymbolType;
    ULONG NameSizes[5];
    ULONGLONG Reserved[2];
} KD_MODULE_PARAMETERS;
typedef KD_MODULE_PARAMETERS *PKD_MODULE_PARAMETERS;
C_ASSERT(sizeof(KD_MODULE_PARAMETERS) == 64);

typedef struct _KD_SYMBOLS KD_SYMBOLS;
typedef KD_SYMBOLS *PKD_SYMBOLS;

typedef struct _KD_SYMBOLS_METHODS {
    KD_UNKNOWN_METHODS Unknown;
    KD_UNUSED(3, 6);
    HRESULT (WINAPI *GetNameByOffset)(PKD_SYMBOLS This,     // 7
                                      ULONGLONG Address,
                                      PSTR Name,
                                      ULONG NameSize,
                                      PULONG NeededSize,
                                      PULONGLONG Displacement);
    HRESULT (WINAPI *GetOffsetByName)(PKD_SYMBOLS This,     // 8
                                      PCSTR Name,
                                      PULONGLONG Address);
    KD_UNUSED(9, 11);
    HRESULT (WINAPI *GetNumberModules)(PKD_SYMBOLS This,    // 12
                                       PULONG Loaded,
                                       PULONG Unloaded);
    HRESULT (WINAPI *GetModuleByIndex)(PKD_SYMBOLS This,    // 13
                                       ULONG Index,
                                       PULONGLONG Base);
    HRESULT (WINAPI *GetModuleByModuleName)(PKD_SYMBOLS This,   // 14
                                            PCSTR Name,
                                            ULONG StartIndex,
                                            PULONG Index,
                                            PULONGLONG Base);
    HRESULT (WINAPI *GetModuleByOffset)(PKD_SYMBOLS This,   // 15
                                        ULONGLONG Address,
                                        ULONG StartIndex,
                                        PULONG Index,
                                        PULONGLONG Base);
    HRESULT (WINAPI *GetModuleNames)(PKD_SYMBOLS This,      // 16
                                     ULONG Index,
                                     ULONGLONG Base,
                                     PSTR ImageName,
                                     ULONG ImageNameSize,
                                     PULONG ImageNameNeeded,
                                     PSTR ModuleName,
                                     ULONG ModuleNameSize,
                                     PULONG ModuleNameNeeded,
                                     PSTR LoadedName,
                                     ULONG LoadedNameSize,
                                     PULONG LoadedNameNeeded);
    HRESULT (WINAPI *GetModuleParameters)(PKD_SYMBOLS This, // 17
                                          ULONG Count,
                                          PULONGLONG Bases,
                                          ULONG Start,
                                          PKD_MODULE_PARAMETERS Parameters);
} KD_SYMBOLS_METHODS;

struct _KD_SYMBOLS {
    const KD_SYMBOLS_METHODS *Methods;
};

//
// IDebugSystemObjects
//

typedef struct _KD_SYSTEM KD_SYSTEM;
typedef KD_SYSTEM *PKD_SYSTEM;

typedef struct _KD_SYSTEM_METHODS {
    KD_UNKNOWN_METHODS Unknown;
    KD_UNUSED(3, 4);
    HRESULT (WINAPI *GetCurrentThreadId)(PKD_SYSTEM This,   // 5
                                         PULONG Id);
    HRESULT (WINAPI *SetCurrentThreadId)(PKD_SYSTEM This,   // 6
                                         ULONG Id);
    KD_UNUSED(7, 8);
    HRESULT (WINAPI *GetNumberThreads)(PKD_SYSTEM This,     // 9
                                       PULONG Number);
    KD_UNUSED(10, 10);
    HRESULT (WINAPI *GetThreadIdsByIndex)(PKD_SYSTEM This,  // 11
                                          ULONG Start,
                                          ULONG Count,
                                          PULONG Ids,
                                          PULONG SystemIds);
    KD_UNUSED(12, 14);
    HRESULT (WINAPI *GetCurrentThreadTeb)(PKD_SYSTEM This,  // 15
                                          PULONGLONG Teb);
    KD_UNUSED(16, 16);
    HRESULT (WINAPI *GetCurrentThreadSystemId)(PKD_SYSTEM This, // 17
                                               PULONG SystemId);
    KD_UNUSED(18, 26);
    HRESULT (WINAPI *GetCurrentProcessSystemId)(PKD_SYSTEM This,    // 27
                                                PULONG SystemId);
} KD_SYSTEM_METHODS;

struct _KD_SYSTEM {
    const KD_SYSTEM_METHODS *Methods;
};

#define KD_METHOD_PLACE(Type, Method) \
    (FIELD_OFFSET(Type, Method) / sizeof(PVOID))

C_ASSERT(KD_METHOD_PLACE(KD_CONTROL_METHODS, Output) == 14);
C_ASSERT(KD_METHOD_PLACE(KD_CONTROL_METHODS, GetDebuggeeType) == 34);
C_ASSERT(KD_METHOD_PLACE(KD_CONTROL_METHODS, IsPointer64Bit) == 42);
C_ASSERT(KD_METHOD_PLACE(KD_DATA_METHODS, QueryVirtual) == 28);
C_ASSERT(KD_METHOD_PLACE(KD_SYMBOLS_METHODS, GetModuleParameters) == 17);
C_ASSERT(KD_METHOD_PLACE(KD_SYSTEM_METHODS, GetCurrentProcessSystemId) == 27);

#endif // TRACER_KD_API_H
