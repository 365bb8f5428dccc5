;++
;
; Module Name:
;
;   ExportViewPage.asm
;
; Abstract:
;
;   The viewer's page, which Build/MakeViewer.py puts together of
;   Reader/View/Page: what comes before what is known of a session, and after
;   it.  Where it could not be made (Build/Nasm.props), it is empty.
;
;--

        bits 64
        default rel

        section .rdata rdata align=16

        global ReaderViewBefore
        global ReaderViewBeforeSize
        global ReaderViewAfter
        global ReaderViewAfterSize

ReaderViewBefore:
%ifndef TRACER_NO_VIEWER
        incbin "Before.html"
%endif
ReaderViewBeforeEnd:

ReaderViewAfter:
%ifndef TRACER_NO_VIEWER
        incbin "After.html"
%endif
ReaderViewAfterEnd:

        align 4

ReaderViewBeforeSize:
        dd ReaderViewBeforeEnd - ReaderViewBefore
ReaderViewAfterSize:
        dd ReaderViewAfterEnd - ReaderViewAfter
