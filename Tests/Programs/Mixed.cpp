/*++

Module Name:

    Mixed.cpp

Abstract:

    One image, both conventions.  Compiled with -DMIDDLE and
    -finstrument-functions, and without and with _penter: an exception goes
    through a function of the one between functions of the other.  The
    compiler calls the exit hook of the first while it unwinds.

    The destructor of the exception is called by the C++ library for Catcher;
    the frames of Outer and Thrower are small, so that the stack pointer alone
    does not show that they are gone.

--*/

#define NOINLINE __attribute__((noinline, noclone, noipa))

int Outer(int Value);
int Middle(int Value);
int Thrower(int Value);

#ifdef MIDDLE

NOINLINE
int
Middle(
    int Value
    )
{
    return Thrower(Value) + 1;
}

#else

#include <stdlib.h>

static volatile int Seen;

struct Error {
    int Code;

    Error(int Value);
    ~Error();
};

NOINLINE
Error::Error(
    int Value
    ) : Code(Value)
{
    Seen += 1;
}

NOINLINE
Error::~Error()
{
    Seen += 1;
}

NOINLINE
int
Thrower(
    int Value
    )
{
    if (Value != 0) {
        throw Error(Value);
    }
    return 1;
}

NOINLINE
int
Outer(
    int Value
    )
{
    return Middle(Value) + 2;
}

NOINLINE
int
Catcher(
    int Value
    )
{
    try {
        return Outer(Value);
    } catch (const Error &Caught) {
        return Caught.Code;
    }
}

int
main(
    int Count,
    char **Arguments
    )
{
    int Round, Sum = 0, Rounds = Count > 1 ? atoi(Arguments[1]) : 1;

    for (Round = 0; Round < Rounds; Round += 1) {
        Sum += Catcher(Round % 3);
    }
    return Seen == 0 || Sum == 0;
}

#endif
