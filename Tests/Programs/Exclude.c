/*
 * A program and a DLL (EXCLUDE_DLL) for TestExclude.py.  The DLL shows the
 * bytes of two of its functions when it is loaded and before it is unloaded,
 * under the loader lock: what the hooks' calls are at these times.
 */

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif

#ifdef EXCLUDE_OTHER_BUILD
volatile int OtherBuild = 12345;
#endif

#ifdef EXCLUDE_DLL

KEEP int
DllLeaf(int x)
{
    return x * 5 + 2;
}

KEEP __declspec(dllexport) int
DllOuter(int x)
{
    int sum = 0;

    while (x > 0) {
        sum += DllLeaf(x);
        x -= 1;
    }

    return sum;
}

__attribute__((no_instrument_function)) static void
ShowBytes(const char *when, const void *function)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = function;
    char text[160];
    DWORD written;
    int index, length = 0;

    while (*when != 0) {
        text[length++] = *when++;
    }
    for (index = 0; index < 48; index++) {
        text[length++] = digits[bytes[index] >> 4];
        text[length++] = digits[bytes[index] & 15];
    }
    text[length++] = '\n';
    WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), text, length, &written, 0);
}

__attribute__((no_instrument_function)) BOOL WINAPI
DllMain(HINSTANCE instance, DWORD reason, void *reserved)
{
    (void)instance;
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH) {
        ShowBytes("attach DllLeaf ", (const void *)DllLeaf);
        ShowBytes("attach DllOuter ", (const void *)DllOuter);
    } else if (reason == DLL_PROCESS_DETACH) {
        ShowBytes("detach DllLeaf ", (const void *)DllLeaf);
        ShowBytes("detach DllOuter ", (const void *)DllOuter);
    }
    return TRUE;
}

#else

KEEP int
Leaf(int x)
{
    return x * 3 + 1;
}

static inline int
Inlined(int x)
{
    return x ^ 5;
}

KEEP int
Several(int x)
{
    if (x % 7 == 0) {
        return Leaf(x);
    }
    if (x % 5 == 0) {
        return Leaf(x) - Leaf(x + 1);
    }
    return x < 0 ? 0 : Inlined(x);
}

KEEP int
Recursive(int n)
{
    return n < 2 ? n : Recursive(n - 1) + Recursive(n - 2);
}

KEEP int
Tail(int x)
{
    return Several(x + 1);
}

KEEP void
Leave(int code)
{
    fflush(stdout);
    exit(code);
}

KEEP int
Middle(int x)
{
    return Tail(x) + Inlined(x) + Inlined(x + Leaf(x));
}

int
main(int count, char **values)
{
    int (*outer)(int);
    HMODULE module;
    int sum = 0;
    int round;
    int index;

    for (index = 0; index < 300; index++) {
        sum += Middle(index);
    }
    sum += Recursive(12);
    for (round = 0; count > 1 && round < 2; round++) {
        module = LoadLibraryA(values[1]);
        outer = (int (*)(int))(void *)GetProcAddress(module, "DllOuter");
        for (index = 0; index < 10; index++) {
            sum += outer(index);
        }
        fflush(stdout);
        FreeLibrary(module);
    }
    printf("sum %d\n", sum);
    Leave(0);
    return 1;
}

#endif
