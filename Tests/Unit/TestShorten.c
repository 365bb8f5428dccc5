/*++

Module Name:

    TestShorten.c

Abstract:

    Tests the parts of functions' names, and short names
    (Reader/Functions/FunctionShorten.c), against a table that was written by
    hand from the forms that compilers' and linkers' names have, and names that
    nobody should have.

--*/

#include "../../Reader/Functions/FunctionShorten.h"
#include "Test.h"

#define TEST_LONGEST 20000

typedef struct _TEST_NAME {
    PCSZ Full;
    PCSZ Short;
    PCSZ Longer;                    // NULL: the same
} TEST_NAME;

static const TEST_NAME TestNames[] = {

    //
    // Of C and of the linker.
    //

    { "main", "main", NULL },
    { "_start.cold", "_start.cold", NULL },
    { "module.dll+0x12", "module.dll+0x12", NULL },
    { "with blank", "with blank", NULL },
    { "plain [+2 folded]", "plain [+2 folded]", NULL },
    { "plain [+other trees]", "plain [+other trees]", NULL },
    { "@stack@8", "@stack@8", NULL },
    { "(other)", "(other)", NULL },
    { "", "", NULL },

    //
    // Parameters and qualifiers.
    //

    { "Draw(int)", "Draw", "Draw(int)" },
    { "Draw(int) [+2 folded]", "Draw [+2 folded]", "Draw(int) [+2 folded]" },
    { "Scene::Draw(int*) const", "Scene::Draw", "Scene::Draw(int*) const" },
    { "f() volatile &&", "f", "f() volatile &&" },
    { "f(int) [clone .cold]", "f [clone .cold]", "f(int) [clone .cold]" },
    { "call(void (*)(int))", "call", "call(void (*)(int))" },
    { "Thing::~Thing()", "Thing::~Thing", "Thing::~Thing()" },
    { "Gr\xC3\xBC\xC3\x9F" "e(int)", "Gr\xC3\xBC\xC3\x9F" "e",
      "Gr\xC3\xBC\xC3\x9F" "e(int)" },

    //
    // Return types and templates.
    //

    { "int f<int>(int)", "f<...>", "f<...>(int)" },
    { "std::vector<int, std::allocator<int> > ns::make<int>(int const&)",
      "ns::make<...>", "ns::make<...>(int const&)" },
    { "std::vector<int, std::allocator<int> >::push_back(int const&)",
      "std::vector<...>::push_back",
      "std::vector<...>::push_back(int const&)" },
    { "std::vector<int,class std::allocator<int> >::push_back(int &&)",
      "std::vector<...>::push_back", "std::vector<...>::push_back(int &&)" },
    { "a::b<c<d<e>>>::f<g>(h<i>)", "a::b<...>::f<...>",
      "a::b<...>::f<...>(h<...>)" },
    { "decltype(a(b)) f<int>(int)", "f<...>", "f<...>(int)" },
    { "decltype(auto) f<int>()", "f<...>", "f<...>()" },
    { "f<>(int)", "f<...>", "f<...>(int)" },
    { "f<(a)1>()", "f<...>", "f<...>()" },
    { "f<&g(int)>()", "f<...>", "f<...>()" },

    //
    // Strings.
    //

    { "f(std::__cxx11::basic_string<char, std::char_traits<char>, "
      "std::allocator<char> > const&)", "f", "f(std::string const&)" },
    { "f(class std::basic_string<char,struct std::char_traits<char>,"
      "class std::allocator<char> > const &)", "f", "f(std::string const &)" },
    { "std::__cxx11::basic_string<char, std::char_traits<char>, "
      "std::allocator<char> >::append(char const*)",
      "std::string::append", "std::string::append(char const*)" },
    { "f(std::__1::basic_string<wchar_t, x>)", "f", "f(std::wstring)" },
    { "f(std::basic_string<char16_t>, std::basic_string<char32_t>)", "f",
      "f(std::u16string, std::u32string)" },
    { "f(std::basic_string<char8_t>)", "f", "f(std::u8string)" },
    { "f(std::basic_string<character>)", "f", "f(std::basic_string<...>)" },
    { "f(mystd::basic_string<char>)", "f", "f(mystd::basic_string<...>)" },
    { "f(std::basic_string_view<char>)", "f",
      "f(std::basic_string_view<...>)" },
    { "std::__cxx11::list<int>::size()", "std::list<...>::size",
      "std::list<...>::size()" },
    { "my::__cxx11::size()", "my::__cxx11::size", "my::__cxx11::size()" },

    //
    // Microsoft's words.
    //

    { "f(class A,struct B *,enum C,union D)", "f", "f(A,B *,C,D)" },
    { "f(class A<struct B>)", "f", "f(A<...>)" },
    { "superclass ::f(myclass a)", "::f", "::f(myclass a)" },
    { "`anonymous namespace'::f(int)", "`anonymous namespace'::f",
      "`anonymous namespace'::f(int)" },
    { "`void __cdecl f(int)'::`2'::g(char)", "`void __cdecl f(int)'::`2'::g",
      "`void __cdecl f(int)'::`2'::g(char)" },
    { "A::`vector deleting dtor'(unsigned int)", "A::`vector deleting dtor'",
      "A::`vector deleting dtor'(unsigned int)" },
    { "<lambda_1>::operator()(int)const ", "<lambda_1>::operator() ",
      "<lambda_1>::operator()(int)const " },
    { "f::<lambda_0a1b>::operator()<int>(int)",
      "f::<lambda_0a1b>::operator()<...>",
      "f::<lambda_0a1b>::operator()<...>(int)" },

    //
    // Local things.
    //

    { "(anonymous namespace)::f(int)", "(anonymous namespace)::f",
      "(anonymous namespace)::f(int)" },
    { "int (anonymous namespace)::f<int>(int)",
      "(anonymous namespace)::f<...>", "(anonymous namespace)::f<...>(int)" },
    { "main::{lambda(int)#1}::operator()(int) const",
      "main::{lambda(int)#1}::operator()",
      "main::{lambda(int)#1}::operator()(int) const" },
    { "outer(int)::Local::run(char)", "outer(int)::Local::run",
      "outer(int)::Local::run(char)" },
    { "A::outer(int) const::Local::run(char)",
      "A::outer(int) const::Local::run",
      "A::outer(int) const::Local::run(char)" },
    { "auto f()::{lambda(auto:1)#1}::operator()<int>(int) const",
      "f()::{lambda(auto:1)#1}::operator()<...>",
      "f()::{lambda(auto:1)#1}::operator()<...>(int) const" },

    //
    // Operators.
    //

    { "A::operator()(int)", "A::operator()", "A::operator()(int)" },
    { "A::operator<(A const&) const", "A::operator<",
      "A::operator<(A const&) const" },
    { "A::operator<=>(A) const", "A::operator<=>", "A::operator<=>(A) const" },
    { "A::operator->()", "A::operator->", "A::operator->()" },
    { "A::operator->*(B)", "A::operator->*", "A::operator->*(B)" },
    { "A::operator>>=(B)", "A::operator>>=", "A::operator>>=(B)" },
    { "A<int>::operator[](B)", "A<...>::operator[]", "A<...>::operator[](B)" },
    { "bool operator< <int>(A<int>, A<int>)", "operator< <...>",
      "operator< <...>(A<...>, A<...>)" },
    { "std::ostream& std::operator<< <char>(std::ostream&, char)",
      "std::operator<< <...>", "std::operator<< <...>(std::ostream&, char)" },
    { "operator<<<int>(A)", "operator<<<...>", "operator<<<...>(A)" },
    { "operator new(unsigned long long)", "operator new",
      "operator new(unsigned long long)" },
    { "operator delete[](void*)", "operator delete[]",
      "operator delete[](void*)" },
    { "A::operator bool() const", "A::operator bool",
      "A::operator bool() const" },
    { "A::operator std::vector<int>()", "A::operator std::vector<...>",
      "A::operator std::vector<...>()" },
    { "operator\"\" _kg(long double)", "operator\"\" _kg",
      "operator\"\" _kg(long double)" },
    { "f<&(A::operator<(A))>(int)", "f<...>", "f<...>(int)" },
    { "f<(&A::operator>)>(int)", "f<...>", "f<...>(int)" },
    { "myoperator<int>(int)", "myoperator<...>", "myoperator<...>(int)" },
    { "operators(int)", "operators", "operators(int)" },

    //
    // What does not come out even stays.
    //

    { "f(int", "f(int", NULL },
    { "f(a<int)", "f(a<int)", NULL },
    { "int f<int(int)", "int f<int(int)", NULL },
    { "f)(int)", "f)", "f)(int)" },
    { "f<a", "f<a", NULL },
    { "f<a(b", "f<a(b", NULL },
    { ">>>", ">>>", NULL },
    { "<script>window.hacked=1</script>", "<script>window.hacked=1<...>",
      NULL },
    { "`$(id)`", "`$(id)`", NULL },
    { "'''", "'''", NULL },
    { "std::basic_string<char", "std::basic_string<char", NULL },
    { "()", "()", NULL },
    { "void (*f(int))(char)", "void (*f(int))(char)", NULL },
    { "::", "::", NULL },
    { "operator", "operator", NULL },
    { "operator<", "operator<", NULL },
    { "std::", "std::", NULL }
};

