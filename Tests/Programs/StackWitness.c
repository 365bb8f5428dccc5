/*++

Module Name:

    StackWitness.c

Abstract:

    Hooks of a test's own, in place of the library's: they keep the true tree of
    calls of a program with one thread, of which nothing but its hooks is known.

    At each entry the stack is walked with the system's unwinder up to the first
    frame that is one of the open calls: all calls that were entered later have
    been left.  A frame is a call's if its return address is at the same place
    and its function is the same; a part of a function that the compiler has
    moved away has the name of its function, which the file named by
    WITNESS_SYMBOLS tells (lines of RVA, space, name; by ascending RVA).

    Functions that were inlined run in the frame of another; of those the exits
    are believed, which come during unwinding, too.  One that was inlined into
    itself is told by the place of the hook's call: the first that is ever seen
    of a function is that of the function's own entry.

    WITNESS_FILE receives a line for each chain of calls: number, the caller's
    number, calls, name.

--*/

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct REGISTERS {
    ULONG64 Rbx, Rbp, Rsi, Rdi, R12, R13, R14, R15;
    ULONG64 Rip;                        // return address of the hook's call
    ULONG64 Rsp;                        // at the hook's call
    ULONG64 Function;                   // -finstrument-functions
    ULONG64 Kind;                       // TRACE_KIND_*
} REGISTERS;

typedef struct SYMBOL {
    ULONG Rva;
    ULONG Name;                         // index of the first of that name
    const char *Text;
    ULONG64 Entry;                      // return address of the hook's call at
                                        // the function's own entry; 0: unseen,
                                        // 1: what was moved away has none
} SYMBOL;

typedef struct NODE {
    struct NODE *Parent, *FirstChild, *NextSibling;
    ULONG Name;
    ULONG64 Number, Calls;
} NODE;

typedef struct CALL {
    NODE *Node;
    ULONG64 Slot;                       // where its return address is
    ULONG Physical;                     // the function that the code is in
    ULONG Function;
} CALL;

#define NO_NAME 0xFFFFFFFF

static SYMBOL *Symbols;
static ULONG NumberOfSymbols;
static CALL *Calls;
static ULONG Depth, Capacity;
static NODE Root;
static DWORD Thread;
static int IsInside, IsReady;
static ULONG64 NumberLeft, NumberLost, NumberUnmatched;

static void
Fail(
    const char *What
    )
{
    fprintf(stderr, "StackWitness: %s\n", What);
    TerminateProcess(GetCurrentProcess(), 98);
}

static ULONG
FindSymbol(
    ULONG64 Address
    )
{
    ULONG64 Rva = Address - (ULONG64)GetModuleHandleW(NULL);
    ULONG First = 0, Last = NumberOfSymbols, Middle;

    if (NumberOfSymbols == 0 || Rva < Symbols[0].Rva || Rva > 0x7FFFFFFF) {
        return NO_NAME;
    }
    while (Last - First > 1) {
        Middle = First + (Last - First) / 2;
        if (Symbols[Middle].Rva <= Rva) {
            First = Middle;
        } else {
            Last = Middle;
        }
    }
    return First;
}

static ULONG
FindName(
    ULONG64 Address
    )
{
    ULONG Symbol = FindSymbol(Address);

    return Symbol == NO_NAME ? NO_NAME : Symbols[Symbol].Name;
}

static int
CompareNames(
    const void *Left,
    const void *Right
    )
{
    const SYMBOL *One = &Symbols[*(const ULONG *)Left];
    const SYMBOL *Two = &Symbols[*(const ULONG *)Right];
    int Order = strcmp(One->Text, Two->Text);

    return Order != 0 ? Order : (One > Two) - (One < Two);
}

static void
Write(
    void
    )
{
    const char *Path = getenv("WITNESS_FILE");
    FILE *File;
    NODE *Node = &Root;
    ULONG64 Number = 0;

    IsReady = 0;
    if (Path == NULL) {
        return;
    }
    File = fopen(Path, "wb");
    if (File == NULL) {
        Fail("WITNESS_FILE cannot be written");
    }
    fprintf(File, "# left %llu lost %llu unmatched %llu\n", NumberLeft,
            NumberLost, NumberUnmatched);
    while (Node != NULL) {
        Node->Number = Number;
        Number += 1;
        if (Node != &Root) {
            fprintf(File,
                    "%llu %llu %llu %s\n",
                    Node->Number,
                    Node->Parent->Number,
                    Node->Calls,
                    Node->Name == NO_NAME ? "?" : Symbols[Node->Name].Text);
        }
        if (Node->FirstChild != NULL) {
            Node = Node->FirstChild;
            continue;
        }
        while (Node != NULL && Node->NextSibling == NULL) {
            Node = Node->Parent;
        }
        if (Node != NULL) {
            Node = Node->NextSibling;
        }
    }
    fclose(File);
}

