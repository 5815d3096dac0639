
# What follows is for bash without the package bash-completion: the words of the command line, where "=" and ":" part none.
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref()
    {
        local rest=$COMP_LINE word i last=-1
        words=() cword=0
        for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
            word=${COMP_WORDS[i]}
            if ((i == 0)) || [[ $rest == [[:blank:]]* ]]; then
                last=$((last + 1))
                words[last]=$word
            else
                words[last]+=$word
            fi
            rest=${rest#"${rest%%[![:blank:]]*}"}
            rest=${rest#"$word"}
            if ((i == COMP_CWORD)); then
                cword=$last
            fi
        done
        cur=${words[cword]}
        prev=
        if ((cword > 0)); then
            prev=${words[cword - 1]}
        fi
    }
fi
