;++
;
; Module Name:
;
;   ExportHtmlPage.asm
;
; Abstract:
;
;   The page of the HTML export, from Html/: what comes before the data, and
;   after it.
;
;--

        bits 64
        default rel

        section .rdata rdata align=16

        global ReaderHtmlHead
        global ReaderHtmlHeadSize
        global ReaderHtmlTail
        global ReaderHtmlTailSize

ReaderHtmlHead:
        incbin "Export/Html/Head.html"
        db "<style>", 10
        incbin "Export/Html/Page.css"
        db "</style>", 10
        incbin "Export/Html/Body.html"
ReaderHtmlHeadEnd:

ReaderHtmlTail:
        db "<script>", 10
        db '"use strict";', 10
        incbin "Export/Html/Data.js"
        incbin "Export/Html/Timeline.js"
        incbin "Export/Html/Flame.js"
        incbin "Export/Html/Table.js"
        incbin "Export/Html/Main.js"
        db "</script>", 10
        db "</body>", 10, "</html>", 10
ReaderHtmlTailEnd:

        align 4

ReaderHtmlHeadSize:
        dd ReaderHtmlHeadEnd - ReaderHtmlHead
ReaderHtmlTailSize:
        dd ReaderHtmlTailEnd - ReaderHtmlTail
