/*++

Module Name:

    FunctionStub.c

Abstract:

    Who called an import: the module that its stub belongs to.

--*/

#include "FunctionStub.h"


_Use_decl_annotations_
ULONG
FunctionStubSelectColumn(
    const READER_FUNCTIONS *Functions
    )
{
    ULONG Index;

    for (Index = 0; Index < Functions->NumberOfFunctions; Index++) {
        if (Functions->Functions[Index].Importer != 0) {
            return READER_COLUMN_CALLER;
        }
    }

    return 0;
}


_Use_decl_annotations_
VOID
FunctionStubPutCaller(
    PREADER_OUTPUT Output,
    const READER_FUNCTIONS *Functions,
    PCREADER_FUNCTION Function
    )
{
    PCREADER_IMPORTED Importer;

    if (Function->Importer == 0) {
        OutputPutNothing(Output);
    } else {
        Importer = &Functions->Imported[Function->Importer - 1];
        OutputPutText(Output, Importer->Name, Importer->NameLength);
    }
}


//
// Finds the module that comes next in the order of names.
// Last: a module, number of Imported; 0: the first is looked for.
// Returns its number; 0: there is none.
//

static
ULONG
FunctionStubNextCaller(
    _In_ const READER_FUNCTIONS *Functions,
    _In_ ULONG Function,
    _In_ ULONG Last
    )
{
    PCREADER_IMPORTED Modules = Functions->Imported;
    ULONG Best = 0;
    ULONG Number;
    ULONG Value;

    for (Number = 1; Number <= Functions->NumberOfImported; Number++) {

        if (!BaseFindInMap(&Functions->Callers,
                           ((ULONGLONG)Function << 32) | Number,
                           &Value) ||
            (Last != 0 && BaseCompareText(Modules[Number - 1].Name,
                                          Modules[Number - 1].NameLength,
                                          Modules[Last - 1].Name,
                                          Modules[Last - 1].NameLength) <= 0)) {
            continue;
        }

        if (Best == 0 || BaseCompareText(Modules[Number - 1].Name,
                                         Modules[Number - 1].NameLength,
                                         Modules[Best - 1].Name,
                                         Modules[Best - 1].NameLength) < 0) {
            Best = Number;
        }
    }

    return Best;
}


_Use_decl_annotations_
VOID
FunctionStubPutCallers(
    PREADER_OUTPUT Output,
    const READER_FUNCTIONS *Functions,
    ULONG Function
    )
{
    PCALLOCATOR Allocator = Functions->Session->Context->Allocator;
    PCREADER_IMPORTED Caller;
    RTL_WRITER Writer;
    SIZE_T Size = 1;
    PCHAR Text;
    ULONG Number;

    if (!Functions->Functions[Function].IsStub) {
        OutputPutNothing(Output);
        return;
    }

    for (Number = FunctionStubNextCaller(Functions, Function, 0);
         Number != 0;
         Number = FunctionStubNextCaller(Functions, Function, Number)) {
        Size += (SIZE_T)Functions->Imported[Number - 1].NameLength + 2;
    }

    Text = Size <= 0x100000
               ? (PCHAR)Allocator->Allocate(Allocator->Context, Size)
               : NULL;
    if (Text == NULL) {
        OutputPutNothing(Output);
        return;
    }

    RtlInitializeBufferWriter(&Writer, Text, (ULONG)Size);
    for (Number = FunctionStubNextCaller(Functions, Function, 0);
         Number != 0;
         Number = FunctionStubNextCaller(Functions, Function, Number)) {
        Caller = &Functions->Imported[Number - 1];
        RtlWriteText(&Writer, Writer.LengthInBytes != 0 ? "; " : "");
        RtlWriteBytes(&Writer, Caller->Name, Caller->NameLength);
    }

    if (Writer.LengthInBytes == 0) {
        OutputPutNothing(Output);
    } else {
        OutputPutText(Output, Text, Writer.LengthInBytes);
    }

    Allocator->Free(Allocator->Context, Text);
}


_Use_decl_annotations_
ULONG
FunctionStubFindCaller(
    const READER_FUNCTIONS *Functions,
    ULONG Function,
    ULONG Above
    )
{
    PCREADER_FUNCTION This;
    PCREADER_FUNCTION Caller;

    if (Function == READER_NONE) {
        return 0;
    }

    This = &Functions->Functions[Function];
    if (Above != READER_NONE) {
        Caller = &Functions->Functions[Above];
        if (FunctionIsImporter(Functions,
                               This,
                               Caller->ModuleName,
                               Caller->ModuleNameLength)) {
            return 0;
        }
    }

    return This->Importer;
}


_Use_decl_annotations_
ULONG
FunctionStubFindOtherCaller(
    const READER_FUNCTIONS *Functions,
    ULONG Caller,
    ULONG Above
    )
{
    PCREADER_IMPORTED Imported;
    PCREADER_FUNCTION Around;

    if (Caller == 0 || Above == READER_NONE) {
        return Caller;
    }

    Imported = &Functions->Imported[Caller - 1];
    Around = &Functions->Functions[Above];
    return BaseIsTextAlike(Imported->Name,
                           Imported->NameLength,
                           Around->ModuleName,
                           Around->ModuleNameLength)
               ? 0
               : Caller;
}


_Use_decl_annotations_
VOID
FunctionStubWriteCaller(
    PRTL_WRITER Writer,
    const READER_FUNCTIONS *Functions,
    ULONG Caller
    )
{
    RtlWriteText(Writer, "[");
    RtlWriteBytes(Writer,
                  Functions->Imported[Caller - 1].Name,
                  Functions->Imported[Caller - 1].NameLength);
    RtlWriteText(Writer, "]");
}


_Use_decl_annotations_
VOID
FunctionStubPutCallingModule(
    PREADER_OUTPUT Output,
    const READER_FUNCTIONS *Functions,
    ULONG CallingModule,
    ULONG Depth
    )
{
    ULONG Caller = READER_QUERY_CALLING_MODULE(CallingModule);
    RTL_WRITER Writer;
    CHAR Name[300];

    OutputPutText(Output,
                  Functions->Imported[Caller - 1].Name,
                  Functions->Imported[Caller - 1].NameLength);
    RtlInitializeBufferWriter(&Writer, Name, sizeof(Name));
    FunctionStubWriteCaller(&Writer, Functions, Caller);
    OutputPutIndentedText(Output, Depth, Name, Writer.LengthInBytes);
}


_Use_decl_annotations_
BOOLEAN
FunctionStubAreAlike(
    PCREADER_FUNCTION First,
    PCREADER_FUNCTION Second
    )
{
    return First == Second ||
           (First->IsStub && Second->IsStub &&
            First->Module == Second->Module &&
            First->FirstRva == Second->FirstRva);
}
