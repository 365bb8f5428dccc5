//
// A DLL that calls no other.
//

static volatile int Moved;

static __attribute__((noinline)) void Move(int By)
{
    Moved += By;
}

__declspec(dllexport) int PhysicsStep(int Bodies)
{
    int Body;

    for (Body = 0; Body < Bodies; Body++) {
        Move(Body);
    }
    return Moved;
}
