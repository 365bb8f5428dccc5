/*++

Module Name:

    DemanglePrintExpression.c

Abstract:

    Shows expressions, as they stand in template arguments and types.

--*/

#include "DemangleParse.h"
#include "DemanglePrint.h"

//
// Shows hexadecimal digits without the zeroes at their end.
// Fraction: the digits, leftmost first.
//

static
VOID
DemangleShowHexadecimal(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONGLONG Fraction
    )
{
    CHAR Digit;

    while (Fraction != 0) {
        Digit = "0123456789abcdef"[Fraction >> 60];
        DemangleShowText(Parser, &Digit, 1);
        Fraction <<= 4;
    }
}

//
// Shows a binary exponent.
//

static
VOID
DemangleShowExponent(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ LONG Exponent
    )
{
    CHAR Digits[12];
    ULONG Index = sizeof(Digits);
    ULONG Value;

    DemangleShow(Parser, Exponent < 0 ? "p-" : "p+");
    Value = (ULONG)(Exponent < 0 ? -Exponent : Exponent);
    do {
        Index -= 1;
        Digits[Index] = (CHAR)('0' + Value % 10);
        Value /= 10;
    } while (Value != 0);

    DemangleShowText(Parser, Digits + Index, sizeof(Digits) - Index);
}

//
// Shows a floating point number in hexadecimal, as C's %a does: its bits are
// given, and no digit is lost.
// Node: the literal.
//

static
VOID
DemangleShowFloat(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];
    ULONGLONG Bits = 0;
    ULONG Biased;
    LONG Exponent;
    ULONG Head = 0;
    ULONG Index;
    ULONG Infinite;
    CHAR Leading;

    //
    // Head has the sign and the exponent, Bits the rest from its left on.
    //

    for (Index = 0; Index < Self->TextLength; Index++) {
        Biased = (ULONG)(Self->Text[Index] <= '9' ?
                             Self->Text[Index] - '0' :
                             Self->Text[Index] - 'a' + 10);
        if (Self->TextLength == 20 && Index < 4) {
            Head = Head * 16 + Biased;
        } else {
            Bits = (Bits << 4) | Biased;
        }
    }

    if (Self->TextLength == 8) {
        Head = (ULONG)(Bits >> 23);
        Bits <<= 41;
        Infinite = 0xFF;
        Exponent = (LONG)(Head & Infinite) - 127;
        Biased = Head & 0x100;
    } else if (Self->TextLength == 16) {
        Head = (ULONG)(Bits >> 52);
        Bits <<= 12;
        Infinite = 0x7FF;
        Exponent = (LONG)(Head & Infinite) - 1023;
        Biased = Head & 0x800;
    } else {
        Infinite = 0x7FFF;
        Exponent = (LONG)(Head & Infinite) - 16383 - 3;
        Biased = Head & 0x8000;
    }

    if (Biased != 0) {
        DemangleShow(Parser, "-");
    }

    Head &= Infinite;
    Leading = '1';
    if (Self->TextLength == 20) {
        Leading = "0123456789abcdef"[Bits >> 60];
        Bits <<= 4;
    }

    if (Head == Infinite) {
        DemangleShow(Parser, Bits == 0 ? "inf" : "nan");
    } else {
        if (Head == 0 && Self->TextLength != 20) {
            Leading = '0';
            Exponent = Bits == 0 ? 0 : Exponent + 1;

            //
            // A small float is an ordinary double, which is what is shown.
            //

            if (Self->TextLength == 8 && Bits != 0) {
                Leading = '1';
                do {
                    Exponent -= 1;
                    Bits <<= 1;
                } while ((Bits >> 63) == 0);
                Exponent -= 1;
                Bits <<= 1;
            }
        } else if (Leading == '0' && Bits == 0) {
            Exponent = 0;
        }
        DemangleShow(Parser, "0x");
        DemangleShowText(Parser, &Leading, 1);
        if (Bits != 0) {
            DemangleShow(Parser, ".");
            DemangleShowHexadecimal(Parser, Bits);
        }
        DemangleShowExponent(Parser, Exponent);
    }

    if (Self->Second == 'f') {
        DemangleShow(Parser, "f");
    } else if (Self->Second == 'e') {
        DemangleShow(Parser, "L");
    }
}

//
// Shows an operator between two operands.
// Node: the expression.
//