//
// Shortens a name, and expects a text.
//

static
VOID
TestName(
    PCSZ Full,
    BOOLEAN HasParameters,
    PCSZ Expected
    )
{
    static CHAR Buffer[READER_SHORT_NAME_SIZE(TEST_LONGEST)];
    ULONG Length = RtlLengthOfString(Full);
    ULONG Found;

    Found = FunctionShortenName(Full,
                                Length,
                                HasParameters,
                                Buffer,
                                READER_SHORT_NAME_SIZE(Length));
    TEST_EQUAL_TEXT(Buffer, Found, Expected);

    //
    // Nothing is written where there is too little room.
    //

    if (Found != 0) {
        Buffer[Found - 1] = '#';
        TEST_EQUAL(FunctionShortenName(Full,
                                       Length,
                                       HasParameters,
                                       Buffer,
                                       Found - 1),
                   0);
        TEST_EQUAL(Buffer[Found - 1], '#');
    }
}

//
// Long names: of one sign, and of signs in turn.
//

static
VOID
TestLongNames(
    VOID
    )
{
    static const PCSZ Parts[] = {
        "<", ">", "(", ")", "`", "'", "{", "[", "a<", "a<>", "a(", "f()::",
        "operator<", "std::basic_string<char,", "std::basic_string<char>",
        " ", "\xC3\xBC", "::", "class "
    };
    static CHAR Name[TEST_LONGEST];
    static CHAR Buffer[READER_SHORT_NAME_SIZE(TEST_LONGEST)];
    READER_NAME_PARTS Bounds;
    ULONG Length;
    ULONG Part;
    ULONG Size;
    ULONG Found;

    for (Part = 0; Part < RTL_NUMBER_OF(Parts); Part++) {

        Size = RtlLengthOfString(Parts[Part]);
        for (Length = 0; Length + Size <= TEST_LONGEST; Length += Size) {
            RtlCopyBytes(Name + Length, Parts[Part], Size);
        }

        FunctionFindParts(Name, Length, &Bounds);
        TEST(Bounds.Start <= Bounds.End && Bounds.End <= Bounds.Tail &&
             Bounds.Tail <= Length);
        Found = FunctionShortenName(Name,
                                    Length,
                                    TRUE,
                                    Buffer,
                                    READER_SHORT_NAME_SIZE(Length));
        TEST(Found <= READER_SHORT_NAME_SIZE(Length));
        TEST(Found != 0 || Size == 6);
    }
}

VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    ULONG Index;

    (VOID)Rtl;
    (VOID)Allocator;
    for (Index = 0; Index < RTL_NUMBER_OF(TestNames); Index++) {

        const TEST_NAME *Name = &TestNames[Index];

        TestName(Name->Full, FALSE, Name->Short);
        TestName(Name->Full,
                 TRUE,
                 Name->Longer != NULL ? Name->Longer : Name->Short);
    }

    TestLongNames();
}
