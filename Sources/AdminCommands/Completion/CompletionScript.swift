public import ArgumentParser

/// What a shell runs to complete lines of the program. All know as much: they ask the program for the words.
public enum CompletionScript: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Bash 4.4 or later, with or without the package bash-completion.
    case bash
    /// Zsh 5 or later.
    case zsh
    /// Fish 3 or later.
    case fish

    /// The script.
    public var text: String {
        switch self {
        case .bash: Self.forBash
        case .zsh: Self.forZsh
        case .fish: Self.forFish
        }
    }

    private static let forBash = #"""
        # Completes sluice in bash. Source this file, or put it into /usr/share/bash-completion/completions/sluice.
        _sluice() {
            local -a words=()
            local line=${COMP_LINE:0:COMP_POINT} word='' head='' quote='' opened='' begun='' answer char
            local -i at
            # Bash splits words at ':' and '=' too, which names and options contain. So the line is split here, and quotes
            # are removed.
            for ((at = 0; at < ${#line}; at++)); do
                char=${line:at:1}
                case $quote$char in
                    \'\' | \"\") quote='' ;;
                    \"\\)
                        [[ ${line:at + 1:1} == [\$\`\"\\] ]] && at+=1
                        word+=${line:at:1}
                        ;;
                    [\'\"]?) word+=$char ;;
                    \\)
                        at+=1 begun=yes
                        word+=${line:at:1}
                        ;;
                    [\'\"]) quote=$char opened=$word begun=yes ;;
                    [[:space:]])
                        [[ -n $begun ]] && words+=("$word")
                        word='' head='' begun=''
                        ;;
                    *)
                        # Bash replaces '@' too, though it breaks words.
                        [[ $COMP_WORDBREAKS == *"$char"* ]] && head=$word${char#@}
                        word+=$char begun=yes
                        ;;
                esac
            done
            words+=("$word")
            # Bash keeps what is before an open quote, or else what ends with the last of its word breaks.
            [[ -n $quote ]] && head=$opened
            COMPREPLY=()
            while IFS= read -r answer; do
                if [[ $answer == :files ]]; then
                    word=${word#"$head"}
                    [[ $word == @* ]] && head=@ word=${word#@} || head=''
                    compopt -o filenames 2>/dev/null
                    while IFS= read -r answer; do COMPREPLY+=("$head$answer"); done < <(compgen -f -- "$word")
                    break
                fi
                answer=${answer%%$'\t'*}
                answer=${answer#"$head"}
                # A name may contain what a shell would run, and Bash quotes none of it.
                case $quote in
                    \') answer=${answer//\'/"'\''"} ;;
                    \")
                        answer=${answer//\\/\\\\}
                        answer=${answer//\$/\\\$}
                        answer=${answer//\`/\\\`}
                        answer=${answer//\"/\\\"}
                        answer=${answer//\!/\"\\\!\"}
                        ;;
                    *) [[ -n $answer ]] && printf -v answer %q "$answer" ;;
                esac
                # It closes the quote, unless the last character is one already.
                [[ -n $quote && $answer == *"$quote" ]] && answer+=$quote
                COMPREPLY+=("$answer")
            done < <("${1/#\~/$HOME}" complete-words -- "${words[@]:1}" 2>/dev/null)
        }
        complete -o nosort -F _sluice sluice
        """#

    private static let forZsh = #"""
        #compdef sluice
        # Completes sluice in zsh. Put this file into a directory of $fpath as _sluice, or source it after compinit.
        _sluice() {
            local -a lines entries
            local line files=
            lines=("${(@f)$(${(Q)words[1]/#\~/$HOME} complete-words -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
            for line in "${lines[@]}"; do
                if [[ $line == :files ]]; then
                    files=yes
                elif [[ -n $line ]]; then
                    # _describe separates a word from its text by ':', and quotes the word for the line.
                    entries+=("${${${line%%$'\t'*}//\\/\\\\}//:/\\:}:${line#*$'\t'}")
                fi
            done
            ((${#entries})) && _describe -V 'sluice' entries
            if [[ -n $files ]]; then
                compset -P '*=' || true
                compset -P '@' || true
                _files
            fi
        }
        if [[ $funcstack[1] == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
        """#

    private static let forFish = #"""
        # Completes sluice in fish. Put this file into ~/.config/fish/completions or a vendor_completions.d.
        function __sluice_complete
            set -l words (commandline -opc)
            set -l typed (commandline -ct)
            # What is typed may be quoted or escaped, also by a quote that is still open. Fish quotes what it is given.
            set -l current (string unescape -- "$typed"; or string unescape -- "$typed'"; or string unescape -- "$typed\"")
            set -l program (string replace -r '^~' $HOME -- $words[1])
            for line in ($program complete-words -- $words[2..] "$current" 2>/dev/null)
                if test "$line" = :files
                    set -l head (string match -r '^(?:--[^=]*=)?@?' -- "$current")
                    set -l rest (string replace -r '^(?:--[^=]*=)?@?' '' -- "$current")
                    for file in (__fish_complete_path "$rest")
                        printf '%s%s\n' "$head" $file
                    end
                else
                    printf '%s\n' $line
                end
            end
        end
        complete -c sluice -f -k -a '(__sluice_complete)'
        """#
}
