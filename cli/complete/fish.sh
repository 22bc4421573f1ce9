# fish completion of mcp-interposer; the program itself knows the candidates.
function __mcp_interposer_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l before (string match -r -- '^--[^=]+=' "$word")
    set -l tail (string replace -r -- '^--[^=]+=' '' "$word")
    for line in (command mcp-interposer __complete $words[2..-1] "$word" 2>/dev/null)
        switch $line
            case ':files'
                string replace -r -- '^' "$before" (__fish_complete_path "$tail")
            case ':directories'
                string replace -r -- '^' "$before" (__fish_complete_directories "$tail")
            case ':server *'
                __fish_complete_subcommand --fcs-skip=(math (string replace ':server ' '' $line) + 1)
            case '*'
                echo $line
        end
    end
end
complete -c mcp-interposer -f -k -a '(__mcp_interposer_complete)'
