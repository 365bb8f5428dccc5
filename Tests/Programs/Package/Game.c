//
// The program of the package's test.  Frames are 20, Bodies 7; Inner is never
// a call of its own, Area is in a static library.
//

#if defined(MARKS)
#include <Penter.h>
#else
#define PenterMark(Text)
#endif

__declspec(dllimport) int EngineFrame(int Frame);
__declspec(dllimport) int PhysicsStep(int Bodies);
int Area(int Side);

static inline __attribute__((always_inline)) int Inner(int Value)
{
    return Value ^ 0x55;
}

static __attribute__((noinline)) int Tick(int Frame)
{
    return EngineFrame(Inner(Frame)) + Area(Frame);
}

int main(void)
{
    int Frame, Sum = 0;

    PenterMark("the game begins");
    for (Frame = 0; Frame < 20; Frame++) {
        Sum += Tick(Frame);
    }
    Sum += PhysicsStep(3);
    return Sum & 0x7F;
}
