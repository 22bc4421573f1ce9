#compdef mcp-interposer
# zsh completion of mcp-interposer; the program itself knows the candidates.
_mcp_interposer() {
    local line name ask=
    local -a candidates
    for line in "${(@f)$(command mcp-interposer __complete "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
        case $line in
        '') ;;
        :*) ask=${line#:} ;;
        *)
            name=${line%%$'\t'*}
            candidates+=("${name//:/\\:}${${line#$name}/$'\t'/:}")
            ;;
        esac
    done
    if ((${#candidates})); then
        if [[ ${candidates[1]} == *: && ${#candidates} == 1 ]]; then
            _describe -V candidate candidates -S ''
        else
            _describe -V candidate candidates
        fi
    fi
    case $ask in
    files | directories)
        compset -P '--[^=]##='
        [[ $ask == files ]] && _files || _directories
        ;;
    'server '*)
        shift $((${ask#server } + 1)) words
        ((CURRENT -= ${ask#server } + 1))
        _normal
        ;;
    esac
}
if [[ $funcstack[1] == _mcp-interposer ]]; then
    _mcp_interposer "$@"
else
    compdef _mcp_interposer mcp-interposer
fi
