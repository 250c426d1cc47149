# Completion of git sandbox for fish. Generated: see 'git sandbox setup --print fish'.
#
# Called git-sandbox.fish in a folder of $fish_complete_path, it serves 'git-sandbox'; fish's git.fish
# forwards 'git sandbox' to it.

# Where the cursor is: the command, how many operands stand before it, and then, if a command line has
# begun, 'run' and its words.
function __git_sandbox_where
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    set -l command $words[1]
    if not set -q words[1]
        if not string match -q -- '-*' $current
            return
        end
        set command list
    else if string match -q -- '-*' $words[1]
        set command list
    else
        set -e words[1]
    end
    set -l valued
    set -l runs no
    set -l bare
    switch $command
@WHERE@
    end
    set -l operands 0
    while set -q words[1]
        set -l word $words[1]
        if test "$word" = --
            if test $runs = yes
                printf '%s\n' $command $operands run $words[2..]
                return
            end
            set operands (math $operands + (count $words) - 1)
            break
        else if contains -- $word $valued
            set -e words[1]
        else if not string match -q -- '-*' $word
            if set -q bare[1]; and test $operands -ge $bare
                printf '%s\n' $command $operands run $words
                return
            end
            set operands (math $operands + 1)
        end
        set -e words[1]
    end
    if set -q bare[1]; and test $operands -ge $bare; and not string match -q -- '-*' $current
        printf '%s\n' $command $operands run
        return
    end
    printf '%s\n' $command $operands
end

# Whether the options of a command fit.
function __git_sandbox_in
    set -l where (__git_sandbox_where)
    test "$where[1]" = "$argv[1]"; and not set -q where[3]
end

# Whether one of a command's operands fits, from the first number to the second, or to no end.
function __git_sandbox_operand
    set -l where (__git_sandbox_where)
    test "$where[1]" = "$argv[1]"; and not set -q where[3]; and test $where[2] -ge $argv[2]
    and begin
        not set -q argv[3]; or test $where[2] -le $argv[3]
    end
end

# Whether the cursor is in a command line that is to be run.
function __git_sandbox_runs
    set -l where (__git_sandbox_where)
    set -q where[3]
end

function __git_sandbox_command_line
    set -l where (__git_sandbox_where)
    complete -C (string join ' ' -- (string escape -- $where[4..]) (commandline -ct))
end

# The options of git that stand before 'sandbox': git.fish forwards without them, but keeps the line.
function __git_sandbox_options
    status stack-trace | string match -q '*__fish_git_complete_custom_command*'; or return
    echo -- $__fish_git_cmdline | read -lat words
    set words (string replace -r '^~(?=/|$)' -- $HOME $words[2..])
    set -l count (count $words)
    argparse -s (__fish_git_global_optspecs) -- $words 2>/dev/null; or return
    set count (math $count - (count $argv))
    test $count -gt 0; and printf '%s\n' $words[1..$count]
end

function __git_sandbox_git
    command git (__git_sandbox_options) $argv 2>/dev/null
end

function __git_sandbox_sandbox
    __git_sandbox_git sandbox list --names --describe
end

function __git_sandbox_removed
    __git_sandbox_git sandbox restore --names --describe
end

function __git_sandbox_branch
    __git_sandbox_git for-each-ref --format='@BRANCHES@' @BRANCH_REFS@ | string match -v ''
end

function __git_sandbox_commit
    printf 'HEAD\t@HEAD@\n'
    __git_sandbox_git for-each-ref --format='@COMMITS@' @COMMIT_REFS@
end

# Those in the folder that was typed after -C.
function __git_sandbox_folder
    set -l typed (commandline -ct | string replace -r -- '^--[^=]*=' '')
    set -l options (__git_sandbox_options)
    set -l at (contains -i -- -C $options)
    and not string match -qr -- '^[/~]' "$typed"
    or begin
        __fish_complete_directories "$typed" ''
        return
    end
    set -l folder $options[(math $at + 1)]
    __fish_complete_directories "$folder/$typed" '' | string replace -- "$folder/" ''
end

complete -c git-sandbox -f
complete -c git-sandbox -n __git_sandbox_runs -a '(__git_sandbox_command_line)'
@COMPLETE@
