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
