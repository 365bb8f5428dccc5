//
// Functions for TestScreen.py: deep calls, names that are long, and names whose
// characters take two cells of a terminal or none.
//

#define NAMED(Name) extern "C" __attribute__((noinline)) void Name(int Depth)

#define WIDE \
    \u6F22\u5B57\u306E\u540D\u524D\u306F\u3053\u306E\u753B\u9762\u3067\u306F

static volatile int Sink;

template<class First, class Second> struct AStructureWithARatherLongName {
    template<class Third> __attribute__((noinline))
    static void AMemberWhoseNameIsLongToo(const First *, Second, Third Depth)
    {
        for (int Index = 0; Index < 1000 * Depth; Index++) {
            Sink += Index;
        }
    }
};

NAMED(WIDE)
{
    Sink += Depth;
}

NAMED(e\u0301te\u0301)
{
    Sink += Depth;
    WIDE(Depth);
}

NAMED(Leaf)
{
    Sink += Depth;
}

NAMED(Deep)
{
    if (Depth != 0) {
        Deep(Depth - 1);
    } else {
        e\u0301te\u0301(Depth);
    }
    Leaf(Depth);
}

//
// A tree of 2 ^ (Depth + 1) - 1 nodes.
//

static void Right(int Depth);

static __attribute__((noinline)) void Left(int Depth)
{
    Sink += Depth;
    if (Depth != 0) {
        Left(Depth - 1);
        Right(Depth - 1);
    }
}

static __attribute__((noinline)) void Right(int Depth)
{
    Sink -= Depth;
    if (Depth != 0) {
        Left(Depth - 1);
        Right(Depth - 1);
    }
}

int main(int Count, char **)
{
    if (Count > 1) {
        Left(12);
        return 0;
    }

    for (int Index = 0; Index < 3; Index++) {
        AStructureWithARatherLongName<
            AStructureWithARatherLongName<int, char>,
            unsigned long long>::AMemberWhoseNameIsLongToo(0, 1, 100L);
        Deep(7);
    }
    Deep(40);
    return 0;
}
