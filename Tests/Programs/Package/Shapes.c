//
// A static library that the program is linked with.
//

static volatile int Last;

int Area(int Side)
{
    Last = Side * Side;
    return Last;
}
