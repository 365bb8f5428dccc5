//
// C++ functions with all kinds of names, for TestDemangle.py.  It is compiled,
// never run.
//

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

struct A {
    int x;
    int f(int) const;
    int g(int) &;
    int h(int) &&;
    static int s;
    A(int);
    ~A();
    template<class T> operator T();
    template<class T> operator T *() const;
    template<class T, class... U> int m(T, U...);
};

template<class T> auto d1(T t) -> decltype(t + 1) { return t + 1; }
template<class T> auto d2(T t) -> decltype((t, 1)) { return 1; }
template<class T> auto d3(T t) -> decltype(new T(t)) { return 0; }
template<class T> auto d4(T t) -> decltype(delete (&t), 1) { return 0; }
template<class T> auto d5(T t) -> decltype(t ? 1 : 2) { return 0; }
template<class T> auto d6(T t) -> decltype(static_cast<long>(t)) { return 0; }
template<class T> auto d7(T) -> decltype(T{}) { return T{}; }
template<class T> auto d8(T) -> decltype(sizeof(T)) { return 0; }
template<class T> auto d9(T t) -> decltype(sizeof(t)) { return 0; }
template<class T> auto d10(T) -> decltype(alignof(T)) { return 0; }
#ifdef __clang__
template<class T> auto d11(T t) -> decltype(noexcept(t + 1)) { return 0; }
#endif
template<class... T> auto d12(T...) -> decltype(sizeof...(T)) { return 0; }
template<class... T> auto d13(T... t) -> decltype(sizeof...(t)) { return 0; }
template<class... T> auto d14(T... t) -> decltype((t + ...)) { return 0; }
template<class... T> auto d15(T... t) -> decltype((... + t)) { return 0; }
template<class... T> auto d16(T... t) -> decltype((t + ... + 1)) { return 0; }
template<class... T> auto d17(T... t) -> decltype((1 + ... + t)) { return 0; }
template<class T> auto d18(T t) -> decltype(t[0]) { return t[0]; }
template<class T> auto d19(T t) -> decltype(t++, ++t, -t, !t, ~t, *&t)
{ return t; }
template<class T> auto d20(T t) -> decltype(t.template m<int>(1)) { return 0; }
template<class T> auto d21(T) -> decltype(std::declval<T>().f(2)) { return 0; }
template<class T> auto d22(T) -> decltype(&T::f) { return &T::f; }
template<class T> auto d23(T) -> decltype(throw 1, 1) { return 0; }
template<class T> auto d24(T t) -> decltype(t = t, t += 1, t <<= 1, t)
{ return t; }
template<class T> auto d25(T t) -> decltype((t > 1 && t >> 1) || t == 2)
{ return true; }
template<class T> auto d26(T t) -> decltype(t.~T()) { return; }
template<class T> auto d27(T t) -> decltype(const_cast<T &>(t),
                                            reinterpret_cast<long &>(t))
{ return *(long *)&t; }
template<class T> auto d28(T t) -> decltype(std::vector<T>{t, t})
{ return {}; }
template<class T> auto d29(T) -> decltype(1.5f, 2.5, true, 'c', L'c', 1ull, 1)
{ return 1; }

template<template<class...> class C, class... T> int tt(C<T...>) { return 0; }
template<int N> int arr(int (&)[N], int (*)[N][3]) { return N; }
template<auto V> int av() { return 0; }
template<int (*F)(int)> int fp() { return F(1); }
template<int A::*P> int mp() { return 0; }
template<int (A::*P)(int) const> int mfp() { return 0; }
template<int *P> int vp() { return *P; }
template<class R, class... P> int ft(R (*)(P...)) { return 0; }
template<class R, class C, class... P> int mft(R (C::*)(P...) const)
{ return 0; }
template<class... P, class... Q> int twop(std::pair<P, Q>...) { return 0; }
template<class... F> int lam(F...) { return 0; }
template<class T> typename std::enable_if<(sizeof(T) > 2), T>::type sf(T t)
{ return t; }

int fn(int x) { return x; }
int gvar;

namespace {
template<class T> __attribute__((noinline, used)) int anon(T) { return 0; }
struct An { int q() __attribute__((noinline, used)); };
int An::q() { return 2; }
}

struct [[gnu::abi_tag("tag1", "tag2")]] Tg { Tg(); void f(); };
Tg::Tg() {}
void Tg::f() {}
[[gnu::abi_tag("z")]] int tagged(Tg) { return 1; }

struct V { virtual ~V(); virtual int f(); virtual V *c(); };
struct W : virtual V { int f() override; W *c() override; };
struct X : W { int f() override; X *c() override; };
V::~V() {}
int V::f() { return 0; }
V *V::c() { return 0; }
int W::f() { return 1; }
W *W::c() { return 0; }
int X::f() { return 2; }
X *X::c() { return 0; }