static
VOID
DemangleShowBinary(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];
    BOOLEAN IsAssignment;
    BOOLEAN IsGreater;

    IsGreater = (BOOLEAN)(Parser->NestingOfGreater == 0 &&
                          Self->Text[0] == '>' &&
                          (Self->TextLength == 1 ||
                           (Self->TextLength == 2 && Self->Text[1] == '>')));
    if (IsGreater) {
        DemangleOpen(Parser);
    }

    IsAssignment = (BOOLEAN)(Self->Precedence == DemangleAssignLevel);
    DemangleShowOperand(Parser,
                        Self->First,
                        IsAssignment ? DemangleOrIfLevel : Self->Precedence,
                        (BOOLEAN)!IsAssignment);
    if (Self->Text[0] != ',') {
        DemangleShow(Parser, " ");
    }
    DemangleShowOwnText(Parser, Node);
    DemangleShow(Parser, " ");
    DemangleShowOperand(Parser, Self->Second, Self->Precedence, IsAssignment);
    if (IsGreater) {
        DemangleClose(Parser);
    }
}

//
// Shows the pack of a fold expression.
// Node: the expansion.
//

static
VOID
DemangleShowFoldPack(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
{
    DemangleOpen(Parser);
    DemanglePrint(Parser, Node);
    DemangleClose(Parser);
}

//
// Shows a fold expression.
//

static
VOID
DemangleShowFold(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];
    BOOLEAN IsLeft = (BOOLEAN)((Self->Flags & DEMANGLE_LEFT) != 0);

    DemangleOpen(Parser);
    if (!IsLeft || Self->Second != 0) {
        if (IsLeft) {
            DemangleShowOperand(Parser,
                                Self->Second,
                                DemangleCastLevel,
                                TRUE);
        } else {
            DemangleShowFoldPack(Parser, Self->First);
        }
        DemangleShow(Parser, " ");
        DemangleShowOwnText(Parser, Node);
        DemangleShow(Parser, " ");
    }

    DemangleShow(Parser, "...");
    if (IsLeft || Self->Second != 0) {
        DemangleShow(Parser, " ");
        DemangleShowOwnText(Parser, Node);
        DemangleShow(Parser, " ");
        if (IsLeft) {
            DemangleShowFoldPack(Parser, Self->First);
        } else {
            DemangleShowOperand(Parser,
                                Self->Second,
                                DemangleCastLevel,
                                TRUE);
        }
    }
    DemangleClose(Parser);
}

//
// Shows what is behind a designator.
//

static
VOID
DemangleShowInitializer(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
{
    if (Parser->Nodes[Node].Kind != DemangleBraced &&
        Parser->Nodes[Node].Kind != DemangleBracedRange) {
        DemangleShow(Parser, " = ");
    }
    DemanglePrint(Parser, Node);
}

//
// Shows new and delete.
// Node: the expression.
//

static
VOID
DemangleShowNew(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];

    if (Self->Flags & DEMANGLE_GLOBAL) {
        DemangleShow(Parser, "::");
    }
    DemangleShowOwnText(Parser, Node);

    if (Self->Kind == DemangleDelete) {
        DemangleShow(Parser, " ");
        DemanglePrint(Parser, Self->First);
        return;
    }

    if (Parser->Nodes[Self->First].Second != 0) {
        DemangleShowParenthesized(Parser, Self->First);
    }
    DemangleShow(Parser, " ");
    DemanglePrint(Parser, Self->Second);
    if (Parser->Nodes[Self->Third].Second != 0 ||
        (Self->Flags & DEMANGLE_PARENTHESES)) {
        DemangleShowParenthesized(Parser, Self->Third);
    }
}

