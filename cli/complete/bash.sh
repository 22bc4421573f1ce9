# bash completion of mcp-interposer; the program itself knows the candidates.

# The words from COMP_WORDS[$1] on are a command line of their own.
_mcp_interposer_server() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$2")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$2")
    fi
}

_mcp_interposer() {
    local cur=${COMP_WORDS[COMP_CWORD]} line path keep i
    local -a words=() start=()
    COMPREPLY=()
    compopt -o nosort 2>/dev/null
    # bash splits words at = and :, but the program expects whole words
    for ((i = 1; i <= COMP_CWORD; i++)); do
        if ((i > 1)) && { [[ ${COMP_WORDS[i]} == [=:]* ]] || [[ ${COMP_WORDS[i - 1]} == [=:] ]]; }; then
            words[${#words[@]} - 1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
            start+=("$i")
        fi
    done
    # what bash does not replace
    [[ $cur == [=:] ]] && cur=
    keep=${words[${#words[@]} - 1]}
    keep=${keep%"$cur"}
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        case $line in
        :files)
            compopt -o filenames 2>/dev/null
            while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen -f -- "$cur")
            ;;
        :directories)
            compopt -o filenames 2>/dev/null
            while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen -d -- "$cur")
            ;;
        ":server "*) _mcp_interposer_server "${start[${line#:server }]}" "$cur" ;;
        *) COMPREPLY+=("${line#"$keep"}") ;;
        esac
    done < <(command mcp-interposer __complete "${words[@]}" 2>/dev/null)
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *: ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _mcp_interposer mcp-interposer
