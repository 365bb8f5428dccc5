/*++

Module Name:

    DriverLoader.c

Abstract:

    Installs, starts, uses, stops and removes a test driver, and copies the
    section of TracerPenterKernel.lib (Tests/Library/DriverSupport.py).

        DriverLoader NAME STEP...

            install=PATH        makes the service
            set=VALUE:NUMBER    a REG_DWORD in its Parameters
            text=VALUE:TEXT     a REG_SZ there
            unset=VALUE
            start, stop, remove
            work=THREADS:REQUESTS:ROUNDS
            counts              prints the driver's counters
            pause, resume, leave
            dump=FILE           copies the section
            open=ACCESS         prints the status of opening it
            map                 maps the section, and keeps it
            write=FILE          copies what was mapped, and unmaps it
            hold                keeps a handle of the section from here on
            cycle=COUNT         start, work, dump to nowhere, stop

    A step that fails is printed with its error, and ends the program.

--*/

#include <windows.h>
#include <winternl.h>
#include <winioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL(N) CTL_CODE(FILE_DEVICE_UNKNOWN, N, METHOD_BUFFERED, \
                            FILE_ANY_ACCESS)
#define NUMBER_OF_COUNTS 15

NTSTATUS NTAPI NtOpenSection(PHANDLE, ACCESS_MASK, POBJECT_ATTRIBUTES);
NTSTATUS NTAPI NtMapViewOfSection(HANDLE, HANDLE, PVOID *, ULONG_PTR, SIZE_T,
                                  PLARGE_INTEGER, PSIZE_T, ULONG, ULONG,
                                  ULONG);
NTSTATUS NTAPI NtUnmapViewOfSection(HANDLE, PVOID);

static const char *Name;
static SC_HANDLE Manager;

typedef struct {
    int Requests;
    ULONG64 Rounds;
    int Failed;
} WORK;

static int
Fail(const char *Step, DWORD Error)
{
    printf("failed: %s: %lu\n", Step, (unsigned long)Error);
    return 0;
}

static SC_HANDLE
OpenIt(void)
{
    return OpenServiceA(Manager, Name, SERVICE_ALL_ACCESS);
}

static int
WaitFor(SC_HANDLE Service, DWORD State)
{
    SERVICE_STATUS Status;
    int Try;

    for (Try = 0; Try < 6000; Try++) {
        if (!QueryServiceStatus(Service, &Status)) {
            return Fail("query", GetLastError());
        }
        if (Status.dwCurrentState == State) {
            return 1;
        }
        Sleep(10);
    }
    return Fail("state", Status.dwCurrentState);
}

static SC_HANDLE
Create(const char *Path)
{
    return CreateServiceA(Manager, Name, Name, SERVICE_ALL_ACCESS,
                          SERVICE_KERNEL_DRIVER, SERVICE_DEMAND_START,
                          SERVICE_ERROR_NORMAL, Path, NULL, NULL, NULL, NULL,
                          NULL);
}

static int
Install(const char *Path)
{
    SERVICE_STATUS Status;
    SC_HANDLE Service = Create(Path);

    if (Service == NULL && GetLastError() == ERROR_SERVICE_EXISTS) {

        /* A test that was ended has left it. */

        Service = OpenIt();
        ControlService(Service, SERVICE_CONTROL_STOP, &Status);
        WaitFor(Service, SERVICE_STOPPED);
        DeleteService(Service);
        CloseServiceHandle(Service);
        Service = Create(Path);
    }
    if (Service == NULL) {
        return Fail("install", GetLastError());
    }
    CloseServiceHandle(Service);
    return 1;
}

static int
Set(char *Value, DWORD Type, int Delete)
{
    char Key[256];
    char *Data = strchr(Value, ':');
    DWORD Number;
    HKEY Handle;
    LONG Error;

    if (Data != NULL) {
        *Data++ = 0;
    }
    snprintf(Key, sizeof(Key),
             "System\\CurrentControlSet\\Services\\%s\\Parameters", Name);
    Error = RegCreateKeyExA(HKEY_LOCAL_MACHINE, Key, 0, NULL, 0, KEY_ALL_ACCESS,
                            NULL, &Handle, NULL);
    if (Error != 0) {
        return Fail("set", Error);
    }
    if (Delete) {
        RegDeleteValueA(Handle, Value);
    } else if (Type == REG_DWORD) {
        Number = strtoul(Data, NULL, 0);
        Error = RegSetValueExA(Handle, Value, 0, REG_DWORD, (BYTE *)&Number, 4);
    } else {
        Error = RegSetValueExA(Handle, Value, 0, REG_SZ, (BYTE *)Data,
                               strlen(Data) + 1);
    }
    RegCloseKey(Handle);
    return Error == 0 ? 1 : Fail("set", Error);
}

