# Completes what is typed after TraceReader, in PowerShell 5 or later:
#
#     . .\TraceReader.ps1
#
# Written by `TraceReader --completions powershell`.

Register-ArgumentCompleter -Native -CommandName 'TraceReader', 'TraceReader.exe' -ScriptBlock {
    param($Word, $Ast, $Position)

    $Commands = [ordered]@{
        'run' = 'Runs a program with settings, and says where its session is'
        'attach' = 'Records the calls of a program that runs from one module to another'
        'detach' = 'Ends what attach, or run with --imports, has begun in a process'
        'collect' = 'Collects what a traced driver records, while it runs'
        'info' = 'Shows the process, its modules and threads, the clock and totals'
        'sessions' = 'Lists the sessions in a directory, and which process started which'
        'report' = 'Shows each function''s calls and times'
        'tree' = 'Shows the call tree of all threads, merged'
        'callers' = 'Shows who called a function, how often and for how long'
        'callees' = 'Shows whom a function called, how often and for how long'
        'outliers' = 'Shows a function''s slowest calls, and how long all of them took'
        'waits' = 'Shows what the threads waited for, how long, and for which functions'
        'hot' = 'Shows the functions that cost more to trace than they take'
        'exclude' = 'Writes the list of functions whose hooks TRACER_EXCLUDE removes'
        'stack' = 'Shows how much stack the threads and functions used'
        'threads' = 'Shows what each thread did, and for how long'
        'modules' = 'Shows what was called in each module, and from other modules'
        'diff' = 'Shows what changed from session A to session B, by function'
        'replay' = 'Shows the calls as they happened'
        'live' = 'Shows where a running program spends its time, updated continuously'
        'ctl' = 'Stops, starts, clears, marks or copies what is being recorded'
        'view' = 'Opens a session in the viewer, a page for the default browser'
        'export' = 'Writes a file that other tools open'
        'sql' = 'Runs an SQL statement over a session; without one, shows the tables'
        'verify' = 'Checks every header and every record'
        'pack' = 'Puts a session into one small file that can be read elsewhere'
        'unpack' = 'Makes the files of a pack again'
        'recover' = 'Makes a clean copy of a damaged session'
    }

    # --NAME, or --NAME= and its values; then what it does.
    $Options = @{
        'run' = @(
            '--symbols=@directory also look for images and their symbols in these folders'
            '--directory=@directory where the session goes (default: %LOCALAPPDATA%\Tracer)'
            '--mode=file,ring,tree,compact,compact-ring file (all calls), ring (each thread''s last), compact, compact-ring (the same in a tenth of the bytes) or tree (call trees)'
            '--modules= the modules to record (game;engine), or not to (-third)'
            '--executables= the programs to trace, of those that the program starts'
            '--imports= also record calls of these functions by any module (kernel32, *)'
            '--callers= also record what these modules call in others (game.exe)'
            '--children with these: also in the processes that the program starts'
            '--exclude=@file functions without hooks: a list of TraceReader exclude or hot'
            '--chrono=@file with --mode tree: functions whose calls are recorded in order'
            '--max-bytes= the largest size of a thread''s file'
            '--min-free= what stays free of the disk: 5%, 10G; 0: nothing'
            '--min-duration= shorter calls are only counted (10us)'
            '--max-depth= deeper calls are only counted'
            '--clock=tsc,thread,none where times come from: tsc, thread or none'
            '--stopped nothing is recorded until TraceReader ctl SESSION start'
            '--flush full parts of a file go to the disk at once'
            '--view-size= the largest part of a file that is mapped at a time'
            '--control= the size of the control file; 0: there is none'
            '--config=@file the ini file; NUL: none'
            '--report at the end, show the first rows of the report'
            '--no-symbols do not keep the functions'' names and lines in the session'
            '--help this text'
        )
        'attach' = @(
            '--directory=@directory where the session goes (default: %LOCALAPPDATA%\Tracer)'
            '--mode=file,ring,tree,compact,compact-ring file (all calls), ring (each thread''s last), compact, compact-ring (the same in a tenth of the bytes) or tree (call trees)'
            '--modules= the modules to record (game;engine), or not to (-third)'
            '--executables= the programs to trace, of those that the program starts'
            '--imports= also record calls of these functions by any module (kernel32, *)'
            '--callers= also record what these modules call in others (game.exe)'
            '--children with these: also in the processes that the program starts'
            '--exclude=@file functions without hooks: a list of TraceReader exclude or hot'
            '--chrono=@file with --mode tree: functions whose calls are recorded in order'
            '--max-bytes= the largest size of a thread''s file'
            '--min-free= what stays free of the disk: 5%, 10G; 0: nothing'
            '--min-duration= shorter calls are only counted (10us)'
            '--max-depth= deeper calls are only counted'
            '--clock=tsc,thread,none where times come from: tsc, thread or none'
            '--stopped nothing is recorded until TraceReader ctl SESSION start'
            '--flush full parts of a file go to the disk at once'
            '--view-size= the largest part of a file that is mapped at a time'
            '--control= the size of the control file; 0: there is none'
            '--config=@file the ini file; NUL: none'
            '--help this text'
        )
        'detach' = @(
            '--help this text'
        )
        'collect' = @(
            '--output=@file write to FILE (-o FILE is the same)'
            '--seconds= end after N seconds'
            '--directory=@directory where the session goes (default: %LOCALAPPDATA%\Tracer)'
            '--help this text'
        )
        'info' = @(
            '--process= only processes with this identifier or name'
            '--all-runs add up all runs in a directory, not only the newest'
            '--internals show all that is known, also of the clock, the hooks and the workers'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--etl=@file also say from this event trace log what threads did'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'sessions' = @(
            '--older= only sessions that began AGE ago or earlier (90m, 12h, 7d, 4w)'
            '--keep= not the N sessions that began last'
            '--larger= only sessions whose stores have more than SIZE bytes'
            '--remove remove the sessions that --older, --keep and --larger leave'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'report' = @(
            '--sort=total,self,calls,avg,min,max,waited,name total, self, calls, avg, min, max, waited or name, if it has that column'
            '--limit= show at most N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--by=process,module,process,module,module,process process: separate results for each process; module: a row for each module, of the calls into it; process,module: both'
            '--module= only functions of modules whose name begins with PREFIX'
            '--function= only functions whose names begin with a prefix of LIST'
            '--exclude= no functions whose names begin with a prefix of LIST'
            '--workers= read N threads at a time (default: one for each processor)'
            '--general use only the general pairing rules: slower, with the same result'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--from= from TIME after the first record on (1500000, 1500us, 1.5ms), or before the last one (-50ms), or a time of day (14:03:22.5; with a Z in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)'
            '--to= up to TIME after the first record, or before the last one (-50ms), or a time of day, or to the next mark TEXT'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--lines show the source file and line of each function'
            '--percentiles show how long 50, 90 and 99 of 100 calls of each function took at most'
            '--waits=@file take from FILE which functions wait (module!function KIND), or do not (-module!function)'
            '--contention= a call of a lock waited if it took TIME or longer (default: 1us)'
            '--subtract-probe subtract the cost of the hooks from the times'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--etl=@file also say from this event trace log what threads did'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'tree' = @(
            '--sort=total,self,calls,avg,min,max,waited,name total, self, calls, avg, min, max, waited or name, if it has that column'
            '--limit= show at most N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--function= only functions whose names begin with a prefix of LIST'
            '--exclude= no functions whose names begin with a prefix of LIST'
            '--depth= at most N levels'
            '--min-duration= no calls that are shorter than TIME (10us); of a tree, no nodes whose total is less'
            '--per-thread a tree for each thread, and one for each fiber it ran'
            '--workers= read N threads at a time (default: one for each processor)'
            '--general use only the general pairing rules: slower, with the same result'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--from= from TIME after the first record on (1500000, 1500us, 1.5ms), or before the last one (-50ms), or a time of day (14:03:22.5; with a Z in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)'
            '--to= up to TIME after the first record, or before the last one (-50ms), or a time of day, or to the next mark TEXT'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--waits=@file take from FILE which functions wait (module!function KIND), or do not (-module!function)'
            '--contention= a call of a lock waited if it took TIME or longer (default: 1us)'
            '--subtract-probe subtract the cost of the hooks from the times'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--etl=@file also say from this event trace log what threads did'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'callers' = @(
            '--sort=total,self,calls,avg,min,max,waited,name total, self, calls, avg, min, max, waited or name, if it has that column'
            '--limit= show at most N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--depth= at most N levels'
            '--workers= read N threads at a time (default: one for each processor)'
            '--general use only the general pairing rules: slower, with the same result'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--from= from TIME after the first record on (1500000, 1500us, 1.5ms), or before the last one (-50ms), or a time of day (14:03:22.5; with a Z in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)'
            '--to= up to TIME after the first record, or before the last one (-50ms), or a time of day, or to the next mark TEXT'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--waits=@file take from FILE which functions wait (module!function KIND), or do not (-module!function)'
            '--contention= a call of a lock waited if it took TIME or longer (default: 1us)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--etl=@file also say from this event trace log what threads did'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'callees' = @(
            '--sort=total,self,calls,avg,min,max,waited,name total, self, calls, avg, min, max, waited or name, if it has that column'
            '--limit= show at most N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--workers= read N threads at a time (default: one for each processor)'
            '--general use only the general pairing rules: slower, with the same result'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--from= from TIME after the first record on (1500000, 1500us, 1.5ms), or before the last one (-50ms), or a time of day (14:03:22.5; with a Z in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)'
            '--to= up to TIME after the first record, or before the last one (-50ms), or a time of day, or to the next mark TEXT'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--waits=@file take from FILE which functions wait (module!function KIND), or do not (-module!function)'
            '--contention= a call of a lock waited if it took TIME or longer (default: 1us)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--etl=@file also say from this event trace log what threads did'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'outliers' = @(
            '--limit= show at most N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--workers= read N threads at a time (default: one for each processor)'
            '--general use only the general pairing rules: slower, with the same result'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--from= from TIME after the first record on (1500000, 1500us, 1.5ms), or before the last one (-50ms), or a time of day (14:03:22.5; with a Z in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)'
            '--to= up to TIME after the first record, or before the last one (-50ms), or a time of day, or to the next mark TEXT'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--waits=@file take from FILE which functions wait (module!function KIND), or do not (-module!function)'
            '--contention= a call of a lock waited if it took TIME or longer (default: 1us)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--etl=@file also say from this event trace log what threads did'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'waits' = @(
            '--limit= show at most N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--general use only the general pairing rules: slower, with the same result'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--from= from TIME after the first record on (1500000, 1500us, 1.5ms), or before the last one (-50ms), or a time of day (14:03:22.5; with a Z in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)'
            '--to= up to TIME after the first record, or before the last one (-50ms), or a time of day, or to the next mark TEXT'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--waits=@file take from FILE which functions wait (module!function KIND), or do not (-module!function)'
            '--contention= a call of a lock waited if it took TIME or longer (default: 1us)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'hot' = @(
            '--limit= show at most N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--module= only functions of modules whose name begins with PREFIX'
            '--function= only functions whose names begin with a prefix of LIST'
            '--exclude= no functions whose names begin with a prefix of LIST'
            '--workers= read N threads at a time (default: one for each processor)'
            '--general use only the general pairing rules: slower, with the same result'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--min= only rows of SIZE bytes or more'
            '--output=@file write to FILE (-o FILE is the same)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--exclude-list=@file write the list for TRACER_EXCLUDE to FILE; needs the images'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'exclude' = @(
            '--module= only functions of modules whose name begins with PREFIX'
            '--output=@file write to FILE (-o FILE is the same)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--functions-from=@file also take names from FILE, one per line (# begins a comment)'
            '--help this text'
        )
        'stack' = @(
            '--limit= show at most N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--module= only functions of modules whose name begins with PREFIX'
            '--function= only functions whose names begin with a prefix of LIST'
            '--exclude= no functions whose names begin with a prefix of LIST'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--static bytes of stack that each function reserves, from the image alone'
            '--min= only rows of SIZE bytes or more'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'threads' = @(
            '--sort=total,self,calls,avg,min,max,waited,name total, self, calls, avg, min, max, waited or name, if it has that column'
            '--limit= show at most N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--from= from TIME after the first record on (1500000, 1500us, 1.5ms), or before the last one (-50ms), or a time of day (14:03:22.5; with a Z in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)'
            '--to= up to TIME after the first record, or before the last one (-50ms), or a time of day, or to the next mark TEXT'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--waits=@file take from FILE which functions wait (module!function KIND), or do not (-module!function)'
            '--contention= a call of a lock waited if it took TIME or longer (default: 1us)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--etl=@file also say from this event trace log what threads did'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'modules' = @(
            '--sort=total,self,calls,avg,min,max,waited,name total, self, calls, avg, min, max, waited or name, if it has that column'
            '--limit= show at most N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--from= from TIME after the first record on (1500000, 1500us, 1.5ms), or before the last one (-50ms), or a time of day (14:03:22.5; with a Z in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)'
            '--to= up to TIME after the first record, or before the last one (-50ms), or a time of day, or to the next mark TEXT'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'diff' = @(
            '--sort=total,self,calls,avg,min,max,waited,name total, self, calls, avg, min, max, waited or name, if it has that column'
            '--limit= show at most N lines'
            '--process= only processes with this identifier or name'
            '--module= only functions of modules whose name begins with PREFIX'
            '--function= only functions whose names begin with a prefix of LIST'
            '--exclude= no functions whose names begin with a prefix of LIST'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--waits=@file take from FILE which functions wait (module!function KIND), or do not (-module!function)'
            '--contention= a call of a lock waited if it took TIME or longer (default: 1us)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--width=auto,none fit tables to WIDTH columns: a number, none or auto (a terminal''s)'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'replay' = @(
            '--limit= show at most N lines'
            '--tail= show only the last N lines'
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--function= only functions whose names begin with a prefix of LIST'
            '--exclude= no functions whose names begin with a prefix of LIST'
            '--depth= at most N levels'
            '--min-duration= no calls that are shorter than TIME (10us); of a tree, no nodes whose total is less'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--from= from TIME after the first record on (1500000, 1500us, 1.5ms), or before the last one (-50ms), or a time of day (14:03:22.5; with a Z in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)'
            '--to= up to TIME after the first record, or before the last one (-50ms), or a time of day, or to the next mark TEXT'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--times show the time of each event, in seconds after the first record'
            '--wall=local,utc show the time of day of each event: local or utc'
            '--open also in CSV and JSON, the calls that are open at --from'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--etl=@file also say from this event trace log what threads did'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--color=auto,always,never colours: auto (on a terminal, without NO_COLOR), always or never'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'live' = @(
            '--limit= show at most N lines'
            '--process= only processes with this identifier or name'
            '--function= only functions whose names begin with a prefix of LIST'
            '--exclude= no functions whose names begin with a prefix of LIST'
            '--interval= milliseconds between two refreshes (default: 1000, minimum: 10)'
            '--count= end after N refreshes'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--from-start read all records, not only those from an index''s last mark on'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--html=@file keep a page that refreshes itself up to date in FILE'
            '--budget= read with at most PERCENT of a processor; 100: read everything'
            '--plain write lines, even to a terminal'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--help this text'
        )
        'ctl' = @(
            '--limit= show at most N lines'
            '--process= only processes with this identifier or name'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--help this text'
        )
        'view' = @(
            '--workers= read N threads at a time (default: one for each processor)'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--all-runs add up all runs in a directory, not only the newest'
            '--output=@file write to FILE (-o FILE is the same)'
            '--embed= the session is in the page if it takes at most SIZE as a pack (default: 16M; 0: it is not)'
            '--no-open write the page, and do not open it'
            '--levels add up beside the session (*.trace.levels) what the page shows first, which then needs not read all records'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--help this text'
        )
        'export' = @(
            '--thread= only threads with this identifier'
            '--process= only processes with this identifier or name'
            '--function= only functions whose names begin with a prefix of LIST'
            '--exclude= no functions whose names begin with a prefix of LIST'
            '--depth= at most N levels'
            '--min-duration= no calls that are shorter than TIME (10us); of a tree, no nodes whose total is less'
            '--workers= read N threads at a time (default: one for each processor)'
            '--general use only the general pairing rules: slower, with the same result'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--from= from TIME after the first record on (1500000, 1500us, 1.5ms), or before the last one (-50ms), or a time of day (14:03:22.5; with a Z in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)'
            '--to= up to TIME after the first record, or before the last one (-50ms), or a time of day, or to the next mark TEXT'
            '--all include what was recorded before the last clear (TraceReader ctl)'
            '--all-runs add up all runs in a directory, not only the newest'
            '--no-index neither use nor write an index (*.trace.index)'
            '--mark-every= records from one mark of a new index to the next (default: 65536)'
            '--waits=@file take from FILE which functions wait (module!function KIND), or do not (-module!function)'
            '--contention= a call of a lock waited if it took TIME or longer (default: 1us)'
            '--format=folded,chrome,perfetto,fxt,speedscope,callgrind,csv,csv-osr,csv-cap,html,parquet what kind of file to write; see below'
            '--output=@file write to FILE (-o FILE is the same)'
            '--split-size= begin a new file when one has SIZE bytes'
            '--gzip compress the file (as gzip does; FILE is best named .gz)'
            '--embed= the session is in the page if it takes at most SIZE as a pack (default: 16M; 0: it is not)'
            '--append=@directory add to the dataset of Parquet files in DIR, in place of --output'
            '--tables= write these tables (default: all; with --append functions,marks)'
            '--encoding=delta,plain delta: small files (the default); plain: for any reader of Parquet'
            '--host= say that it was recorded on NAME (default: this computer)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--etl=@file also say from this event trace log what threads did'
            '--no-cache neither use nor write the session''s cache of symbols'
            '--names=short,full short names of functions (the default on a terminal), or full ones'
            '--help this text'
        )
        'sql' = @(
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--help this text'
        )
        'verify' = @(
            '--process= only processes with this identifier or name'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--pager= the program that shows long text on a terminal (less -R)'
            '--no-pager write long text to a terminal at once'
            '--help this text'
        )
        'pack' = @(
            '--process= only processes with this identifier or name'
            '--workers= read N threads at a time (default: one for each processor)'
            '--verbose at the end, print what was read, the speed and the memory used'
            '--all-runs add up all runs in a directory, not only the newest'
            '--output=@file write to FILE (-o FILE is the same)'
            '--symbols=@directory also look for images and their symbols in these folders'
            '--help this text'
        )
        'unpack' = @(
            '--output=@file write to FILE (-o FILE is the same)'
            '--help this text'
        )
        'recover' = @(
            '--output=@file write to FILE (-o FILE is the same)'
            '--csv comma-separated values (RFC 4180)'
            '--json JSON (UTF-8)'
            '--raw in text: whole nanoseconds and bytes, without units'
            '--help this text'
        )
    }

    $Complete = {
        param($Text, $Help)
        [System.Management.Automation.CompletionResult]::new(
            $Text, $Text, 'ParameterValue', $Help)
    }

    # What stands before the word.
    $Words = @($Ast.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $Position } |
        ForEach-Object { $_.Extent.Text })
    if ($Words.Count -le 1 -or
        ($Words.Count -eq 2 -and $Words[1] -eq 'help')) {
        foreach ($Name in $Commands.Keys) {
            if ($Name.StartsWith($Word)) { & $Complete $Name $Commands[$Name] }
        }
        return
    }

    # Without an answer PowerShell completes names of files.
    $Rows = $Options[$Words[1]]
    if ($null -eq $Rows) { return }
    $Takes = @{}
    foreach ($Row in $Rows) {
        $Option, $Values = ($Row -split ' ', 2)[0] -split '=', 2
        if ($null -ne $Values) { $Takes[$Option] = $Values }
        if ($Option -eq '--output') { $Takes['-o'] = $Values }
    }

    for ($Index = 2; $Index -lt $Words.Count; $Index++) {
        if ($Words[$Index] -eq '--') { return }
        if ($Takes.ContainsKey($Words[$Index])) {
            $Index++
        } elseif ($Words[1] -eq 'run' -and -not $Words[$Index].StartsWith('-')) {
            return
        }
    }

    $Prefix = ''
    $Option = $Words[-1]
    if ($Word -match '^(--[^=]+)=(.*)$') {
        $Option = $Matches[1]
        $Prefix = "$Option="
        $Word = $Matches[2]
    }
    if ($Takes.ContainsKey($Option)) {
        foreach ($Value in $Takes[$Option] -split ',') {
            if ($Value -ne '' -and -not $Value.StartsWith('@') -and $Value.StartsWith($Word)) {
                & $Complete "$Prefix$Value" $Value
            }
        }
    } elseif ($Word.StartsWith('-')) {
        foreach ($Row in $Rows) {
            $Name, $Help = $Row -split ' ', 2
            $Name = ($Name -split '=', 2)[0]
            if ($Name.StartsWith($Word)) { & $Complete $Name $Help }
        }
    }
}
