# Completes what is typed after TraceReader, in bash:
#
#     source TraceReader.bash
#
# Written by `TraceReader --completions bash`.

_TraceReader_commands='run attach detach collect info sessions report tree callers callees outliers waits hot exclude stack threads modules diff replay live ctl view export sql verify pack unpack recover'

# A command's options, one a line: --NAME, or --NAME= and its values.
_TraceReader_options()
{
    case $1 in
    run) echo '--symbols=@directory
--directory=@directory
--mode=file,ring,tree,compact,compact-ring
--modules=
--executables=
--imports=
--callers=
--children
--exclude=@file
--chrono=@file
--max-bytes=
--min-free=
--min-duration=
--max-depth=
--clock=tsc,thread,none
--stopped
--flush
--view-size=
--control=
--config=@file
--report
--no-symbols
--help' ;;
    attach) echo '--directory=@directory
--mode=file,ring,tree,compact,compact-ring
--modules=
--executables=
--imports=
--callers=
--children
--exclude=@file
--chrono=@file
--max-bytes=
--min-free=
--min-duration=
--max-depth=
--clock=tsc,thread,none
--stopped
--flush
--view-size=
--control=
--config=@file
--help' ;;
    detach) echo '--help' ;;
    collect) echo '--output=@file
--seconds=
--directory=@directory
--help' ;;
    info) echo '--process=
--all-runs
--internals
--symbols=@directory
--etl=@file
--no-cache
--csv
--json
--raw
--width=auto,none
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    sessions) echo '--older=
--keep=
--larger=
--remove
--csv
--json
--raw
--width=auto,none
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    report) echo '--sort=total,self,calls,avg,min,max,waited,name
--limit=
--thread=
--process=
--by=process,module,process,module,module,process
--module=
--function=
--exclude=
--workers=
--general
--verbose
--from=
--to=
--all
--all-runs
--no-index
--mark-every=
--lines
--percentiles
--waits=@file
--contention=
--subtract-probe
--symbols=@directory
--etl=@file
--no-cache
--csv
--json
--raw
--width=auto,none
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    tree) echo '--sort=total,self,calls,avg,min,max,waited,name
--limit=
--thread=
--process=
--function=
--exclude=
--depth=
--min-duration=
--per-thread
--workers=
--general
--verbose
--from=
--to=
--all
--all-runs
--no-index
--mark-every=
--waits=@file
--contention=
--subtract-probe
--symbols=@directory
--etl=@file
--no-cache
--csv
--json
--raw
--width=auto,none
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    callers) echo '--sort=total,self,calls,avg,min,max,waited,name
--limit=
--thread=
--process=
--depth=
--workers=
--general
--verbose
--from=
--to=
--all
--all-runs
--no-index
--mark-every=
--waits=@file
--contention=
--symbols=@directory
--etl=@file
--no-cache
--csv
--json
--raw
--width=auto,none
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    callees) echo '--sort=total,self,calls,avg,min,max,waited,name
--limit=
--thread=
--process=
--workers=
--general
--verbose
--from=
--to=
--all
--all-runs
--no-index
--mark-every=
--waits=@file
--contention=
--symbols=@directory
--etl=@file
--no-cache
--csv
--json
--raw
--width=auto,none
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    outliers) echo '--limit=
--thread=
--process=
--workers=
--general
--verbose
--from=
--to=
--all
--all-runs
--no-index
--mark-every=
--waits=@file
--contention=
--symbols=@directory
--etl=@file
--no-cache
--csv
--json
--raw
--width=auto,none
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    waits) echo '--limit=
--thread=
--process=
--general
--verbose
--from=
--to=
--all
--all-runs
--no-index
--mark-every=
--waits=@file
--contention=
--symbols=@directory
--no-cache
--csv
--json
--raw
--width=auto,none
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    hot) echo '--limit=
--thread=
--process=
--module=
--function=
--exclude=
--workers=
--general
--verbose
--all
--all-runs
--no-index
--mark-every=
--min=
--output=@file
--symbols=@directory
--no-cache
--exclude-list=@file
--csv
--json
--raw
--width=auto,none
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    exclude) echo '--module=
--output=@file
--symbols=@directory
--no-cache
--functions-from=@file
--help' ;;
    stack) echo '--limit=
