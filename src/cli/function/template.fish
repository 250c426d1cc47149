# @NAME@, a shell function for fish: goes to sandboxes. Generated: see 'git sandbox setup --print @PRINT@'.
# function: @NAME@

functions -q @NAME@; and exit

function @NAME@ --description 'go to a sandbox of this repository'
    set -l target
    switch "$argv[1]"
        case ''
            set target (__git_sandbox_pick); or return
            set target (git sandbox path $target); or return
        case -
            cd -
            return
        case -c
            set target (git sandbox new --no-run $argv[2..]); or return
        case -h --help
            printf '%s\n' @USAGE@
            return
        case '*'
            if set -q argv[2]
                __git_sandbox_do $argv
                return
            end
            set target (git sandbox path $argv[1]); or return
    end
    cd $target
end

# Asks which sandbox is meant.
function __git_sandbox_pick
    set -l rows (git sandbox list --names --describe); or return
    set -p rows ^\t'the main worktree'
    set -l choice
    if command -q fzf
        set choice (printf '%s\n' $rows | fzf --height=40% --layout=reverse --prompt='sandbox> '); or return
    else
        printf '%s\n' $rows | awk -F '\t' '{ printf "%3d  %-24s  %s\n", NR, $1, $2 }' >&2
        read -P 'number? ' choice; or return
        string match -qr '^[1-9][0-9]*$' -- $choice; and set -q rows[$choice]; or return 1
        set choice $rows[$choice]
    end
    string split -f 1 \t -- $choice
end

# Runs a command of git sandbox. A sandbox that it may take away is left first, and entered again if it
# is still there.
function __git_sandbox_do
    set -l words $argv[1]
    set -l here $PWD
    set -l inside no
    set -l named no
    set -l value no
    set -l home
    set -l current
    if contains -- $argv[1] rm merge stop
        set current (git sandbox path 2>/dev/null); and set home (git sandbox path ^ 2>/dev/null); or set current
    end
    for word in $argv[2..]
        if test $value = yes
            set value no
        else if set -q current[1]
            switch $word
                case @VALUED@
                    set value yes
                case --all
                    set named yes
                    set inside yes
                case '-*'
                case .
                    set named yes
                    set word $current
                case '*'
                    set named yes
                    set -l found (git sandbox path $word 2>/dev/null); and set word $found
            end
            test "$word" = "$current"; and set inside yes
        end
        set -a words $word
    end
    # Where none is named, the current one is meant.
    if set -q current[1]; and test $named = no -a $argv[1] != rm
        set inside yes
        set -a words $current
    end
    if test $inside = no
        git sandbox $words
        return
    end
    set -l back $dirprev
    set -l forth $dirnext
    cd $home; or return
    git sandbox $words
    set -l code $status
    if test -d $here
        cd $here
        set -g dirprev $back
        set -g dirnext $forth
    end
    return $code
end

complete -c @NAME@ -f
complete -c @NAME@ -n 'not string match -q -- -c (commandline -opc)[2]' -a '(git sandbox list --names --describe 2>/dev/null)'
complete -c @NAME@ -n 'test (count (commandline -opc)) = 2; and string match -q -- -c (commandline -opc)[2]' -a "(git for-each-ref --format='@DESCRIBED@' @BRANCH_REFS@ 2>/dev/null | string match -v '')"
