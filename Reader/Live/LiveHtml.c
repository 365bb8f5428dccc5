/*++

Module Name:

    LiveHtml.c

Abstract:

    A refresh as a page that needs nothing but itself: it loads itself again
    after each interval until the program has ended, and keeps how its tables
    are sorted and where it was scrolled to.

    All text from a trace is escaped.  The page is written under another name
    and then renamed, so that nobody sees half of it.

--*/

#include "../Base/BaseFile.h"
#include "LiveHtml.h"

#define READER_PAGE_DEFAULT_LIMIT 1000u

//
// While somebody reads the page it may not be replaced; the next refresh does
// that then, and the last one tries for a while.
//

#define READER_PAGE_TRIES 20
#define READER_PAGE_PAUSE 500000        // 100 ns

#define READER_PAGE_ERROR_SIZE 600

static const CHAR ReaderPageStyle[] =
    "<style>\n"
    ":root{color-scheme:light dark;--line:#ccc;--back:#fff;--text:#111;"
    "--weak:#666;--head:#f0f0f0;--bar:#cfe3ff}\n"
    "@media(prefers-color-scheme:dark){:root{--line:#444;--back:#161616;"
    "--text:#e6e6e6;--weak:#9a9a9a;--head:#262626;--bar:#1d3a5f}}\n"
    "body{margin:1.5em;background:var(--back);color:var(--text);"
    "font:14px/1.4 system-ui,sans-serif}\n"
    "h1{font-size:1.2em;margin:0}h2{font-size:1em;margin:1.5em 0 .5em}\n"
    "p{margin:.2em 0}.weak{color:var(--weak)}\n"
    ".note{font-weight:bold}\n"
    "table{border-collapse:collapse}\n"
    "th,td{padding:.1em .8em;border-bottom:1px solid var(--line);"
    "text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}\n"
    "th{background:var(--head);position:sticky;top:0;cursor:pointer}\n"
    "th[aria-sort=descending]:after{content:' \\2193'}\n"
    "th[aria-sort=ascending]:after{content:' \\2191'}\n"
    ".t{text-align:left;white-space:normal;overflow-wrap:anywhere}\n"
    "ol{margin:.2em 0 .8em;padding-left:2.5em}\n"
    "li span{color:var(--weak);font-variant-numeric:tabular-nums}\n"
    "</style>\n";

//
// A cell's data-v is what it is sorted by.
//

static const CHAR ReaderPageScript[] =
    "<script>\n"
    "'use strict';\n"
    "const key=n=>'tracer:'+location.pathname+':'+n;\n"
    "const get=n=>{try{return sessionStorage.getItem(key(n))}"
    "catch(e){return null}};\n"
    "const set=(n,v)=>{try{sessionStorage.setItem(key(n),v)}"
    "catch(e){}};\n"
    "function sort(table,column,down){\n"
    "  const value=r=>{const v=r.cells[column].dataset.v;"
    "return v===undefined?r.cells[column].textContent:Number(v)};\n"
    "  const rows=[...table.tBodies[0].rows];\n"
    "  rows.sort((a,b)=>{const x=value(a),y=value(b);"
    "const c=x<y?-1:x>y?1:0;return down?-c:c});\n"
    "  table.tBodies[0].append(...rows);\n"
    "  [...table.tHead.rows[0].cells].forEach((h,i)=>i===column?"
    "h.setAttribute('aria-sort',down?'descending':'ascending'):"
    "h.removeAttribute('aria-sort'));\n"
    "  set('sort:'+table.id,column+','+(down?1:0));\n"
    "}\n"
    "for(const table of document.querySelectorAll('table')){\n"
    "  [...table.tHead.rows[0].cells].forEach((h,i)=>"
    "h.addEventListener('click',()=>sort(table,i,"
    "h.getAttribute('aria-sort')!=='descending'&&"
    "!(h.classList.contains('t')&&h.getAttribute('aria-sort')===null))));\n"
    "  const kept=(get('sort:'+table.id)||'').split(',');\n"
    "  if(kept.length===2)sort(table,Number(kept[0]),kept[1]==='1');\n"
    "}\n"
    "const filter=document.getElementById('filter');\n"
    "function show(){\n"
    "  const text=filter.value.toLowerCase();\n"
    "  for(const r of document.querySelectorAll('#functions tbody tr'))"
    "r.hidden=!r.cells[r.cells.length-1].textContent.toLowerCase()"
    ".includes(text);\n"
    "  set('filter',filter.value);\n"
    "}\n"
    "filter.value=get('filter')||'';show();\n"
    "filter.addEventListener('input',show);\n"
    "const where=Number(get('scroll')||0);if(where)scrollTo(0,where);\n"
    "addEventListener('scroll',()=>set('scroll',scrollY));\n"
    "const stop=document.getElementById('stop');\n"
    "if(stop){\n"
    "  stop.checked=get('stop')==='1';\n"
    "  stop.addEventListener('change',()=>{set('stop',stop.checked?1:0);"
    "if(!stop.checked)location.reload()});\n"
    "  setInterval(()=>{if(!stop.checked&&document.activeElement!==filter)"
    "location.reload()},Number(document.body.dataset.interval));\n"
    "}\n"
    "</script>\n";