--thread=
--process=
--module=
--function=
--exclude=
--all
--all-runs
--no-index
--mark-every=
--static
--min=
--symbols=@directory
--no-cache
--csv
--json
--raw
--width=auto,none
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    threads) echo '--sort=total,self,calls,avg,min,max,waited,name
--limit=
--thread=
--process=
--from=
--to=
--all
--all-runs
--no-index
--mark-every=
--waits=@file
--contention=
--symbols=@directory
--etl=@file
--no-cache
--csv
--json
--raw
--width=auto,none
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    modules) echo '--sort=total,self,calls,avg,min,max,waited,name
--limit=
--thread=
--process=
--from=
--to=
--all
--all-runs
--no-index
--mark-every=
--symbols=@directory
--no-cache
--csv
--json
--raw
--width=auto,none
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    diff) echo '--sort=total,self,calls,avg,min,max,waited,name
--limit=
--process=
--module=
--function=
--exclude=
--all
--all-runs
--no-index
--mark-every=
--waits=@file
--contention=
--symbols=@directory
--no-cache
--csv
--json
--raw
--width=auto,none
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    replay) echo '--limit=
--tail=
--thread=
--process=
--function=
--exclude=
--depth=
--min-duration=
--verbose
--from=
--to=
--all
--all-runs
--times
--wall=local,utc
--open
--no-index
--mark-every=
--symbols=@directory
--etl=@file
--no-cache
--csv
--json
--raw
--names=short,full
--color=auto,always,never
--pager=
--no-pager
--help' ;;
    live) echo '--limit=
--process=
--function=
--exclude=
--interval=
--count=
--verbose
--all
--all-runs
--from-start
--no-index
--mark-every=
--html=@file
--budget=
--plain
--symbols=@directory
--no-cache
--names=short,full
--help' ;;
    ctl) echo '--limit=
--process=
--csv
--json
--raw
--help' ;;
    view) echo '--workers=
--verbose
--all-runs
--output=@file
--embed=
--no-open
--levels
--symbols=@directory
--help' ;;
    export) echo '--thread=
--process=
--function=
--exclude=
--depth=
--min-duration=
--workers=
--general
--verbose
--from=
--to=
--all
--all-runs
--no-index
--mark-every=
--waits=@file
--contention=
--format=folded,chrome,perfetto,fxt,speedscope,callgrind,csv,csv-osr,csv-cap,html,parquet
--output=@file
--split-size=
--gzip
--embed=
--append=@directory
--tables=
--encoding=delta,plain
--host=
--symbols=@directory
--etl=@file
--no-cache
--names=short,full
--help' ;;
    sql) echo '--csv
--json
--raw
--help' ;;
    verify) echo '--process=
--csv
--json
--raw
--pager=
--no-pager
--help' ;;
    pack) echo '--process=
--workers=
--verbose
--all-runs
--output=@file
--symbols=@directory
--help' ;;
    unpack) echo '--output=@file
--help' ;;
    recover) echo '--output=@file
--csv
--json
--raw
--help' ;;
    esac
}

_TraceReader()
{
    local Word=${COMP_WORDS[COMP_CWORD]} Prefix='' Names='' Row
    local Previous=${COMP_WORDS[COMP_CWORD - 1]} Index Place=options
    local -A Takes=()
    COMPREPLY=()

    if [ "$COMP_CWORD" = 1 ] ||
        [ "$COMP_CWORD ${COMP_WORDS[1]}" = '2 help' ]; then
        [ "$COMP_CWORD" = 2 ] || Names='help --help --version --schema'
        mapfile -t COMPREPLY < <(compgen -W \
            "$_TraceReader_commands $Names" -- "$Word")
        return
    fi

    while IFS= read -r Row; do
        Names="$Names ${Row%%=*}"
        [ "$Row" = "${Row%%=*}" ] ||
            Takes[${Row%%=*}]=${Row#*=}
        [ "${Row%%=*}" != --output ] || Takes[-o]=${Row#*=}
    done < <(_TraceReader_options "${COMP_WORDS[1]}")

    # What stands before the word: bash makes the = of --NAME=VALUE
    # a word of its own.
    for ((Index = 2; Index < COMP_CWORD; Index++)); do
        Row=${COMP_WORDS[Index]}
        if [ "$Row" = -- ]; then
            Place=paths
        elif [ "$Row" = = ]; then
            Index=$((Index + 1))
        elif [ -n "$Row" ] && [ "${Takes[$Row]+x}" ]; then
            [ "${COMP_WORDS[Index + 1]}" = = ] || Index=$((Index + 1))
        elif [ "${Row:0:1}" != - ] && [ "${COMP_WORDS[1]}" = run ]; then
            Place=paths
        fi
        [ $Place = options ] || break
    done

    if [ "$Word" = = ]; then
        Word=''
    elif [ "$Previous" = = ]; then
        Previous=${COMP_WORDS[COMP_CWORD - 2]}
    elif [ "${Word#--*=}" != "$Word" ]; then
        Previous=${Word%%=*}
        Prefix=$Previous=
        Word=${Word#*=}
    fi

    Row=@file
    if [ $Place = options ]; then
        if [ -n "$Previous" ] && [ "${Takes[$Previous]+x}" ]; then
            Row=${Takes[$Previous]}
        elif [ "${Word:0:1}" = - ]; then
            Row=${Names// /,}
        fi
    fi

    case $Row in
    @file) Row=-f ;;
    @directory) Row=-d ;;
    *)
        mapfile -t COMPREPLY < <(compgen -P "$Prefix" \
            -W "${Row//,/ }" -- "$Word")
        return
        ;;
    esac
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -P "$Prefix" $Row -- "$Word")
}

complete -F _TraceReader TraceReader TraceReader.exe
