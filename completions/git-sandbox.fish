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
        case new
            set valued --name --branch --from --count --pr --dir --root --author --network --color
            set runs yes
            set bare
        case list
            set valued --sort --root --color
        case show
            set valued --root --color
        case path
            set valued --color
        case diff
            set valued --color
        case rename
            set valued --root --color
        case run
            set valued --next --author --network --container --color
            set runs yes
            set bare 1
        case stop
            set valued --timeout --root --color
        case wait
            set valued --timeout --root --color
        case merge
            set valued --into -m --message --branch --root --color
        case rm
            set valued --root --color
        case restore
            set valued --as --root --color
        case reap
            set valued --older-than --root --color
        case doctor
            set valued --root --color
        case setup
            set valued --agent --function --print --color
        case hook
            set valued --color
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
    __git_sandbox_git for-each-ref --format='%(if)%(symref)%(then)%(else)%(if:equals=refs/heads)%(refname:rstrip=-2)%(then)%(refname:strip=2)%09local branch%(else)%(refname:strip=3)%09remote branch%(end)%(end)' refs/heads refs/remotes | string match -v ''
end

function __git_sandbox_commit
    printf 'HEAD\tthe current commit\n'
    __git_sandbox_git for-each-ref --format='%(refname:strip=2)%(if:equals=refs/heads)%(refname:rstrip=-2)%(then)%09local branch%(else)%(if:equals=refs/tags)%(refname:rstrip=-2)%(then)%09tag%(else)%09remote branch%(end)%(end)' refs/heads refs/tags refs/remotes
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
complete -c git-sandbox -n '__git_sandbox_in ""' -a new -d 'create or resume a sandbox and print its path'
complete -c git-sandbox -n '__git_sandbox_in ""' -a list -d 'list the sandboxes: who works in them, what they hold, age and task'
complete -c git-sandbox -n '__git_sandbox_in ""' -a show -d 'show everything known about one sandbox'
complete -c git-sandbox -n '__git_sandbox_in ""' -a path -d 'print the path of a sandbox'
complete -c git-sandbox -n '__git_sandbox_in ""' -a diff -d 'show what a sandbox changed since it left its base'
complete -c git-sandbox -n '__git_sandbox_in ""' -a rename -d 'rename a sandbox: its branch and its folder together'
complete -c git-sandbox -n '__git_sandbox_in ""' -a run -d 'run a command in a sandbox, marking it in use'
complete -c git-sandbox -n '__git_sandbox_in ""' -a stop -d 'end what runs in a sandbox; the sandbox stays'
complete -c git-sandbox -n '__git_sandbox_in ""' -a wait -d 'wait until what runs in a sandbox has ended'
complete -c git-sandbox -n '__git_sandbox_in ""' -a merge -d 'merge its branch back and, once that is confirmed, remove it'
complete -c git-sandbox -n '__git_sandbox_in ""' -a rm -d 'move sandboxes to the trash, unless there is work in them'
complete -c git-sandbox -n '__git_sandbox_in ""' -a restore -d 'bring a removed sandbox back as it was, or list those that can be'
complete -c git-sandbox -n '__git_sandbox_in ""' -a reap -d 'retire stale sandboxes and put away what was in the trash for its period'
complete -c git-sandbox -n '__git_sandbox_in ""' -a doctor -d 'find what crashes, moves and other tools left behind, and repair it'
complete -c git-sandbox -n '__git_sandbox_in ""' -a setup -d 'install man page, completions and the '\''sb'\'' function for the current user'
complete -c git-sandbox -n '__git_sandbox_in ""' -a hook -d 'serve an agent that makes worktrees of its own'
complete -c git-sandbox -n 'test (count (commandline -opc)) = 1' -s V -l version -d 'show the version'
complete -c git-sandbox -n '__git_sandbox_in new' -l name -x -a '(__git_sandbox_branch)' -d 'use this branch; every operand is then part of the task'
complete -c git-sandbox -n '__git_sandbox_in new' -l branch -x -a '(__git_sandbox_branch)' -d 'use this branch in the folder that <name> gives'
complete -c git-sandbox -n '__git_sandbox_in new' -l from -x -a '(__git_sandbox_commit)' -d 'start there instead of at HEAD'
complete -c git-sandbox -n '__git_sandbox_in new' -l detach -d 'make no branch: a detached HEAD in exploration-<name>'
complete -c git-sandbox -n '__git_sandbox_in new' -l count -x -d 'make a pool: <name>-1 to <name>-<n>'
complete -c git-sandbox -n '__git_sandbox_in new' -l pr -x -d 'use this pull or merge request: a number, <remote>/<number> or an address'
complete -c git-sandbox -n '__git_sandbox_in new' -l with-changes -d 'copy the uncommitted changes of the current worktree into it'
complete -c git-sandbox -n '__git_sandbox_in new' -l dir -x -a '(__git_sandbox_folder)' -d 'put it into this folder; it will never be reaped'
complete -c git-sandbox -n '__git_sandbox_in new' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in new' -l author -x -d 'author and committer there, as '\''Name <email>'\'''
complete -c git-sandbox -n '__git_sandbox_in new' -l no-run -d 'only create it, even with sandbox.agent set'
complete -c git-sandbox -n '__git_sandbox_in new' -l background -d 'run it in the background, with a log'
complete -c git-sandbox -n '__git_sandbox_in new' -l restart -f -d 'start it again when it fails, until n quick failures in a row (5)'
complete -c git-sandbox -n '__git_sandbox_in new' -l confine -f -a 'full landlock' -d 'let it change nothing but its sandbox (landlock: weaker)'
complete -c git-sandbox -n '__git_sandbox_in new' -l no-confine -d 'do not confine it, whatever config and the sandbox'\''s record say'
complete -c git-sandbox -n '__git_sandbox_in new' -l network -x -a 'on off hosts' -d 'what a confined command reaches of the network'
complete -c git-sandbox -n '__git_sandbox_in new' -l json -d 'print the answer as JSON'
complete -c git-sandbox -n '__git_sandbox_in new' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in new' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in new' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand new 0 0' -a '(__git_sandbox_branch)'
complete -c git-sandbox -n '__git_sandbox_in list' -l all -d 'those of every repository below the root'
complete -c git-sandbox -n '__git_sandbox_in list' -l wide -d 'also show size, upstream and path'
complete -c git-sandbox -n '__git_sandbox_in list' -l sort -x -a 'name age agent work' -d 'sort by name, age, agent or work'
complete -c git-sandbox -n '__git_sandbox_in list' -l watch -d 'show the list again every 2 s, until Ctrl-C'
complete -c git-sandbox -n '__git_sandbox_in list' -l names -d 'print names only'
complete -c git-sandbox -n '__git_sandbox_in list' -l describe -d 'with --names: add a tab and a few words, as completion shows them'
complete -c git-sandbox -n '__git_sandbox_in list' -s z -d 'print paths only, each ended by a NUL'
complete -c git-sandbox -n '__git_sandbox_in list' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in list' -l json -d 'print the answer as JSON'
complete -c git-sandbox -n '__git_sandbox_in list' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in list' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in list' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_in show' -l log -d 'print the log of its last background command'
complete -c git-sandbox -n '__git_sandbox_in show' -l follow -d 'print the log and go on until nothing runs in it'
complete -c git-sandbox -n '__git_sandbox_in show' -l mounts -d 'print what a container must mount, as '\''-v'\'' options'
complete -c git-sandbox -n '__git_sandbox_in show' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in show' -l json -d 'print the answer as JSON'
complete -c git-sandbox -n '__git_sandbox_in show' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in show' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in show' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand show 0 0' -a '(__git_sandbox_sandbox)'
complete -c git-sandbox -n '__git_sandbox_in path' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in path' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in path' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand path 0 0' -a '(__git_sandbox_sandbox)'
complete -c git-sandbox -n '__git_sandbox_in diff' -l stat -d 'show how many lines changed in each file'
complete -c git-sandbox -n '__git_sandbox_in diff' -l name-only -d 'show the names of the changed files only'
complete -c git-sandbox -n '__git_sandbox_in diff' -l json -d 'print the answer as JSON'
complete -c git-sandbox -n '__git_sandbox_in diff' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in diff' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in diff' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand diff 0 0' -a '(__git_sandbox_sandbox)'
complete -c git-sandbox -n '__git_sandbox_in rename' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in rename' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in rename' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in rename' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand rename 0 0' -a '(__git_sandbox_sandbox)'
complete -c git-sandbox -n '__git_sandbox_in run' -l background -d 'run it in the background, with a log'
complete -c git-sandbox -n '__git_sandbox_in run' -l restart -f -d 'start it again when it fails, until n quick failures in a row (5)'
complete -c git-sandbox -n '__git_sandbox_in run' -l tmux -d 'run it in a window of the tmux session sandbox-<project>'
complete -c git-sandbox -n '__git_sandbox_in run' -l all -d 'in every sandbox that has a task and is idle'
complete -c git-sandbox -n '__git_sandbox_in run' -l next -x -d 'give this task to the next idle sandbox, and run it there'
complete -c git-sandbox -n '__git_sandbox_in run' -l author -x -d 'author and committer there, as '\''Name <email>'\'''
complete -c git-sandbox -n '__git_sandbox_in run' -l confine -f -a 'full landlock' -d 'let it change nothing but its sandbox (landlock: weaker)'
complete -c git-sandbox -n '__git_sandbox_in run' -l no-confine -d 'do not confine it, whatever config and the sandbox'\''s record say'
complete -c git-sandbox -n '__git_sandbox_in run' -l network -x -a 'on off hosts' -d 'what a confined command reaches of the network'
complete -c git-sandbox -n '__git_sandbox_in run' -l container -x -d 'run it confined in a container of this image'
complete -c git-sandbox -n '__git_sandbox_in run' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in run' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in run' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand run 0 0' -a '(__git_sandbox_sandbox)'
complete -c git-sandbox -n '__git_sandbox_in stop' -l rm -d 'also remove it, if that is safe'
complete -c git-sandbox -n '__git_sandbox_in stop' -s f -l force -d 'remove what has work in it; twice: also what is locked or in use'
complete -c git-sandbox -n '__git_sandbox_in stop' -l release -d 'clear the task: the sandbox is free for another'
complete -c git-sandbox -n '__git_sandbox_in stop' -l timeout -x -d 'kill what has not ended after so long, instead of 10 s'
complete -c git-sandbox -n '__git_sandbox_in stop' -l all -d 'in every sandbox of this repository'
complete -c git-sandbox -n '__git_sandbox_in stop' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in stop' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in stop' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in stop' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand stop 0' -a '(__git_sandbox_sandbox)'
complete -c git-sandbox -n '__git_sandbox_in wait' -l all -d 'for every sandbox of this repository'
complete -c git-sandbox -n '__git_sandbox_in wait' -l timeout -x -d 'fail when something still runs after so long'
complete -c git-sandbox -n '__git_sandbox_in wait' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in wait' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in wait' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in wait' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand wait 0' -a '(__git_sandbox_sandbox)'
complete -c git-sandbox -n '__git_sandbox_in merge' -l into -x -a '(__git_sandbox_branch)' -d 'merge into this branch instead of the one it started from'
complete -c git-sandbox -n '__git_sandbox_in merge' -l ff-only -d 'only if the other branch has no commits of its own'
complete -c git-sandbox -n '__git_sandbox_in merge' -l squash -d 'bring all its changes in as one commit'
complete -c git-sandbox -n '__git_sandbox_in merge' -l rebase -d 'replay its commits on top of the other branch'
complete -c git-sandbox -n '__git_sandbox_in merge' -s m -l message -x -d 'the message of the merge commit or of the squashed one'
complete -c git-sandbox -n '__git_sandbox_in merge' -l branch -x -a '(__git_sandbox_branch)' -d 'give a detached sandbox this branch first'
complete -c git-sandbox -n '__git_sandbox_in merge' -l keep -d 'keep the sandbox after the merge'
complete -c git-sandbox -n '__git_sandbox_in merge' -l delete-branch -d 'also delete its branch, if its base or upstream has every commit'
complete -c git-sandbox -n '__git_sandbox_in merge' -s n -l dry-run -d 'say what would be done and change nothing'
complete -c git-sandbox -n '__git_sandbox_in merge' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in merge' -l json -d 'print the answer as JSON'
complete -c git-sandbox -n '__git_sandbox_in merge' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in merge' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in merge' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand merge 0 0' -a '(__git_sandbox_sandbox)'
complete -c git-sandbox -n '__git_sandbox_in rm' -s f -l force -d 'remove what has work in it; twice: also what is locked or in use'
complete -c git-sandbox -n '__git_sandbox_in rm' -s n -l dry-run -d 'say what would be done and change nothing'
complete -c git-sandbox -n '__git_sandbox_in rm' -l delete-branch -d 'also delete its branch, if its base or upstream has every commit'
complete -c git-sandbox -n '__git_sandbox_in rm' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in rm' -l json -d 'print the answer as JSON'
complete -c git-sandbox -n '__git_sandbox_in rm' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in rm' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in rm' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand rm 0' -a '(__git_sandbox_sandbox)'
complete -c git-sandbox -n '__git_sandbox_in restore' -l as -x -d 'bring it back under another folder name'
complete -c git-sandbox -n '__git_sandbox_in restore' -l all -d 'those of every repository below the root'
complete -c git-sandbox -n '__git_sandbox_in restore' -l names -d 'print names only'
complete -c git-sandbox -n '__git_sandbox_in restore' -l describe -d 'with --names: add a tab and a few words, as completion shows them'
complete -c git-sandbox -n '__git_sandbox_in restore' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in restore' -l json -d 'print the answer as JSON'
complete -c git-sandbox -n '__git_sandbox_in restore' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in restore' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in restore' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand restore 0 0' -a '(__git_sandbox_removed)'
complete -c git-sandbox -n '__git_sandbox_in reap' -s n -l dry-run -d 'say what would be done and change nothing'
complete -c git-sandbox -n '__git_sandbox_in reap' -l merged -d 'also retire clean ones whose branch is in its base'
complete -c git-sandbox -n '__git_sandbox_in reap' -l older-than -x -d 'retire what was unused for so many days'
complete -c git-sandbox -n '__git_sandbox_in reap' -s f -l force -d 'also retire stale ones with work in them'
complete -c git-sandbox -n '__git_sandbox_in reap' -l purge -d 'put away now what is in the trash; with names: delete those for good'
complete -c git-sandbox -n '__git_sandbox_in reap' -l all -d 'those of every repository below the root'
complete -c git-sandbox -n '__git_sandbox_in reap' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in reap' -l json -d 'print the answer as JSON'
complete -c git-sandbox -n '__git_sandbox_in reap' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in reap' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in reap' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand reap 0' -a '(__git_sandbox_removed)'
complete -c git-sandbox -n '__git_sandbox_in doctor' -l fix -d 'repair what can be repaired without losing anything'
complete -c git-sandbox -n '__git_sandbox_in doctor' -l confine -d 'say whether this machine can confine commands, and what it lacks'
complete -c git-sandbox -n '__git_sandbox_in doctor' -l root -x -a '(__git_sandbox_folder)' -d 'keep sandboxes below this folder instead of sandbox.root'
complete -c git-sandbox -n '__git_sandbox_in doctor' -l json -d 'print the answer as JSON'
complete -c git-sandbox -n '__git_sandbox_in doctor' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in doctor' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in doctor' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_in setup' -l agent -x -a 'claude' -d 'have this agent make its worktrees with git sandbox'
complete -c git-sandbox -n '__git_sandbox_in setup' -l timer -d 'clean up once a day: git sandbox reap --all'
complete -c git-sandbox -n '__git_sandbox_in setup' -l uninstall -d 'remove what setup installed'
complete -c git-sandbox -n '__git_sandbox_in setup' -l function -x -d 'call the shell function so, instead of '\''sb'\'''
complete -c git-sandbox -n '__git_sandbox_in setup' -l print -x -a 'man bash zsh fish fish-conf function-bash function-zsh function-fish' -d 'print one of the files, for packagers'
complete -c git-sandbox -n '__git_sandbox_in setup' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in setup' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in setup' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_in hook' -l color -x -a 'auto always never' -d 'colour the output: auto, always or never'
complete -c git-sandbox -n '__git_sandbox_in hook' -s h -d 'show the usage'
complete -c git-sandbox -n '__git_sandbox_in hook' -l help -d 'show the options with their meaning'
complete -c git-sandbox -n '__git_sandbox_operand hook 0 0' -a 'claude'