//
// Writes a text with what means something in a page escaped, and with what is
// not printable, or not UTF-8, replaced.
//

static
VOID
LiveWritePageText(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Character;
    ULONG Size;
    ULONG Index;
    PCSZ Instead;

    for (Index = 0; Index < LengthInBytes; Index += Size) {

        Size = RtlDecodeUtf8(Text + Index, LengthInBytes - Index, &Character);
        Instead = NULL;
        switch (Character) {
        case '&':
            Instead = "&amp;";
            break;
        case '<':
            Instead = "&lt;";
            break;
        case '>':
            Instead = "&gt;";
            break;
        case '"':
            Instead = "&quot;";
            break;
        case '\'':
            Instead = "&#39;";
            break;
        default:
            if (Character == 0xFFFD || !RtlIsPrintable(Character)) {
                Instead = "\xEF\xBF\xBD";
            }
            break;
        }

        if (Instead != NULL) {
            RtlWriteBytes(Writer, Instead, RtlLengthOfString(Instead));
        } else {
            RtlWriteBytes(Writer, Text + Index, Size);
        }
    }
}


//
// Writes a cell with a time.
// IsEstimate: whether it is one.
//

static
VOID
LiveWritePageTime(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONGLONG Ticks,
    _In_ BOOLEAN IsEstimate
    )
{
    RtlWriteText(Writer, "<td data-v=%llu>", Ticks);
    LiveWriteLiveTime(Writer, Model->Clock, Ticks, IsEstimate);
    RtlWriteText(Writer, "</td>");
}


//
// Writes a cell with a number.
// IsEstimate: whether it is one.
// Limit: what it stays below then if it is 0.
//

static
VOID
LiveWritePageNumber(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG Number,
    _In_ BOOLEAN IsEstimate,
    _In_ ULONGLONG Limit
    )
{
    CHAR Text[2 * READER_ESTIMATE_SIZE];
    RTL_WRITER TextWriter;
    ULONG Start = 0;

    RtlInitializeBufferWriter(&TextWriter, Text, sizeof(Text));
    LiveWriteLiveNumber(&TextWriter, Number, IsEstimate, Limit, 0);
    RtlWriteText(Writer, "<td data-v=%llu>", Number);
    if (TextWriter.LengthInBytes != 0 && Text[0] == '<') {
        RtlWriteText(Writer, "&lt;");
        Start = 1;
    }

    RtlWriteBytes(Writer, Text + Start, TextWriter.LengthInBytes - Start);
    RtlWriteText(Writer, "</td>");
}


//
// Orders functions by self time, then by calls, then by index.
// Returns negative or positive.
//

static
LONG
LiveComparePageRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCREADER_LIVE_FUNCTION_ROW Rows =
        (PCREADER_LIVE_FUNCTION_ROW)CompareContext;

    if (Rows[First].SelfTicks != Rows[Second].SelfTicks) {
        return Rows[First].SelfTicks > Rows[Second].SelfTicks ? -1 : 1;
    }

    if (Rows[First].AllCalls != Rows[Second].AllCalls) {
        return Rows[First].AllCalls > Rows[Second].AllCalls ? -1 : 1;
    }

    return First < Second ? -1 : 1;
}


