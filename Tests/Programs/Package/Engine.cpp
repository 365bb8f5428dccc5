//
// A DLL in C++ that calls the other one.
//

extern "C" __declspec(dllimport) int PhysicsStep(int Bodies);

static volatile int Drawn;

static __attribute__((noinline)) void Draw(int Frame)
{
    Drawn = Drawn + Frame * 3;
}

extern "C" __declspec(dllexport) int EngineFrame(int Frame)
{
    Draw(Frame);
    Draw(Frame + 1);
    return Drawn + PhysicsStep(7);
}
