/*
 * Calls whose use of the stack is known: arrays, alloca, recursion, saved
 * registers, on two threads.  TestStack.py compares it with what the
 * compilers say (-fstack-usage).
 */

#include <windows.h>

#ifdef __clang__
#define NOT_INLINED __attribute__((noinline))
#else
#define NOT_INLINED __attribute__((noinline, noclone))
#endif

int volatile Sink;

NOT_INLINED
void
Touch(
    void *Bytes
    )
{
    *(char volatile *)Bytes = 1;
    Sink += 1;
}

NOT_INLINED
void
Nothing(
    void
    )
{
    Sink += 1;
}

NOT_INLINED
void
Small(
    void
    )
{
    char Bytes[100];

    Touch(Bytes);
    Sink += 1;
}

NOT_INLINED
void
Page(
    void
    )
{
    char Bytes[5000];

    Touch(Bytes);
    Sink += 1;
}

NOT_INLINED
void
Large(
    void
    )
{
    char Bytes[100000];

    Touch(Bytes + 50000);
    Sink += 1;
}

NOT_INLINED
void
LargeLeaf(
    void
    )
{
    char volatile Bytes[30000];

    Bytes[Sink & 1023] = 1;
    Sink += Bytes[0] & 1;
}

NOT_INLINED
void
Variable(
    int Size
    )
{
    char *Bytes = __builtin_alloca(Size);

    Touch(Bytes);
    Sink += 1;
}

NOT_INLINED
void
VariableLeaf(
    int Size
    )
{
    char volatile *Bytes = __builtin_alloca(Size);

    Bytes[0] = 1;
    Sink += Bytes[0];
}

NOT_INLINED
int
Many(
    int A,
    int B,
    int C,
    int D,
    int E,
    int F
    )
{
    int X = A * B;
    int Y = C * D;
    int Z = E * F;

    Touch(&X);
    Touch(&Y);
    Touch(&Z);
    return X * Y + Z * A + A + B + C + D + E + F;
}

NOT_INLINED
int
Recurse(
    int Depth
    )
{
    char Bytes[200];

    Touch(Bytes);
    if (Depth == 0) {
        return Bytes[0];
    }

    return Recurse(Depth - 1) + Bytes[0];
}

NOT_INLINED
void
Work(
    int Depth
    )
{
    Nothing();
    Small();
    Page();
    Variable(1000);
    Variable(20000);
    VariableLeaf(7000);
    Many(1, 2, 3, 4, 5, Depth);
    Recurse(Depth);
    Sink += 1;
}

static
DWORD
WINAPI
Thread(
    void *Parameter
    )
{
    Work(500);
    LargeLeaf();
    return Parameter != 0;
}

int
main(
    void
    )
{
    HANDLE Handle = CreateThread(0, 0, Thread, 0, 0, 0);

    WaitForSingleObject(Handle, INFINITE);
    Work(10);
    Large();
    return 0;
}