_Use_decl_annotations_
BOOLEAN
DemanglePrintLiteral(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];

    switch (Self->Kind) {

    case DemangleInitializers:
        if (Self->First != 0) {
            DemanglePrint(Parser, Self->First);
        }
        DemangleShow(Parser, "{");
        DemangleShowList(Parser, Self->Second);
        DemangleShow(Parser, "}");
        break;

    case DemangleBraced:
        if (Self->Flags & DEMANGLE_BRACKETS) {
            DemangleShow(Parser, "[");
            DemanglePrint(Parser, Self->First);
            DemangleShow(Parser, "]");
        } else {
            DemangleShow(Parser, ".");
            DemanglePrint(Parser, Self->First);
        }
        DemangleShowInitializer(Parser, Self->Second);
        break;

    case DemangleBracedRange:
        DemangleShow(Parser, "[");
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, " ... ");
        DemanglePrint(Parser, Self->Second);
        DemangleShow(Parser, "]");
        DemangleShowInitializer(Parser, Self->Third);
        break;

    case DemangleInteger:
        if (Parser->Nodes[Self->Second].TextLength > 3) {
            DemangleShow(Parser, "(");
            DemangleShowOwnText(Parser, Self->Second);
            DemangleShow(Parser, ")");
        }
        DemangleShowNumber(Parser, Node);
        if (Parser->Nodes[Self->Second].TextLength <= 3) {
            DemangleShowOwnText(Parser, Self->Second);
        }
        break;

    case DemangleIntegerCast:
        DemangleOpen(Parser);
        DemanglePrint(Parser, Self->First);
        DemangleClose(Parser);
        DemangleShowNumber(Parser, Node);
        break;

    case DemangleFloat:
        DemangleShowFloat(Parser, Node);
        break;

    case DemangleString:
        DemangleShow(Parser, "\"<");
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, ">\"");
        break;

    case DemangleLambda:
        DemangleShow(Parser, "[]");
        DemangleShowClosure(Parser, Self->First);
        DemangleShow(Parser, "{...}");
        break;

    case DemangleSubobject:
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, ".<");
        DemanglePrint(Parser, Self->Second);
        DemangleShow(Parser, " at offset ");
        if (Self->TextLength == 0) {
            DemangleShow(Parser, "0");
        }
        DemangleShowNumber(Parser, Node);
        DemangleShow(Parser, ">");
        break;

    default:
        return FALSE;
    }

    return TRUE;
}

_Use_decl_annotations_
VOID
DemanglePrintExpression(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];
    ULONG Nesting;

    switch (Self->Kind) {

    case DemangleBinary:
        DemangleShowBinary(Parser, Node);
        break;

    case DemanglePrefix:
        DemangleShowOwnText(Parser, Node);
        DemangleShowOperand(Parser, Self->First, Self->Precedence, FALSE);
        break;

    case DemanglePostfixed:
        DemangleShowOperand(Parser, Self->First, Self->Precedence, TRUE);
        DemangleShowOwnText(Parser, Node);
        break;

    case DemangleConditional:
        DemangleShowOperand(Parser, Self->First, Self->Precedence, FALSE);
        DemangleShow(Parser, " ? ");
        DemangleShowOperand(Parser, Self->Second, DemangleAnyLevel, FALSE);
        DemangleShow(Parser, " : ");
        DemangleShowOperand(Parser, Self->Third, DemangleAssignLevel, TRUE);
        break;

    case DemangleMember:
        DemangleShowOperand(Parser, Self->First, Self->Precedence, TRUE);
        DemangleShowOwnText(Parser, Node);
        DemangleShowOperand(Parser, Self->Second, Self->Precedence, FALSE);
        break;

    case DemangleSubscript:
        DemangleShowOperand(Parser, Self->First, Self->Precedence, FALSE);
        DemangleShow(Parser, "[");
        DemangleShowOperand(Parser, Self->Second, DemangleAnyLevel, FALSE);
        DemangleShow(Parser, "]");
        break;

    case DemangleEnclosed:
        DemangleShowOwnText(Parser, Node);
        DemangleOpen(Parser);
        DemangleShowNode(Parser, Self->First);
        DemangleClose(Parser);
        break;

    case DemangleCast:
        DemangleShowOwnText(Parser, Node);
        Nesting = Parser->NestingOfGreater;
        Parser->NestingOfGreater = 0;
        DemangleShow(Parser, "<");
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, ">");
        Parser->NestingOfGreater = Nesting;
        DemangleOpen(Parser);
        DemangleShowOperand(Parser, Self->Second, DemangleAnyLevel, FALSE);
        DemangleClose(Parser);
        break;

    case DemangleCall:
        DemanglePrint(Parser, Self->First);
        DemangleShowParenthesized(Parser, Self->Second);
        break;

    case DemangleConvert:
        DemangleOpen(Parser);
        DemanglePrint(Parser, Self->First);
        DemangleClose(Parser);
        DemangleShowParenthesized(Parser, Self->Second);
        break;

    case DemangleNew:
    case DemangleDelete:
        DemangleShowNew(Parser, Node);
        break;

    case DemangleSizeOfPack:
        DemangleShow(Parser, "sizeof...");
        DemangleShowFoldPack(Parser, Self->First);
        break;

    case DemangleFold:
        DemangleShowFold(Parser, Node);
        break;

    case DemangleThrow:
        DemangleShow(Parser, "throw ");
        DemanglePrint(Parser, Self->First);
        break;

    default:
        break;
    }
}
