/*++

Module Name:

    Sample.c

Abstract:

    A program to trace.  Each of its threads does the same kinds of work on
    numbers of its own: it sorts through a comparison pointer, builds and
    walks a tree, evaluates expressions with a recursive parser that leaves
    errors by longjmp, and calls small functions through a table.

    The work depends on the first two arguments alone, so that the number of
    calls of every function is the same in every run.  The third is how many
    milliseconds a thread sleeps after each iteration (0).

    usage: Sample [threads [iterations [pause]]]

    It uses the C library and the threads of kernel32; it is not linked with
    anything of Tracer unless the build says so.

--*/

#include <windows.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_MAXIMUM_THREADS 64
#define SAMPLE_NUMBERS 64
#define SAMPLE_TEXT_SIZE 96

typedef struct _SAMPLE_NODE {
    struct _SAMPLE_NODE *Left;
    struct _SAMPLE_NODE *Right;
    unsigned Key;
    unsigned Count;
} SAMPLE_NODE;

typedef struct _SAMPLE_PARSER {
    const char *Next;
    unsigned Depth;
    jmp_buf OnError;
} SAMPLE_PARSER;

typedef struct _SAMPLE_WORKER {
    HANDLE Thread;
    unsigned Index;
    unsigned Iterations;
    unsigned Pause;
    unsigned Random;
    unsigned Checksum;
    unsigned Errors;
    SAMPLE_NODE *Free;
    SAMPLE_NODE Nodes[SAMPLE_NUMBERS];
    unsigned Numbers[SAMPLE_NUMBERS];
    char Text[SAMPLE_TEXT_SIZE];
} SAMPLE_WORKER;

typedef int SAMPLE_COMPARE(unsigned Left, unsigned Right);
typedef unsigned SAMPLE_OPERATION(unsigned Value, unsigned Operand);

//
// A linear congruential generator: the same numbers everywhere.
//

static unsigned
WorkerNextRandom(
    SAMPLE_WORKER *Worker
    )
{
    Worker->Random = Worker->Random * 1664525u + 1013904223u;
    return Worker->Random >> 8;
}

//
// Sorting through a function pointer.
//

static int
CompareAscending(
    unsigned Left,
    unsigned Right
    )
{
    return (Left > Right) - (Left < Right);
}

static int
CompareDescending(
    unsigned Left,
    unsigned Right
    )
{
    return CompareAscending(Right, Left);
}

static void
SortSwap(
    unsigned *Left,
    unsigned *Right
    )
{
    unsigned Value = *Left;

    *Left = *Right;
    *Right = Value;
}

static void
SortRange(
    unsigned *Numbers,
    int First,
    int Last,
    SAMPLE_COMPARE *Compare
    )
{
    int Low = First;
    int High = Last;
    unsigned Pivot;

    if (First >= Last) {
        return;
    }

    Pivot = Numbers[First + (Last - First) / 2];
    while (Low <= High) {
        while (Compare(Numbers[Low], Pivot) < 0) {
            Low += 1;
        }
        while (Compare(Numbers[High], Pivot) > 0) {
            High -= 1;
        }
        if (Low <= High) {
            SortSwap(&Numbers[Low], &Numbers[High]);
            Low += 1;
            High -= 1;
        }
    }

    SortRange(Numbers, First, High, Compare);
    SortRange(Numbers, Low, Last, Compare);
}

//
// A binary tree of the numbers.
//

static SAMPLE_NODE *
TreeInsert(
    SAMPLE_WORKER *Worker,
    SAMPLE_NODE *Node,
    unsigned Key
    )
{
    if (Node == NULL) {
        Node = Worker->Free;
        Worker->Free += 1;
        Node->Left = NULL;
        Node->Right = NULL;
        Node->Key = Key;
        Node->Count = 1;
    } else if (Key == Node->Key) {
        Node->Count += 1;
    } else if (Key < Node->Key) {
        Node->Left = TreeInsert(Worker, Node->Left, Key);
    } else {
        Node->Right = TreeInsert(Worker, Node->Right, Key);
    }
    return Node;
}

static unsigned
TreeSum(
    const SAMPLE_NODE *Node
    )
{
    if (Node == NULL) {
        return 0;
    }
    return TreeSum(Node->Left) * 3 + Node->Key * Node->Count +
           TreeSum(Node->Right);
}

