# Completion of holdfast for bash. Needs nothing else, and uses bash-completion where it is loaded.

_holdfast_commands=(run list show break schema init sweep stores check verify help)

_holdfast_options_of() {
    case $1 in
    run)
        printf '%s\n' -n --nb --nonblock -w --wait --timeout -E --conflict-exit-code -s --shared -x -e --exclusive \
            -j --slots -c --command -o --close -S --store --lease --fairness --owner --fenced --reenter \
            --on-lost -k --kill-after --max-time --leftovers --verbose -h --help
        ;;
    list | show | check) printf '%s\n' --json -S --store -h --help ;;
    break) printf '%s\n' --fence -S --store -h --help ;;
    schema | init | sweep) printf '%s\n' -S --store -h --help ;;
    verify)
        printf '%s\n' --clients --time --lease --seed --pauses --kills --html --json -S --store -h --help
        ;;
    stores) printf '%s\n' --json -h --help ;;
    help) printf '%s\n' -h --help ;;
    *) printf '%s\n' --version -h --help ;;
    esac
}

# Whether the option's value is the next word: -w 5, -sw 5, --wait 5; not -w5, --wait=5.
_holdfast_takes_next() {
    case $1 in
    --wait | --timeout | --conflict-exit-code | --slots | --command | --store | --lease | --fairness | \
        --owner | --on-lost | --kill-after | --max-time | --leftovers | --fence | --clients | --time | --seed | --html) ;;
    -[wEjcSk] | -[nsxeo]*[wEjcSk]) ;;
    *) return 1 ;;
    esac
}

