/*++

Module Name:

    CommandOptions.h

Abstract:

    The options that there are, apart from --help, which every command takes: a
    row each.

--*/

#ifndef TRACER_COMMAND_OPTIONS_H
#define TRACER_COMMAND_OPTIONS_H

#include "Command.h"

typedef enum _READER_OPTION_KIND {
    ReaderOptionGiven = 0,          // takes no value
    ReaderOptionSet,                // takes none; the field gets Minimum
    ReaderOptionNumber,             // from Minimum to Maximum
    ReaderOptionSize,               // bytes; a number, or one with K, M or G
    ReaderOptionAge,                // 100 ns; a number with m, h, d or w
    ReaderOptionTime,               // nanoseconds, or the text of a mark
    ReaderOptionDuration,           // nanoseconds
    ReaderOptionText,               // anything but nothing
    ReaderOptionWidth,              // "auto", "none", or Minimum to Maximum
    ReaderOptionWord,               // one of Words; the field gets its index
    ReaderOptionPrefixes,           // of functions' names; Minimum: excluded
    ReaderOptionSetting             // a traced program's; Minimum: which one;
                                    // without a value it is 1
} READER_OPTION_KIND;

typedef struct _READER_OPTION {
    PCSZ Name;                      // without the dashes
    PCSZ Value;                     // what its value is called, or NULL
    ULONGLONG Flag;                 // READER_OPTION_*
    PCSZ Rule;                      // what its value has to be; NULL: the row
                                    // says it; of --csv and --json: the error
                                    // if both are given
    PCSZ Description;               // for help: a line
    READER_OPTION_KIND Kind;
    ULONG Offset;                   // the field's, in READER_OPTIONS, in bytes
    ULONG SizeInBytes;              // of the field; 0: there is none
    ULONG SecondOffset;             // of the mark, or of the text in UTF-8; 0:
                                    // none
    ULONG ThirdOffset;              // of a time: of its kind,
    ULONG FourthOffset;             // and of its text in UTF-8
    ULONGLONG Minimum;
    ULONGLONG Maximum;
    ULONGLONG Default;              // what the field is without the option
    const VOID *FirstWord;
    ULONG WordSizeInBytes;          // from one word's PCSZ to the next
    ULONG NumberOfWords;
} READER_OPTION;
typedef const READER_OPTION *PCREADER_OPTION;

#define READER_WORD(Option, Index)                                          \
    (*(const PCSZ *)((const UCHAR *)(Option)->FirstWord +                   \
                     (SIZE_T)(Index) * (Option)->WordSizeInBytes))

//
// In the order of the help.
//

extern const READER_OPTION ReaderOptionList[];
extern const ULONG ReaderNumberOfOptions;

//
// Parses what follows the command's name, and finds the session that is meant
// if no path is given (SessionFind.h).  FALSE: IsHelp says whether help was
// asked for, otherwise a usage error has been written, but for
// Options->Unknown, an option that the command does not have.  The caller gives
// the options to CommandFreeOptions in every case.
//
// Arguments, NumberOfArguments: what follows the command's name.
//

_Success_(return != FALSE)
BOOLEAN
CommandParseOptions(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_COMMAND Command,
    _In_reads_(NumberOfArguments) PCRTL_ARGUMENT Arguments,
    _In_ ULONG NumberOfArguments,
    _Out_ PREADER_OPTIONS Options,
    _Out_ PBOOLEAN IsHelp
    );

VOID
CommandFreeOptions(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_OPTIONS Options
    );

#endif // TRACER_COMMAND_OPTIONS_H
