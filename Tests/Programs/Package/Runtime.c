//
// In place of Microsoft's C runtime, which is not here: where a program and a
// DLL begin, and the TLS directory that _tls_used asks for.
//

__declspec(dllimport) void ExitProcess(unsigned int Code);
int main(void);

#pragma section(".CRT$XLA", read)
#pragma section(".CRT$XLZ", read)
#pragma section(".tls", read, write)
#pragma section(".tls$ZZZ", read, write)

__declspec(allocate(".CRT$XLA")) void *const FirstCallback = 0;
__declspec(allocate(".CRT$XLZ")) void *const LastCallback = 0;
__declspec(allocate(".tls")) char FirstByte = 0;
__declspec(allocate(".tls$ZZZ")) char LastByte = 0;
unsigned long _tls_index;

const struct {
    void *First;
    void *Last;
    void *Index;
    void *const *Callbacks;
    unsigned long Zeroes;
    unsigned long Flags;
} _tls_used = {
    &FirstByte, &LastByte, &_tls_index, &FirstCallback + 1, 0, 0
};

#ifdef PROGRAM

__attribute__((no_instrument_function)) void Start(void)
{
    ExitProcess(main());
}

#else

__attribute__((no_instrument_function)) int Start(
    void *Module,
    unsigned long Reason,
    void *Reserved
    )
{
    (void)Module;
    (void)Reason;
    (void)Reserved;
    return 1;
}

#endif