//
// A parser for sums, products and parentheses.  A letter is an error; it is
// left by longjmp, so that the frames between never return.
//

static unsigned
ParserReadSum(
    SAMPLE_PARSER *Parser
    );

static void
ParserFail(
    SAMPLE_PARSER *Parser
    )
{
    longjmp(Parser->OnError, 1);
}

static unsigned
ParserReadNumber(
    SAMPLE_PARSER *Parser
    )
{
    unsigned Value = 0;

    if (*Parser->Next < '0' || *Parser->Next > '9') {
        ParserFail(Parser);
    }
    while (*Parser->Next >= '0' && *Parser->Next <= '9') {
        Value = Value * 10 + (unsigned)(*Parser->Next - '0');
        Parser->Next += 1;
    }
    return Value;
}

static unsigned
ParserReadFactor(
    SAMPLE_PARSER *Parser
    )
{
    unsigned Value;

    if (*Parser->Next != '(') {
        return ParserReadNumber(Parser);
    }
    Parser->Next += 1;
    Parser->Depth += 1;
    Value = ParserReadSum(Parser);
    if (*Parser->Next == ')') {
        Parser->Next += 1;
    }
    Parser->Depth -= 1;
    return Value;
}

static unsigned
ParserReadProduct(
    SAMPLE_PARSER *Parser
    )
{
    unsigned Value = ParserReadFactor(Parser);

    while (*Parser->Next == '*') {
        Parser->Next += 1;
        Value *= ParserReadFactor(Parser);
    }
    return Value;
}

static unsigned
ParserReadSum(
    SAMPLE_PARSER *Parser
    )
{
    unsigned Value = ParserReadProduct(Parser);

    while (*Parser->Next == '+') {
        Parser->Next += 1;
        Value += ParserReadProduct(Parser);
    }
    return Value;
}

static int
ParserEvaluate(
    const char *Text,
    unsigned *Value
    )
{
    SAMPLE_PARSER Parser;

    Parser.Next = Text;
    Parser.Depth = 0;
    if (setjmp(Parser.OnError) != 0) {
        return 0;
    }
    *Value = ParserReadSum(&Parser);
    return 1;
}

//
// Small functions, called through a table.
//

static unsigned
OperationAdd(
    unsigned Value,
    unsigned Operand
    )
{
    return Value + Operand;
}

static unsigned
OperationMix(
    unsigned Value,
    unsigned Operand
    )
{
    return (Value ^ Operand) * 16777619u;
}

static unsigned
OperationRotate(
    unsigned Value,
    unsigned Operand
    )
{
    Operand = Operand % 31 + 1;
    return (Value << Operand) | (Value >> (32 - Operand));
}

static unsigned
OperationFibonacci(
    unsigned Value,
    unsigned Operand
    )
{
    if (Operand % 16 < 2) {
        return Value + Operand % 16;
    }
    return OperationFibonacci(Value, Operand % 16 - 1) +
           OperationFibonacci(Value, Operand % 16 - 2);
}

static SAMPLE_OPERATION *const SampleOperations[] = {
    OperationAdd,
    OperationMix,
    OperationRotate,
    OperationFibonacci
};

//
// One iteration: a step of each kind.  The copy is on the stack, with a size
// that differs from call to call.
//

static void
WorkerSort(
    SAMPLE_WORKER *Worker,
    unsigned NumberOfNumbers
    )
{
    unsigned *Copy = (unsigned *)_alloca(NumberOfNumbers * sizeof(*Copy));

    memcpy(Copy, Worker->Numbers, NumberOfNumbers * sizeof(*Copy));
    SortRange(Copy, 0, (int)NumberOfNumbers - 1, CompareAscending);
    Worker->Checksum += Copy[NumberOfNumbers / 2];
    SortRange(Copy, 0, (int)NumberOfNumbers - 1, CompareDescending);
    Worker->Checksum ^= Copy[NumberOfNumbers / 4];
}

