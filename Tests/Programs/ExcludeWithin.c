/*
 * For TestExclude.py: a constant whose bytes are those of a call of _penter.
 * Changing them as if they were one would change what is printed.
 */

#include <stdio.h>

#define KEEP __attribute__((noinline, noclone))

KEEP unsigned long long
Constant(void)
{
    unsigned long long value;

    __asm__ volatile(".byte 0x48, 0xB8\n\t"             /* mov rax, imm64 */
                     ".globl Within\n"
                     "Within:\n\t"
                     ".byte 0xE8\n\t"
                     ".long _penter - . - 4\n\t"
                     ".byte 0x90, 0x90, 0x90"
                     : "=a"(value));
    return value;
}

KEEP int
Other(int x)
{
    return x * 3 + 1;
}

int
main(void)
{
    int sum = 0;
    int index;

    for (index = 0; index < 20; index++) {
        sum += Other(index);
    }
    printf("%016llx %016llx %d\n", Constant(), Constant(), sum);
    return 0;
}