//
// Writes the table of functions.
//

static
VOID
LiveWritePageFunctions(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_MODEL Model
    )
{
    PCALLOCATOR Allocator = Model->Allocator;
    ULONGLONG Limit = READER_PAGE_DEFAULT_LIMIT;
    BOOLEAN IsPart = Model->SamplePerMille < 1000;
    PULONG Order;
    ULONG Count = 0;
    ULONG Index;

    if ((Live->Options->Given & READER_OPTION_LIMIT) != 0) {
        Limit = Live->Options->Limit;
    }

    RtlWriteText(Writer,
                 "<h2>Functions <input id=filter type=search "
                 "placeholder=\"names with ...\" "
                 "aria-label=\"Show only names with this text\"></h2>\n"
                 "<table id=functions><thead><tr><th>Self %%</th>"
                 "<th>Self/s</th><th>Calls/s</th><th>Calls</th>"
                 "<th>Total</th><th>Self</th><th>Average</th>"
                 "<th class=t>Function</th></tr></thead>\n<tbody>\n");

    Order = (PULONG)Allocator->Allocate(Allocator->Context,
                                        ((SIZE_T)Model->NumberOfFunctions +
                                         1) * sizeof(ULONG));
    for (Index = 0; Order != NULL && Index < Model->NumberOfFunctions;
         Index++) {
        if (Model->Functions[Index].IsShown &&
            (Model->Functions[Index].IsRunning ||
             READER_LIVE_WAS_SEEN(&Model->Functions[Index]))) {
            Order[Count] = Index;
            Count += 1;
        }
    }

    if (Count != 0) {
        BaseSort(Order, Count, LiveComparePageRows, Model->Functions);
    }

    for (Index = 0; Index < Count && Index < Limit; Index++) {

        PCREADER_LIVE_FUNCTION_ROW Row = &Model->Functions[Order[Index]];

        RtlWriteText(Writer,
                     "<tr><td data-v=%llu>%llu.%llu</td>",
                     Row->SelfTicks,
                     Row->SelfPerMille / 10,
                     Row->SelfPerMille % 10);
        LiveWritePageTime(Writer, Model, Row->SelfPerSecond, IsPart);
        LiveWritePageNumber(Writer,
                            Row->CallsPerSecond,
                            IsPart,
                            Model->CallsLimit);
        LiveWritePageNumber(Writer,
                            Row->AllCalls,
                            Model->IsEstimated,
                            Model->AllCallsLimit);
        LiveWritePageTime(Writer,
                          Model,
                          Row->AllTotalTicks,
                          Model->IsEstimated);
        LiveWritePageTime(Writer,
                          Model,
                          Row->AllSelfTicks,
                          Model->IsEstimated);
        if (Row->HasAverage) {
            LiveWritePageTime(Writer, Model, Row->AverageTicks, FALSE);
        } else {
            RtlWriteText(Writer, "<td data-v=0>-</td>");
        }

        RtlWriteText(Writer, "<td class=t>");
        LiveWritePageText(Writer, Row->Name, Row->NameLength);
        RtlWriteText(Writer, "</td></tr>\n");
    }

    RtlWriteText(Writer, "</tbody></table>\n");
    if (Count > Index) {
        RtlWriteText(Writer,
                     "<p class=weak>%u more (--limit)</p>\n",
                     Count - Index);
    }

    Allocator->Free(Allocator->Context, Order);
}


//
// Writes the table of threads, and their open frames.
//

