/*++

Module Name:

    Inlined.cpp

Abstract:

    Calls of functions that are inlined in numbers: containers of strings, and
    small functions of which the compiler makes one.  Traced by
    Tests/Product/TestInlined.py, built with -finstrument-functions.  Every call
    returns, or is left by an exception.

--*/

#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#define KEPT __attribute__((noinline))

static std::map<std::string, std::vector<int>> Lists;
static volatile int Count;

//
// The same but for the name: one call of the hook can do for both.
//

static inline void CountEven(int Number) { Count = Count + Number; }
static inline void CountOdd(int Number) { Count = Count + Number; }

KEPT void CountEither(int Number)
{
    if ((Number & 1) != 0) {
        CountOdd(Number);
    } else {
        CountEven(Number);
    }
}

KEPT void Append(const std::string &Name)
{
    for (int Index = 0; Index < 50; Index++) {
        Lists[Name].push_back(Index);
    }
}

KEPT std::size_t Length(const std::string &Text)
{
    return Text.size();
}

KEPT int Sum(const std::vector<int> &List, int Depth)
{
    int Total = Depth == 0 ? 0 : Sum(List, Depth - 1);

    for (int Number : List) {
        CountEither(Number);
        Total += Number;
    }
    return Total;
}

struct Guard {
    std::string Name;
    KEPT ~Guard() { Count = Count + (int)Length(Name); }
};

KEPT void Fail(int Depth, const std::string &Name)
{
    Guard Kept{Name + std::to_string(Depth)};

    if (Depth == 0) {
        throw std::runtime_error("failed");
    }
    Fail(Depth - 1, Kept.Name);
    Count = Count + 1;
}

int main(int, char **Arguments)
{
    int Total = 0;
    bool IsFailing = Arguments[1] != nullptr;

    for (int Index = 0; Index < 4; Index++) {
        Append("first");
        Append("a name that is too long to be kept inside of the string");
        Total += (int)Length("abc") + (int)Length(std::to_string(Index));
    }
    for (auto &Entry : Lists) {
        Total += Sum(Entry.second, 3);
    }
    for (int Index = 0; IsFailing && Index < 5; Index++) {
        try {
            Fail(Index, "f");
        } catch (const std::runtime_error &Error) {
            Total += (int)Length(Error.what());
        }
    }
    std::printf("%d\n", Total + (int)Lists.size());
    return 0;
}