static int
Start(void)
{
    SC_HANDLE Service = OpenIt();
    int Done;

    if (Service == NULL || !StartServiceA(Service, 0, NULL)) {
        return Fail("start", GetLastError());
    }
    Done = WaitFor(Service, SERVICE_RUNNING);
    CloseServiceHandle(Service);
    return Done;
}

static int
Stop(void)
{
    SERVICE_STATUS Status;
    SC_HANDLE Service = OpenIt();
    int Done;

    if (Service == NULL ||
        !ControlService(Service, SERVICE_CONTROL_STOP, &Status)) {
        return Fail("stop", GetLastError());
    }
    Done = WaitFor(Service, SERVICE_STOPPED);
    CloseServiceHandle(Service);
    return Done;
}

static int
Remove(void)
{
    SC_HANDLE Service = OpenIt();

    if (Service == NULL || !DeleteService(Service)) {
        return Fail("remove", GetLastError());
    }
    CloseServiceHandle(Service);
    return 1;
}

static HANDLE
OpenDevice(void)
{
    char Path[256];

    snprintf(Path, sizeof(Path), "\\\\.\\%s", Name);
    return CreateFileA(Path, GENERIC_READ | GENERIC_WRITE, 0, NULL,
                       OPEN_EXISTING, 0, NULL);
}

static DWORD WINAPI
Worker(void *Parameter)
{
    WORK *Work = Parameter;
    HANDLE Device = OpenDevice();
    ULONG64 Rounds = Work->Rounds;
    DWORD Size;
    int Index;

    if (Device == INVALID_HANDLE_VALUE) {
        Work->Failed = (int)GetLastError();
        return 1;
    }
    for (Index = 0; Index < Work->Requests; Index++) {
        if (!DeviceIoControl(Device, CONTROL(0x801), &Rounds, 8, NULL, 0, &Size,
                             NULL)) {
            Work->Failed = (int)GetLastError();
        }
    }
    CloseHandle(Device);
    return 0;
}

static int
DoWork(const char *Text)
{
    HANDLE Threads[32];
    WORK Work[32];
    int Count = 1, Requests = 1, Rounds = 1, Index, Failed = 0;

    sscanf(Text, "%d:%d:%d", &Count, &Requests, &Rounds);
    for (Index = 0; Index < Count && Index < 32; Index++) {
        Work[Index].Requests = Requests;
        Work[Index].Rounds = (ULONG64)Rounds;
        Work[Index].Failed = 0;
        Threads[Index] = CreateThread(NULL, 0, Worker, &Work[Index], 0, NULL);
    }
    for (Index = 0; Index < Count && Index < 32; Index++) {
        WaitForSingleObject(Threads[Index], INFINITE);
        CloseHandle(Threads[Index]);
        if (Work[Index].Failed) {
            Failed = Work[Index].Failed;
        }
    }
    return Failed ? Fail("work", Failed) : 1;
}

static int
Control(DWORD Code, int Prints)
{
    ULONG64 Counts[NUMBER_OF_COUNTS];
    HANDLE Device = OpenDevice();
    DWORD Size = 0, Index;

    if (Device == INVALID_HANDLE_VALUE ||
        !DeviceIoControl(Device, Code, NULL, 0, Counts, sizeof(Counts), &Size,
                         NULL)) {
        return Fail("control", GetLastError());
    }
    CloseHandle(Device);
    if (Prints) {
        printf("counts");
        for (Index = 0; Index < Size / 8; Index++) {
            printf(" %llu", (unsigned long long)Counts[Index]);
        }
        printf("\n");
    }
    return 1;
}