static void
WorkerParse(
    SAMPLE_WORKER *Worker,
    unsigned Iteration
    )
{
    unsigned Value = 0;

    snprintf(Worker->Text,
             sizeof(Worker->Text),
             "%u*(%u+%u*(%u+7))+%u%s",
             Worker->Numbers[0],
             Worker->Numbers[1],
             Worker->Numbers[2],
             Worker->Numbers[3],
             Iteration,
             (Iteration % 5 == 4) ? "+(1+(2*x))" : "");

    if (!ParserEvaluate(Worker->Text, &Value)) {
        Worker->Errors += 1;
    }
    Worker->Checksum += Value;
}

static void
WorkerIterate(
    SAMPLE_WORKER *Worker,
    unsigned Iteration
    )
{
    SAMPLE_NODE *Root = NULL;
    unsigned Index;

    for (Index = 0; Index < SAMPLE_NUMBERS; Index += 1) {
        Worker->Numbers[Index] = WorkerNextRandom(Worker) % 1000;
    }

    WorkerSort(Worker, SAMPLE_NUMBERS / 2 + Iteration % (SAMPLE_NUMBERS / 2));
    WorkerParse(Worker, Iteration);

    Worker->Free = Worker->Nodes;
    for (Index = 0; Index < SAMPLE_NUMBERS; Index += 1) {
        Root = TreeInsert(Worker, Root, Worker->Numbers[Index]);
    }
    Worker->Checksum += TreeSum(Root);

    for (Index = 0; Index < SAMPLE_NUMBERS; Index += 1) {
        Worker->Checksum =
            SampleOperations[Worker->Numbers[Index] % 4](
                Worker->Checksum,
                Worker->Numbers[Index]);
    }
}

static DWORD WINAPI
WorkerMain(
    LPVOID Parameter
    )
{
    SAMPLE_WORKER *Worker = (SAMPLE_WORKER *)Parameter;
    unsigned Iteration;

    //
    // Each thread does a little more than the one before it.
    //

    for (Iteration = 0;
         Iteration < Worker->Iterations + Worker->Index;
         Iteration += 1) {
        WorkerIterate(Worker, Iteration);
        if (Worker->Pause != 0) {
            Sleep(Worker->Pause);
        }
    }
    return 0;
}

int
main(
    int NumberOfArguments,
    char **Arguments
    )
{
    unsigned NumberOfThreads = 4;
    unsigned Iterations = 100;
    unsigned Pause = 0;
    unsigned Checksum = 0;
    unsigned Errors = 0;
    unsigned Index;
    SAMPLE_WORKER *Workers;

    if (NumberOfArguments > 1) {
        NumberOfThreads = (unsigned)strtoul(Arguments[1], NULL, 10);
    }
    if (NumberOfArguments > 2) {
        Iterations = (unsigned)strtoul(Arguments[2], NULL, 10);
    }
    if (NumberOfArguments > 3) {
        Pause = (unsigned)strtoul(Arguments[3], NULL, 10);
    }
    if (NumberOfThreads == 0 || NumberOfThreads > SAMPLE_MAXIMUM_THREADS) {
        fprintf(stderr, "Sample: 1 to %d threads\n", SAMPLE_MAXIMUM_THREADS);
        return 2;
    }

    Workers = (SAMPLE_WORKER *)calloc(NumberOfThreads, sizeof(*Workers));
    if (Workers == NULL) {
        fprintf(stderr, "Sample: out of memory\n");
        return 1;
    }

    for (Index = 0; Index < NumberOfThreads; Index += 1) {
        Workers[Index].Index = Index;
        Workers[Index].Iterations = Iterations;
        Workers[Index].Pause = Pause;
        Workers[Index].Random = Index + 1;
        Workers[Index].Thread =
            CreateThread(NULL, 0, WorkerMain, &Workers[Index], 0, NULL);
        if (Workers[Index].Thread == NULL) {
            fprintf(stderr,
                    "Sample: CreateThread: error %lu\n",
                    GetLastError());
            return 1;
        }
    }

    for (Index = 0; Index < NumberOfThreads; Index += 1) {
        WaitForSingleObject(Workers[Index].Thread, INFINITE);
        CloseHandle(Workers[Index].Thread);
        Checksum = Checksum * 31 + Workers[Index].Checksum;
        Errors += Workers[Index].Errors;
    }

    printf("threads %u, iterations %u, errors %u, checksum %08x\n",
           NumberOfThreads,
           Iterations,
           Errors,
           Checksum);
    free(Workers);
    return 0;
}