static
VOID
LiveWritePageThreads(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE_MODEL Model
    )
{
    PCREADER_LIVE_THREAD_ROW Row;
    PCREADER_LIVE_FRAME_ROW Frame;
    BOOLEAN IsAny = FALSE;
    BOOLEAN IsAssumed = FALSE;
    ULONG Index;
    ULONG Depth;

    RtlWriteText(Writer,
                 "<h2>Threads</h2>\n<table id=threads><thead><tr>"
                 "<th>Thread</th><th class=t>Name</th>"
                 "<th class=t>State</th><th>Calls/s</th><th>Records</th>"
                 "<th>Bytes</th><th>Depth</th><th class=t>Runs</th></tr>"
                 "</thead>\n"
                 "<tbody>\n");
    for (Index = 0; Index < Model->NumberOfThreads; Index++) {
        Row = &Model->Threads[Index];
        RtlWriteText(Writer,
                     "<tr><td data-v=%u>%u</td><td class=t>",
                     Row->ThreadId,
                     Row->ThreadId);
        LiveWritePageText(Writer, Row->Name, Row->NameLength);
        RtlWriteText(Writer, "</td><td class=t>%s</td>", Row->State);
        LiveWritePageNumber(Writer, Row->CallsPerSecond, FALSE, 0);
        LiveWritePageNumber(Writer, Row->Records, FALSE, 0);
        LiveWritePageNumber(Writer, Row->SizeInBytes, FALSE, 0);
        LiveWritePageNumber(Writer, Row->Depth, FALSE, 0);
        RtlWriteText(Writer, "<td class=t>");
        LiveWritePageText(Writer, Row->Innermost, Row->InnermostLength);
        RtlWriteText(Writer, "</td></tr>\n");
    }

    RtlWriteText(Writer, "</tbody></table>\n<h2>Open frames</h2>\n");
    for (Index = 0; Index < Model->NumberOfThreads; Index++) {

        Row = &Model->Threads[Index];
        if (Row->Depth == 0) {
            continue;
        }

        IsAny = TRUE;
        RtlWriteText(Writer,
                     "<details open><summary>Thread %u ",
                     Row->ThreadId);
        LiveWritePageText(Writer, Row->Name, Row->NameLength);
        RtlWriteText(Writer, "</summary>\n<ol>\n");
        for (Depth = 0; Depth < Row->Depth; Depth++) {

            Frame = &Model->Frames[Row->FirstFrame + Depth];
            if (!Frame->IsShown) {
                continue;
            }

            IsAssumed |= Frame->IsAssumed;
            RtlWriteText(Writer, "<li>");
            LiveWritePageText(Writer, Frame->Name, Frame->NameLength);
            RtlWriteText(Writer, " <span>");
            OutputWriteTime(Writer, Model->Clock, Frame->AgeInTicks);
            RtlWriteText(Writer,
                         "%s%s</span></li>\n",
                         Frame->IsAssumed ? " ?" : "",
                         Frame->Track != 0 ? " (fiber)" : "");
        }

        RtlWriteText(Writer, "</ol></details>\n");
    }

    if (!IsAny) {
        RtlWriteText(Writer, "<p class=weak>There are none.</p>\n");
    }

    if (IsAssumed) {
        RtlWriteText(Writer,
                     "<p class=weak>? : it was open before the skipped records "
                     "and may have been replaced.</p>\n");
    }
}


//
// IntervalInMilliseconds: between two refreshes.
//