static void __attribute__((constructor(101)))
Prepare(
    void
    )
{
    const char *Path = getenv("WITNESS_SYMBOLS");
    static char Line[65536];
    char *Text, *End;
    ULONG *Order, Index, Room = 0;
    FILE *File;

    File = Path == NULL ? NULL : fopen(Path, "rb");
    if (File == NULL) {
        Fail("WITNESS_SYMBOLS cannot be read");
    }
    while (fgets(Line, sizeof(Line), File) != NULL) {
        if (NumberOfSymbols == Room) {
            Room = Room * 2 + 1024;
            Symbols = realloc(Symbols, Room * sizeof(*Symbols));
        }
        Line[strcspn(Line, "\r\n")] = 0;
        Symbols[NumberOfSymbols].Rva = strtoul(Line, &Text, 16);
        Text += 1;
        End = strstr(Text, ".cold");
        if (End != NULL) {
            *End = 0;
        }
        Symbols[NumberOfSymbols].Entry = End != NULL;
        Symbols[NumberOfSymbols].Text = strdup(Text);
        NumberOfSymbols += 1;
    }
    fclose(File);

    Order = malloc(NumberOfSymbols * sizeof(*Order));
    for (Index = 0; Index < NumberOfSymbols; Index += 1) {
        Order[Index] = Index;
    }
    qsort(Order, NumberOfSymbols, sizeof(*Order), CompareNames);
    for (Index = 0; Index < NumberOfSymbols; Index += 1) {
        Symbols[Order[Index]].Name = Order[Index];
        if (Index != 0 && strcmp(Symbols[Order[Index]].Text,
                                 Symbols[Order[Index - 1]].Text) == 0) {
            Symbols[Order[Index]].Name = Symbols[Order[Index - 1]].Name;
        }
    }
    free(Order);
    atexit(Write);
    Thread = GetCurrentThreadId();
    IsReady = 1;
}

//
// Goes out of a frame.  Returns where its return address was; 0 at the end.
//

static ULONG64
Unwind(
    CONTEXT *Context
    )
{
    PRUNTIME_FUNCTION Function;
    ULONG64 Base, Frame;
    PVOID Data;

    Function = RtlLookupFunctionEntry(Context->Rip, &Base, NULL);
    if (Function == NULL) {
        Frame = Context->Rsp;
        Context->Rip = *(ULONG64 *)Frame;
        Context->Rsp = Frame + 8;
        return Frame;
    }
    RtlVirtualUnwind(UNW_FLAG_NHANDLER, Base, Context->Rip, Function, Context,
                     &Data, &Frame, NULL);
    return Context->Rip == 0 ? 0 : Context->Rsp - 8;
}

static void
Enter(
    const REGISTERS *Registers
    )
{
    CONTEXT Context;
    ULONG64 Slot, Next;
    ULONG Physical, Own, Name, Symbol, Index, Count, Left;
    int IsInlined;
    NODE *Parent, *Node;

    memset(&Context, 0, sizeof(Context));
    Context.Rbx = Registers->Rbx;
    Context.Rbp = Registers->Rbp;
    Context.Rsi = Registers->Rsi;
    Context.Rdi = Registers->Rdi;
    Context.R12 = Registers->R12;
    Context.R13 = Registers->R13;
    Context.R14 = Registers->R14;
    Context.R15 = Registers->R15;
    Context.Rip = Registers->Rip;
    Context.Rsp = Registers->Rsp;

    Physical = Own = FindName(Registers->Rip - 1);
    Name = Registers->Kind == 3 ? FindName(Registers->Function) : Own;
    IsInlined = Registers->Kind == 3 && Name != Own;
    if (Registers->Kind == 3 && Name == Own && Own != NO_NAME) {
        Symbol = FindSymbol(Registers->Rip - 1);
        if (Symbols[Symbol].Entry == 0) {
            Symbols[Symbol].Entry = Registers->Rip;
        }
        IsInlined = Symbols[Symbol].Entry != Registers->Rip;
    }
    Slot = Next = Unwind(&Context);
    Left = Depth;

    //
    // What was inlined into the function that is there: its open calls stay.
    //

    for (Count = 0; Next != 0 && Count < 10000; Count += 1) {
        if (Count != 0 || IsInlined) {
            for (Index = Left; Index != 0 && Calls[Index - 1].Slot < Next;
                 Index -= 1) {
            }
            Left = Index;
            if (Left == 0 || (Calls[Left - 1].Slot == Next &&
                              Calls[Left - 1].Physical == Physical)) {
                break;
            }
        }
        Physical = FindName(Context.Rip - 1);
        Next = Unwind(&Context);
    }
    if (Next == 0) {
        NumberLost += 1;
        Left = 0;
    }
    NumberLeft += Depth - Left;
    Depth = Left;

    Parent = Depth == 0 ? &Root : Calls[Depth - 1].Node;
    for (Node = Parent->FirstChild; Node != NULL && Node->Name != Name;
         Node = Node->NextSibling) {
    }
    if (Node == NULL) {
        Node = calloc(1, sizeof(*Node));
        Node->Parent = Parent;
        Node->Name = Name;
        Node->NextSibling = Parent->FirstChild;
        Parent->FirstChild = Node;
    }
    Node->Calls += 1;
    if (Depth == Capacity) {
        Capacity = Capacity * 2 + 1024;
        Calls = realloc(Calls, Capacity * sizeof(*Calls));
    }
    Calls[Depth].Node = Node;
    Calls[Depth].Slot = Slot;
    Calls[Depth].Physical = Own;
    Calls[Depth].Function = Name;
    Depth += 1;
}

