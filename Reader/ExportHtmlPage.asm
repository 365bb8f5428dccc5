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
        incbin "Html/Head.html"
        db "<style>", 10
        incbin "Html/Page.css"
        db "</style>", 10
        incbin "Html/Body.html"
ReaderHtmlHeadEnd:

ReaderHtmlTail:
        db "<script>", 10
        db '"use strict";', 10
        incbin "Html/Data.js"
        incbin "Html/Timeline.js"
        incbin "Html/Flame.js"
        incbin "Html/Table.js"
        incbin "Html/Main.js"
        db "</script>", 10
        db "</body>", 10, "</html>", 10
ReaderHtmlTailEnd:

        align 4

ReaderHtmlHeadSize:
        dd ReaderHtmlHeadEnd - ReaderHtmlHead
ReaderHtmlTailSize:
        dd ReaderHtmlTailEnd - ReaderHtmlTail