static
VOID
LiveWritePage(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG IntervalInMilliseconds
    )
{
    RTL_CALENDAR_TIME Time;

    RtlWriteText(Writer,
                 "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
                 "<meta name=viewport content=\"width=device-width\">\n");
    if (!Model->IsEnded) {
        RtlWriteText(Writer,
                     "<noscript><meta http-equiv=refresh content=%u>"
                     "</noscript>\n",
                     (IntervalInMilliseconds + 999) / 1000);
    }

    RtlWriteText(Writer, "<title>%s", Model->IsEnded ? "Ended: " : "Live: ");
    LiveWritePageText(Writer, Model->Path, RtlLengthOfString(Model->Path));
    RtlWriteText(Writer, "</title>\n");
    RtlWriteBytes(Writer, ReaderPageStyle, sizeof(ReaderPageStyle) - 1);
    RtlWriteText(Writer,
                 "</head>\n<body data-state=%s data-interval=%u>\n"
                 "<h1>TraceReader live</h1>\n<p>",
                 Model->IsEnded ? "ended" : "running",
                 IntervalInMilliseconds);
    LiveWritePageText(Writer, Model->Path, RtlLengthOfString(Model->Path));

    RtlSystemTimeToCalendar(Model->SystemTime, &Time);
    RtlWriteText(Writer, "</p>\n<p>");
    READER_PUT_LIVE_PROCESS(Writer, Model, "P");
    RtlWriteText(Writer,
                 ", %u of %u threads running, "
                 "<span id=records data-v=%llu>%'llu</span> %s, "
                 "%'llu calls/s</p>\n"
                 "<p class=weak>%04u-%02u-%02u %02u:%02u:%02u UTC, ",
                 Model->NumberOfRunning,
                 Model->NumberOfThreads,
                 Model->AllRecords,
                 Model->AllRecords,
                 READER_LIVE_UNIT(Model),
                 Model->CallsPerSecond,
                 (ULONG)Time.Year,
                 (ULONG)Time.Month,
                 (ULONG)Time.Day,
                 (ULONG)Time.Hour,
                 (ULONG)Time.Minute,
                 (ULONG)Time.Second);
    if (Model->IsEnded) {
        RtlWriteText(Writer,
                     "of %llu.%03llu s",
                     Model->IntervalInNanoseconds /
                         CORE_NANOSECONDS_PER_SECOND,
                     Model->IntervalInNanoseconds / 1000000 % 1000);
    } else {
        RtlWriteText(Writer,
                     "of the last %llu.%03llu s "
                     "<label><input id=stop type=checkbox> hold still</label>",
                     Model->IntervalInNanoseconds /
                         CORE_NANOSECONDS_PER_SECOND,
                     Model->IntervalInNanoseconds / 1000000 % 1000);
    }

    RtlWriteText(Writer, "</p>\n<p class=note>");
    if (Model->IsEnded) {
        LiveWritePageText(Writer, Model->End, Model->EndLength);
        RtlWriteText(Writer, "  ");
    }

    LiveWriteLiveState(Writer, Model);
    if (Model->IsBackUnread) {
        RtlWriteText(Writer,
                     "  Frames that were open when reading began are not "
                     "known.");
    }

    RtlWriteText(Writer, "</p>\n");
    LiveWritePageFunctions(Writer, Live, Model);
    LiveWritePageThreads(Writer, Model);
    RtlWriteBytes(Writer, ReaderPageScript, sizeof(ReaderPageScript) - 1);
    RtlWriteText(Writer, "</body></html>\n");
}


_Use_decl_annotations_
ULONG
LiveWriteLivePage(
    PREADER_LIVE Live,
    PCREADER_LIVE_MODEL Model,
    ULONG IntervalInMilliseconds
    )
{
    PCREADER_CONTEXT Context = Live->Session.Context;
    READER_CONTEXT Quiet = *Context;
    READER_FILE File;
    RTL_WRITER Errors;
    CHAR Buffer[READER_PAGE_ERROR_SIZE];
    LARGE_INTEGER Timeout;
    ULONG Tries = Model->IsEnded ? READER_PAGE_TRIES : 1;
    ULONG Try;

    Quiet.Errors = &Errors;
    Timeout.QuadPart = -READER_PAGE_PAUSE;
    for (Try = 0; Try < Tries; Try++) {

        RtlInitializeBufferWriter(&Errors, Buffer, sizeof(Buffer));
        if (Try != 0) {
            Context->Rtl->NtDelayExecution(FALSE, &Timeout);
        }

        if (!BaseCreateFile(&File,
                            &Quiet,
                            Live->Options->Html,
                            Live->Options->HtmlUtf8,
                            FALSE)) {
            continue;
        }

        LiveWritePage(&File.Writer, Live, Model, IntervalInMilliseconds);
        if (BaseCloseFile(&File, TRUE) == READER_EXIT_SUCCESS) {
            Live->HasPage = TRUE;
            return READER_EXIT_SUCCESS;
        }
    }

    if (Live->HasPage && !Model->IsEnded) {
        return READER_EXIT_SUCCESS;
    }

    RtlWriteBytes(Context->Errors, Buffer, Errors.LengthInBytes);
    RtlFlushWriter(Context->Errors);
    return READER_EXIT_FAILURE;
}