static void
Leave(
    const REGISTERS *Registers
    )
{
    ULONG Name, Index;

    Name = Registers->Kind == 4 ? FindName(Registers->Function) : NO_NAME;
    for (Index = Depth; Index != 0; Index -= 1) {
        if (Name != NO_NAME ? Calls[Index - 1].Function == Name :
                              Calls[Index - 1].Slot >= Registers->Rsp) {
            break;
        }
    }
    if (Index == 0 ||
        (Name == NO_NAME && Calls[Index - 1].Slot != Registers->Rsp)) {
        NumberUnmatched += 1;
        return;
    }
    NumberLeft += Depth - Index;
    Depth = Index - 1;
}

void
StackWitnessCall(
    const REGISTERS *Registers
    )
{
    DWORD Error = GetLastError();

    if (IsReady && !IsInside) {
        if (GetCurrentThreadId() != Thread) {
            Fail("a second thread");
        }
        IsInside = 1;
        if (Registers->Kind & 1) {
            Enter(Registers);
        } else {
            Leave(Registers);
        }
        IsInside = 0;
    }
    SetLastError(Error);
}

void
_monstartup(
    void
    )
{
}

#define HOOK(Name, Kind)                                                    \
    asm(".globl " #Name "\n"                                                \
        #Name ":\n"                                                         \
        "    pushq %rbp\n"                                                  \
        "    movq %rsp, %rbp\n"                                             \
        "    subq $0x140, %rsp\n"                                           \
        "    andq $-16, %rsp\n"                                             \
        "    movq %rax, 0x20(%rsp)\n"                                       \
        "    movq %rcx, 0x28(%rsp)\n"                                       \
        "    movq %rdx, 0x30(%rsp)\n"                                       \
        "    movq %r8, 0x38(%rsp)\n"                                        \
        "    movq %r9, 0x40(%rsp)\n"                                        \
        "    movq %r10, 0x48(%rsp)\n"                                       \
        "    movq %r11, 0x50(%rsp)\n"                                       \
        "    movaps %xmm0, 0x60(%rsp)\n"                                    \
        "    movaps %xmm1, 0x70(%rsp)\n"                                    \
        "    movaps %xmm2, 0x80(%rsp)\n"                                    \
        "    movaps %xmm3, 0x90(%rsp)\n"                                    \
        "    movaps %xmm4, 0xA0(%rsp)\n"                                    \
        "    movaps %xmm5, 0xB0(%rsp)\n"                                    \
        "    movq %rbx, 0xC0(%rsp)\n"                                       \
        "    movq (%rbp), %rax\n"                                           \
        "    movq %rax, 0xC8(%rsp)\n"                                       \
        "    movq %rsi, 0xD0(%rsp)\n"                                       \
        "    movq %rdi, 0xD8(%rsp)\n"                                       \
        "    movq %r12, 0xE0(%rsp)\n"                                       \
        "    movq %r13, 0xE8(%rsp)\n"                                       \
        "    movq %r14, 0xF0(%rsp)\n"                                       \
        "    movq %r15, 0xF8(%rsp)\n"                                       \
        "    movq 8(%rbp), %rax\n"                                          \
        "    movq %rax, 0x100(%rsp)\n"                                      \
        "    leaq 16(%rbp), %rax\n"                                         \
        "    movq %rax, 0x108(%rsp)\n"                                      \
        "    movq %rcx, 0x110(%rsp)\n"                                      \
        "    movq $" #Kind ", 0x118(%rsp)\n"                                \
        "    leaq 0xC0(%rsp), %rcx\n"                                       \
        "    call StackWitnessCall\n"                                       \
        "    movq 0x20(%rsp), %rax\n"                                       \
        "    movq 0x28(%rsp), %rcx\n"                                       \
        "    movq 0x30(%rsp), %rdx\n"                                       \
        "    movq 0x38(%rsp), %r8\n"                                        \
        "    movq 0x40(%rsp), %r9\n"                                        \
        "    movq 0x48(%rsp), %r10\n"                                       \
        "    movq 0x50(%rsp), %r11\n"                                       \
        "    movaps 0x60(%rsp), %xmm0\n"                                    \
        "    movaps 0x70(%rsp), %xmm1\n"                                    \
        "    movaps 0x80(%rsp), %xmm2\n"                                    \
        "    movaps 0x90(%rsp), %xmm3\n"                                    \
        "    movaps 0xA0(%rsp), %xmm4\n"                                    \
        "    movaps 0xB0(%rsp), %xmm5\n"                                    \
        "    leave\n"                                                       \
        "    ret\n")

HOOK(_penter, 1);
HOOK(__return__, 2);
HOOK(__cyg_profile_func_enter, 3);
HOOK(__cyg_profile_func_exit, 4);
