/*++

Module Name:

    FlowMain.c

Abstract:

    The main program of the Flow programs, without hooks:

        Flow... [SCENARIO...]

    runs the scenarios that are named, or all, one after the other, each on a
    thread of its own, and prints what each one returns.  Only kernel32 is
    needed, so that it also serves where there is no C runtime (FLOW_NO_CRT).

--*/

#include <windows.h>
#include "Flow.h"

volatile unsigned FlowZero;
unsigned FlowDepth;

typedef struct FLOW_RUN {
    const FLOW_SCENARIO *Scenario;
    unsigned Value;
} FLOW_RUN;

PLAIN static void
Print(
    const char *Text
    )
{
    DWORD Length = 0;

    while (Text[Length] != 0) {
        Length += 1;
    }
    WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), Text, Length, &Length, NULL);
}

PLAIN static void
PrintResult(
    const char *Name,
    unsigned Value
    )
{
    char Digits[12];
    unsigned Index = sizeof(Digits) - 1;

    Digits[Index] = 0;
    Index -= 1;
    Digits[Index] = '\n';
    do {
        Index -= 1;
        Digits[Index] = (char)('0' + Value % 10);
        Value /= 10;
    } while (Value != 0);
    Print(Name);
    Print(": ");
    Print(Digits + Index);
}

//
// Whether the word Name is in Line behind its first word; *HasWords tells
// whether there is any.
//

PLAIN static int
IsNamed(
    const char *Line,
    const char *Name,
    int *HasWords
    )
{
    int IsQuoted = 0;
    unsigned Length;

    *HasWords = 0;
    while (*Line != 0 && (IsQuoted || *Line != ' ')) {
        IsQuoted ^= *Line == '"';
        Line += 1;
    }
    for (;;) {
        while (*Line == ' ') {
            Line += 1;
        }
        if (*Line == 0) {
            return 0;
        }
        *HasWords = 1;
        Length = 0;
        while (Name[Length] != 0 && Line[Length] == Name[Length]) {
            Length += 1;
        }
        if (Name[Length] == 0 &&
            (Line[Length] == 0 || Line[Length] == ' ')) {

            return 1;
        }
        while (*Line != 0 && *Line != ' ') {
            Line += 1;
        }
    }
}

PLAIN static DWORD WINAPI
RunScenario(
    void *Parameter
    )
{
    FLOW_RUN *Run = Parameter;

    Run->Value = Run->Scenario->Run();
    return 0;
}

PLAIN static int
RunAll(
    void
    )
{
    const FLOW_SCENARIO *Scenario;
    FLOW_RUN Run;
    HANDLE Thread;
    SIZE_T Size;
    int IsWanted;
    int HasWords;

    for (Scenario = FlowScenarios; Scenario->Name != NULL; Scenario += 1) {
        IsWanted = IsNamed(GetCommandLineA(), Scenario->Name, &HasWords);
        if (HasWords && !IsWanted) {
            continue;
        }
        Run.Scenario = Scenario;
        Run.Value = 0;
        Size = (SIZE_T)Scenario->StackSizeInMegabytes << 20;
        Thread = CreateThread(NULL,
                              Size,
                              RunScenario,
                              &Run,
                              STACK_SIZE_PARAM_IS_A_RESERVATION,
                              NULL);
        if (Thread == NULL) {
            Print("no thread\n");
            return 3;
        }
        WaitForSingleObject(Thread, INFINITE);
        CloseHandle(Thread);
        PrintResult(Scenario->Name, Run.Value);
    }
    return 0;
}

#ifdef FLOW_NO_CRT

PLAIN void
mainCRTStartup(
    void
    )
{
    ExitProcess((UINT)RunAll());
}

#else

PLAIN int
main(
    void
    )
{
    return RunAll();
}

#endif