static NTSTATUS
OpenSection(HANDLE *Section, ACCESS_MASK Access)
{
    WCHAR Path[256];
    UNICODE_STRING String;
    OBJECT_ATTRIBUTES Attributes;

    swprintf(Path, 256, L"\\BaseNamedObjects\\TracerKernel.%hs", Name);
    RtlInitUnicodeString(&String, Path);
    InitializeObjectAttributes(&Attributes, &String, OBJ_CASE_INSENSITIVE, NULL,
                               NULL);
    return NtOpenSection(Section, Access, &Attributes);
}

static void *Base;

static int
Map(void)
{
    HANDLE Section;
    SIZE_T Size = 0;
    NTSTATUS Status;

    Base = NULL;
    Status = OpenSection(&Section, SECTION_MAP_READ | SECTION_QUERY);
    if (Status != 0) {
        return Fail("section", Status);
    }
    Status = NtMapViewOfSection(Section, GetCurrentProcess(), &Base, 0, 0, NULL,
                                &Size, 2, 0, PAGE_READONLY);
    NtClose(Section);
    return Status == 0 ? 1 : Fail("view", Status);
}

static int
Write(const char *Path)
{
    FILE *File;
    SIZE_T Size;
    int Done = 1;

    Size = *(ULONG64 *)((char *)Base + 16);
    if (strcmp(Path, "-") != 0) {
        File = fopen(Path, "wb");
        if (File == NULL || fwrite(Base, 1, Size, File) != Size) {
            Done = Fail("write", 0);
        }
        if (File != NULL) {
            fclose(File);
        }
    }
    NtUnmapViewOfSection(GetCurrentProcess(), Base);
    return Done;
}

static int
Cycle(int Count)
{
    int Index;

    for (Index = 0; Index < Count; Index++) {
        if (!Start() || !DoWork("2:2:20") || !Map() || !Write("-") || !Stop()) {
            printf("cycle %d\n", Index);
            return 0;
        }
    }
    printf("cycles %d\n", Count);
    return 1;
}

static int
Step(char *Text)
{
    char *Value = strchr(Text, '=');
    HANDLE Section;

    if (Value != NULL) {
        *Value++ = 0;
    }
    if (!strcmp(Text, "install")) return Install(Value);
    if (!strcmp(Text, "set")) return Set(Value, REG_DWORD, 0);
    if (!strcmp(Text, "text")) return Set(Value, REG_SZ, 0);
    if (!strcmp(Text, "unset")) return Set(Value, 0, 1);
    if (!strcmp(Text, "start")) return Start();
    if (!strcmp(Text, "stop")) return Stop();
    if (!strcmp(Text, "remove")) return Remove();
    if (!strcmp(Text, "work")) return DoWork(Value);
    if (!strcmp(Text, "counts")) return Control(CONTROL(0x802), 1);
    if (!strcmp(Text, "pause")) return Control(CONTROL(0x803), 0);
    if (!strcmp(Text, "resume")) return Control(CONTROL(0x804), 0);
    if (!strcmp(Text, "leave")) return Control(CONTROL(0x805), 0);
    if (!strcmp(Text, "dump")) return Map() && Write(Value);
    if (!strcmp(Text, "map")) return Map();
    if (!strcmp(Text, "write")) return Write(Value);
    if (!strcmp(Text, "cycle")) return Cycle(atoi(Value));
    if (!strcmp(Text, "hold")) {
        return OpenSection(&Section, SECTION_MAP_READ) == 0;
    }
    if (!strcmp(Text, "open")) {
        Section = NULL;
        printf("open %08lx\n", (unsigned long)OpenSection(
                   &Section, strtoul(Value, NULL, 0)));
        if (Section != NULL) {
            NtClose(Section);
        }
        return 1;
    }
    return Fail(Text, 0);
}

int
main(int argc, char **argv)
{
    int Index;

    Name = argv[1];
    Manager = OpenSCManagerA(NULL, NULL, SC_MANAGER_ALL_ACCESS);
    if (Manager == NULL) {
        return !Fail("manager", GetLastError());
    }
    for (Index = 2; Index < argc; Index++) {
        if (!Step(argv[Index])) {
            fflush(stdout);
            return 1;
        }
    }
    fflush(stdout);
    return 0;
}