# The words as the shell would hand them over. Bash splits at : and = too, and so tears URLs apart;
# what stood together on the line is put together again. Sets words, starts (where each begins in
# COMP_WORDS) and current.
_holdfast_join_words() {
    local rest=$COMP_LINE word separated last i
    words=() starts=() current=0
    for i in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[i]} separated=yes
        [[ $rest == [[:blank:]]* ]] || separated=
        rest=${rest#"${rest%%[![:blank:]]*}"}
        rest=${rest#"$word"}
        last=$((${#words[@]} - 1))
        if [[ $last -ge 0 && ! $separated && $COMP_LINE ]]; then
            words[last]+=$word
        else
            words+=("$word") starts+=("$i")
        fi
        if ((i == COMP_CWORD)); then current=$((${#words[@]} - 1)); fi
    done
}

# Without the quotes that a word was typed with. What a shell would have to expand stays as it is.
_holdfast_unquoted() {
    local word=$1
    case $word in
    \'*) word=${word#\'} word=${word%\'} ;;
    \"*) word=${word#\"} word=${word%\"} ;;
    *) word=${word//\\/} ;;
    esac
    printf '%s\n' "$word"
}

# All names that are held or waited for. A store that does not answer costs two seconds, and no more.
_holdfast_names() {
    local program=$1 store=$2
    type -P timeout >/dev/null && type -P -- "$program" >/dev/null || return
    [[ $store != *[\$\`]* ]] || return
    timeout -k 1 2 "$program" list ${store:+-S "$store"} 2>/dev/null </dev/null |
        {
            IFS= read -r _ # the headings
            while IFS= read -r line; do
                # Columns are two blanks apart. What was made visible (\x1b) cannot be typed so.
                line=${line%%  *}
                [[ -z $line || $line == *\\* ]] || printf '%s\n' "$line"
            done
        } | sort -u
}

_holdfast_offer() {
    local word
    while IFS= read -r word; do
        [[ $word != "$typed"* ]] || COMPREPLY+=("$word")
    done < <(printf '%s\n' "$@")
}

_holdfast_offer_names() {
    local name
    while IFS= read -r name; do
        [[ $name == "$typed"* ]] || continue
        [[ ${words[current]} == [\'\"]* ]] || printf -v name %q "$name"
        COMPREPLY+=("$name")
    done < <(_holdfast_names "$program" "$store")
}

_holdfast_offer_stores() {
    local folder
    case $typed in
    local://*)
        compopt -o nospace 2>/dev/null
        while IFS= read -r folder; do COMPREPLY+=("local://$folder/"); done \
            < <(compgen -d -- "${typed#local://}")
        ;;
    *)
        compopt -o nospace 2>/dev/null
        _holdfast_offer local: local:///
        ;;
    esac
}

_holdfast_offer_values() {
    case $1 in
    --fairness) _holdfast_offer fifo barging ;;
    --on-lost) _holdfast_offer term kill ignore ;;
    --leftovers) _holdfast_offer leave wait end ;;
    --html) compopt -o filenames 2>/dev/null && mapfile -t COMPREPLY < <(compgen -f -- "$typed") ;;
    --store | -*S) _holdfast_offer_stores ;;
    esac
}

_holdfast_offer_values_behind_equals() {
    local name=${typed%%=*} typed=${typed#*=} i
    _holdfast_offer_values "$name"
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=$name=${COMPREPLY[i]}; done
}

# What is behind the --: as if it stood alone.
_holdfast_command() {
    local first=$1
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "${starts[first]}"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "${starts[first]}"
    else
        compopt -o filenames 2>/dev/null
        local kinds=-f
        ((current > first)) || kinds=-cf
        mapfile -t COMPREPLY < <(compgen "$kinds" -- "$typed" | sort -u)
    fi
}

# Bash replaces only what is behind the last : = or @, so only that is to be answered.
_holdfast_leave_out_what_stays() {
    local break word=${words[current]} i
    for break in : = @; do
        [[ $COMP_WORDBREAKS == *"$break"* && $word == *"$break"* ]] || continue
        local stays=${word%"${word##*"$break"}"}
        for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$stays"}; done
        word=${word#"$stays"}
    done
}

# What stands before the current word. Sets store, named (whether there is a NAME), shell (whether
# there is a -c), option (the one that the current word is the value of) and behind (the first word
# behind the --).
_holdfast_read_words() {
    local i word
    store='' named='' shell='' option='' behind=''
    for ((i = 2; i < current; i++)); do
        word=${words[i]}
        case $word in
        --) behind=$((i + 1)) && return ;;
        --store=*) store=$(_holdfast_unquoted "${word#*=}") ;;
        -S?*) store=$(_holdfast_unquoted "${word#-S}") ;;
        -?*)
            _holdfast_takes_next "$word" || continue
            if ((++i == current)); then option=$word && return; fi
            case $word in
            --store | -*S) store=$(_holdfast_unquoted "${words[i]}") ;;
            --command | -*c) shell=yes ;;
            esac
            ;;
        *) named=yes ;;
        esac
    done
}

_holdfast_answer() {
    local command=${words[1]}
    if ((current == 1)); then
        _holdfast_offer "${_holdfast_commands[@]}"
        if [[ $typed == -* ]]; then _holdfast_offer "$(_holdfast_options_of holdfast)"; fi
    elif [[ " ${_holdfast_commands[*]} " != *" $command "* ]]; then
        return
    elif [[ $option ]]; then
        _holdfast_offer_values "$option"
    elif [[ $typed == --*=* ]]; then
        _holdfast_offer_values_behind_equals
    else
        if [[ $typed == -* ]]; then
            _holdfast_offer "$(_holdfast_options_of "$command")"
        elif [[ $command == schema || $command == sweep || $command == check || $command == verify ]]; then
            _holdfast_offer_stores
            _holdfast_offer postgres:// mysql://
        elif [[ $command == stores ]]; then
            return
        elif [[ $command == init ]]; then
            _holdfast_offer_stores
            _holdfast_offer redlock://
        elif [[ $command == help ]]; then
            [[ $named ]] || _holdfast_offer "${_holdfast_commands[@]}"
        elif [[ $command == run || ! $named ]]; then
            _holdfast_offer_names
        fi
        if [[ $command == run && $named && ! $shell ]]; then _holdfast_offer --; fi
    fi
}

_holdfast() {
    local program=${1:-${COMP_WORDS[0]}} typed store named shell option behind current IFS=$' \t\n'
    local -a words starts
    COMPREPLY=()
    _holdfast_join_words
    _holdfast_read_words
    typed=$(_holdfast_unquoted "${words[current]}")
    if [[ $behind ]]; then
        if [[ ${words[1]} == run ]]; then _holdfast_command "$behind"; fi
        return
    fi
    _holdfast_answer
    _holdfast_leave_out_what_stays
}

complete -F _holdfast holdfast