int operator"" _lit(const char *, decltype(sizeof(0))) { return 0; }
A operator+(A a, A) { return a; }
bool operator==(const A &, const A &) { return true; }
void operator,(A, A) {}

struct Cv {
    operator int() const;
    operator const char *();
    template<class T> operator std::vector<T>() const;
    bool operator()(int) const;
    int operator[](int);
    Cv *operator->();
    Cv &operator++();
    Cv operator++(int);
};
Cv::operator int() const { return 1; }
Cv::operator const char *() { return 0; }
bool Cv::operator()(int) const { return 1; }
int Cv::operator[](int) { return 1; }
Cv *Cv::operator->() { return this; }
Cv &Cv::operator++() { return *this; }
Cv Cv::operator++(int) { return *this; }
template<class T> Cv::operator std::vector<T>() const { return {}; }
template Cv::operator std::vector<int>() const;
template<class T> A::operator T() { return T(); }
template A::operator int();
template A::operator int *();
template<class T> A::operator T *() const { return nullptr; }
template A::operator long *() const;
template<class T, class... U> int A::m(T, U...) { return 0; }
template int A::m(int, long, char);

typedef float v4 __attribute__((vector_size(16)));
v4 vec(v4 a, v4 *) { return a; }
float _Complex cplx(float _Complex a) { return a; }
void va(const char *, ...) {}
void ptrs(const int *const volatile *, int *__restrict, int (*)(int, char **),
          int (*)[3], int (&)[3][4], int (A::*)(int) const, int A::*,
          void (*(*)(int))(char), int &&, decltype(nullptr), char16_t,
          char32_t, wchar_t, __int128, unsigned __int128, long double, bool,
          signed char, unsigned char)
{}
void noex(void (*)() noexcept, void (A::*)(int) const noexcept) {}
void cb(const std::function<int(const std::string &,
                                std::map<std::string, std::vector<int>> &)> &)
{}

template<class T> struct O {
    template<class U> struct In {
        template<class W> W f(T, U, W *);
        struct E {};
        E e(E, O<T>);
    };
    typename T::type q(typename T::type, typename T::template r<int> *);
};
struct TT { using type = int; template<class> struct r {}; };
template<class T> template<class U> template<class W>
W O<T>::In<U>::f(T, U, W *) { return W(); }
template<class T> template<class U>
typename O<T>::template In<U>::E O<T>::In<U>::e(E a, O<T>) { return a; }
template<class T>
typename T::type O<T>::q(typename T::type, typename T::template r<int> *)
{ return 1; }
template struct O<TT>;
template struct O<TT>::In<char>;
template long O<TT>::In<char>::f(TT, char, long *);

int locals(int k)
{
    struct L {
        int z(int) { return 1; }
        struct I { int y() { return 2; } };
    } l;
    auto la = [&](auto, int y) {
        struct Q { int w() { return 4; } };
        return Q().w() + y + k;
    };
    auto lc = [=](int q) mutable { return [q]() { return q; }(); };
    return l.z(1) + L::I().y() + la(1, 2) + la("a", 2) + lc(3) +
           lam(la, lc) + lam([] { return 1; }, [](int) { return 2; });
}

static auto [g1, g2] = std::pair<int, int>(1, 2);
int *pg1() { return &g1; }
auto glam = [](auto... x) { return sizeof...(x); };
int ug = glam(1, 2L, "x");
thread_local A tl(5);
int tlf() { return tl.x; }

void use()
{
    A a(1);
    int ar[3], ar2[3][3];
    d1(1); d2(1); d3(1); d4(1); d5(1); d6(1); d7(1); d8(1); d9(1); d10(1);
    d12(1, 2L); d13(1, 2L); d14(1, 2); d15(1, 2); d16(1, 2); d17(1, 2);
    d18(ar); d19(1); d20(a); d21(a); d22(a); d23(1); d24(1); d25(1); d26(1);
    d27(1L); d28(1); d29(1);
#ifdef __clang__
    d11(1);
#endif
    tt(std::vector<int>()); arr(ar, &ar2); av<1>(); av<'c'>(); av<true>();
    av<nullptr>(); av<-5LL>(); av<&gvar>(); av<&fn>(); av<&A::x>(); fp<fn>();
    mp<&A::x>(); mfp<&A::f>(); vp<&gvar>(); ft(fn); mft(&A::f);
    twop(std::pair<int, long>(), std::pair<char, A *>());
    anon(1); anon(An()); sf(1); locals(1); noex(0, 0);
}
