//
// A program without a C runtime, for clang-cl: its image is small, and its
// names are in a PDB alone.  Recursive(20) calls Middle 20 times, and that
// Leaf 210 times.
//

typedef struct _NODE {
    struct _NODE *Next;
    int Value;
} NODE;

enum KIND { KindFirst, KindSecond, KindThird };

static NODE Nodes[8];
static volatile int Sum;

static int Leaf(NODE *Node, enum KIND Kind)
{
    Sum += (int)Kind;
    return Node->Value + (int)Kind;
}

static int Middle(int Count)
{
    int Index, Total = 0;

    for (Index = 0; Index < Count; Index++) {
        Total += Leaf(&Nodes[Index & 7], (enum KIND)(Index % 3));
    }
    return Total;
}

static int Recursive(int Count)
{
    return Count == 0 ? 0 : Middle(Count) + Recursive(Count - 1);
}

__declspec(dllimport) void __stdcall ExitProcess(unsigned int Code);

int mainCRTStartup(void)
{
    Recursive(20);
    ExitProcess(Sum == 0);
    return 0;
}
