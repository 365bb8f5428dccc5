/*
 * What a call of a small function costs, in thousandths of a nanosecond, with
 * and without hooks: BenchExclude.sh builds this with hooks and without.
 *
 * Two leaves are called in turn batch by batch.  With hooks, one of them is
 * never instrumented, and the other is: the difference of their medians is
 * what instrumentation costs a call.
 */

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#define BATCHES 401
#define CALLS 20000

__attribute__((noinline, noclone, no_instrument_function)) int
Plain(int x)
{
    __asm__ volatile("");
    return x * 3 + 1;
}

__attribute__((noinline, noclone)) int
Listed(int x)
{
    __asm__ volatile("");
    return x * 3 + 1;
}

__attribute__((no_instrument_function)) static int
Compare(const void *first, const void *second)
{
    double one = *(const double *)first, other = *(const double *)second;

    return (one > other) - (one < other);
}

__attribute__((noinline, no_instrument_function)) static double
Measure(int (*leaf)(int), int *sum)
{
    LARGE_INTEGER begin, end, rate;
    int index;

    QueryPerformanceFrequency(&rate);
    QueryPerformanceCounter(&begin);
    for (index = 0; index < CALLS; index++) {
        *sum += leaf(index);
    }
    QueryPerformanceCounter(&end);
    return (double)(end.QuadPart - begin.QuadPart) * 1e9 /
           (double)rate.QuadPart / CALLS;
}

__attribute__((no_instrument_function)) int
main(void)
{
    static double plain[BATCHES], listed[BATCHES];
    int sum = 0;
    int batch;

    for (batch = 0; batch < BATCHES; batch++) {
        plain[batch] = Measure(Plain, &sum);
        listed[batch] = Measure(Listed, &sum);
    }
    qsort(plain, BATCHES, sizeof(double), Compare);
    qsort(listed, BATCHES, sizeof(double), Compare);
    printf("%.3f %.3f\n", plain[BATCHES / 2], listed[BATCHES / 2]);
    return sum == 1;
}
