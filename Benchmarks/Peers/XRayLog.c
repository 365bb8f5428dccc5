/*++

Module Name:

    XRayLog.c

Abstract:

    Linked into the programs that BenchPeers.py builds for XRay's flight data
    recorder.  That mode keeps its records in memory and writes them only when
    the program asks for it: this starts it before main, with the options that
    the environment variable XRAY_LOG gives, and writes the file at exit.
    Without the variable nothing is patched.

--*/

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLAIN __attribute__((xray_never_instrument))

//
// From xray/xray_log_interface.h and xray/xray_interface.h, which are C++.
//

extern int __xray_log_select_mode(const char *Mode);
extern int __xray_log_init_mode(const char *Mode, const char *Options);
extern int __xray_log_finalize(void);
extern int __xray_log_flushLog(void);
extern int __xray_patch(void);

#define XRAY_REGISTRATION_OK 0
#define XRAY_LOG_INITIALIZED 2
#define XRAY_LOG_FINALIZED 4
#define XRAY_LOG_FLUSHED 2
#define XRAY_PATCH_SUCCESS 1

static int Started;

PLAIN
__attribute__((constructor))
static
void
StartLog(
    void
    )
{
    const char *Options;

    Options = getenv("XRAY_LOG");
    if (Options == NULL) {
        return;
    }

    if (__xray_log_select_mode("xray-fdr") != XRAY_REGISTRATION_OK ||
        __xray_log_init_mode("xray-fdr", Options) != XRAY_LOG_INITIALIZED ||
        __xray_patch() != XRAY_PATCH_SUCCESS) {

        fprintf(stderr, "XRayLog: starting the log failed\n");
        _exit(125);
    }

    Started = 1;
}

PLAIN
__attribute__((destructor))
static
void
WriteLog(
    void
    )
{
    if (!Started) {
        return;
    }

    if (__xray_log_finalize() != XRAY_LOG_FINALIZED ||
        __xray_log_flushLog() != XRAY_LOG_FLUSHED) {

        fprintf(stderr, "XRayLog: writing the log failed\n");
        _exit(125);
    }
}
