#compdef git-sandbox
#description @ABOUT@

# Completion of git sandbox for zsh. Generated: see 'git sandbox setup --print zsh'.
#
# Called _git-sandbox in a folder of $fpath, it serves 'git-sandbox' and, through zsh's own _git,
# 'git sandbox'. In both $words starts with the word before the command.

# git, in the folder that was typed after -C.
__git-sandbox_git () {
  _call_program sandbox git ${folder:+-C ${(q)folder}} ${(q)@}
}

# Lines of a word, a tab and a description. Of several with one word the first counts.
__git-sandbox_lines () {
  local line
  local -a seen lines
  for line in ${(f)"$(__git-sandbox_git $argv[3,-1])"}; do
    if (( ! $seen[(Ie)${line%%$'\t'*}] )); then
      seen+=(${line%%$'\t'*})
      lines+=(${${${line//\\/\\\\}//:/\\:}/$'\t'/:})
    fi
  done
  _describe -t $1 $2 lines
}

__git-sandbox_sandbox () { __git-sandbox_lines sandboxes sandbox sandbox list --names --describe }
__git-sandbox_removed () { __git-sandbox_lines removed 'removed sandbox' sandbox restore --names --describe }
__git-sandbox_branch () {
  __git-sandbox_lines branches branch for-each-ref --format='@BRANCHES@' @BRANCH_REFS@
}
__git-sandbox_commit () {
  local -a head
  head=('HEAD:@HEAD@')
  _describe -t commits commit head
  __git-sandbox_lines commits commit for-each-ref --format='@COMMITS@' @COMMIT_REFS@
}
__git-sandbox_folder () { _files -/ ${folder:+-W} $folder }

# Completes the command line that starts before the cursor or at it; fails if there is none. $1 is
# how many operands it may follow without '--', none if empty; the rest are options with a value.
__git-sandbox_command_line () {
  local bare=$1
  local -a valued
  valued=($argv[2,-1])
  local -i i operands=0
  for (( i = 2; i < CURRENT; i++ )); do
    case $words[i] in
      (--) (( i++ )); break ;;
      (-*) (( ! $valued[(Ie)$words[i]] )) || (( i++ )) ;;
      (*) [[ -n $bare ]] && (( operands >= bare )) && break; (( operands++ )) ;;
    esac
  done
  if (( i == CURRENT )) && [[ $words[i-1] != -- ]]; then
    [[ -n $bare && $PREFIX != -* ]] && (( operands >= bare )) || return 1
  fi
  (( i <= CURRENT )) || return 1
  words=("${(@)words[i,-1]}")
  (( CURRENT -= i - 1 ))
  _normal
}

_git-sandbox () {
  local curcontext=$curcontext command folder=
  # What zsh's _git has read before the command.
  if [[ $service == git ]] && (( $+opt_args[-C] )); then
    folder=${(Q)opt_args[-C]}
    folder=${~folder}
    folder=${folder:a}
  fi
  local -A opt_args
  local -a version
  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    local -a commands
    commands=(
@COMMANDS@
    )
    _describe -t commands command commands
    return
  fi
  if (( CURRENT == 2 )); then
    version=(@VERSION@)
  fi
  if [[ $words[2] == -* ]]; then
    command=list
  else
    command=$words[2]
    shift words
    (( CURRENT-- ))
  fi
  curcontext=${curcontext%:*}-$command:
  case $command in
@ARGUMENTS@
  esac
}

_git-sandbox "$@"
