# SPDX-License-Identifier: MIT OR Apache-2.0
# bash completion for axprof; made by "axprof generate" from cli/cli_table.def.
_axprof()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local verb=${COMP_WORDS[1]} words
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "--help --version run report export whatif info check pack machine rules doctor" -- "$cur"))
        return
    fi
    case $verb:$prev in
    run:--output | run:-o)
        COMPREPLY=($(compgen -f -- "$cur"))
        return ;;
    run:--report)
        COMPREPLY=($(compgen -f -- "$cur"))
        return ;;
    run:--format | run:-f)
        COMPREPLY=($(compgen -W "text json markdown html" -- "$cur"))
        return ;;
    run:--delay)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--duration)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--steps)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--keep)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--keep-steps)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--trigger)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--sample)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--memory)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--stacks)
        COMPREPLY=($(compgen -W "unwind fp none" -- "$cur"))
        return ;;
    run:--step-range)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--with)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--without)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    run:--functions)
        COMPREPLY=($(compgen -W "most all" -- "$cur"))
        return ;;
    report:--format | report:-f)
        COMPREPLY=($(compgen -W "text json markdown html" -- "$cur"))
        return ;;
    report:--output | report:-o)
        COMPREPLY=($(compgen -f -- "$cur"))
        return ;;
    report:--width)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    report:--color)
        COMPREPLY=($(compgen -W "auto always never" -- "$cur"))
        return ;;
    report:--findings)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    report:--events)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    report:--set)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    report:--ignore)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    report:--symbols)
        COMPREPLY=($(compgen -d -- "$cur"))
        return ;;
    export:--format | export:-f)
        COMPREPLY=($(compgen -W "perfetto chrome speedscope folded pprof memory-viz openmetrics csv-ops csv-events csv-shapes json folded-peak folded-leaks folded-allocated folded-temporary" -- "$cur"))
        return ;;
    export:--output | export:-o)
        COMPREPLY=($(compgen -f -- "$cur"))
        return ;;
    export:--symbols)
        COMPREPLY=($(compgen -d -- "$cur"))
        return ;;
    whatif:--scale)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    whatif:--remove)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    whatif:--scale-category)
        COMPREPLY=($(compgen -W "" -- "$cur"))
        return ;;
    whatif:--threads)
        COMPREPLY=($(compgen -W "even" -- "$cur"))
        return ;;
    whatif:--symbols)
        COMPREPLY=($(compgen -d -- "$cur"))
        return ;;
    pack:--output | pack:-o)
        COMPREPLY=($(compgen -f -- "$cur"))
        return ;;
    esac
    case $verb in
    run) words="--help --output --report --format --quiet --shapes --no-file --delay --duration --steps --keep --keep-steps --trigger --sample --memory --stacks --step-range --with --without --functions --no-args --list" ;;
    report) words="--help --format --output --width --color --findings --shapes --events --set --ignore --symbols" ;;
    export) words="--help --format --output --symbols" ;;
    whatif) words="--help --scale --remove --scale-category --threads --symbols" ;;
    info) words="--help" ;;
    check) words="--help" ;;
    pack) words="--help --output" ;;
    machine) words="--help --json --refresh" ;;
    rules) words="--help" ;;
    doctor) words="--help --clean" ;;
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    elif [[ $verb == run ]]; then
        COMPREPLY=($(compgen -c -- "$cur") $(compgen -f -- "$cur"))
    else
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}
complete -o filenames -F _axprof axprof
