# Completion of git sandbox for bash. Generated: see 'git sandbox setup --print bash'.
#
# Called git-sandbox in one of the folders of bash-completion, it is loaded by the first TAB after
# 'git sandbox' or 'git-sandbox'. It stands on git's own completion, which has read the line by then:
# $cur, $words, $cword, $__git_cmd_idx, and __git, which runs git with the -C that was typed.

# Every command.
__git_sandbox_commands='new list show path diff rename run stop wait merge rm restore reap doctor setup hook'

# The options of a command; those that take a value end in '='.
__git_sandbox_options ()
{
	case $1 in
	new) echo '--name= --branch= --from= --detach --count= --pr= --with-changes --dir= --root= --author= --no-run --background --restart --restart= --confine --confine= --no-confine --network= --json --color= -h --help' ;;
	list) echo '--all --wide --sort= --watch --names --describe -z --root= --json --color= -h --help' ;;
	show) echo '--log --follow --mounts --root= --json --color= -h --help' ;;
	path) echo '--color= -h --help' ;;
	diff) echo '--stat --name-only --json --color= -h --help' ;;
	rename) echo '--root= --color= -h --help' ;;
	run) echo '--background --restart --restart= --tmux --all --next= --author= --confine --confine= --no-confine --network= --container= --color= -h --help' ;;
	stop) echo '--rm -f --force --release --timeout= --all --root= --color= -h --help' ;;
	wait) echo '--all --timeout= --root= --color= -h --help' ;;
	merge) echo '--into= --ff-only --squash --rebase -m --message= --branch= --keep --delete-branch -n --dry-run --root= --json --color= -h --help' ;;
	rm) echo '-f --force -n --dry-run --delete-branch --root= --json --color= -h --help' ;;
	restore) echo '--as= --all --names --describe --root= --json --color= -h --help' ;;
	reap) echo '-n --dry-run --merged --older-than= -f --force --purge --all --root= --json --color= -h --help' ;;
	doctor) echo '--fix --confine --root= --json --color= -h --help' ;;
	setup) echo '--agent= --timer --uninstall --function= --print= --color= -h --help' ;;
	hook) echo '--color= -h --help' ;;
	esac
}

# What the value of an option is, as $kind, and whether it is the next word, as $next; fails if the
# option takes none.
__git_sandbox_value ()
{
	next=yes
	case $1 in
	'new --name') kind='branch' ;;
	'new --branch') kind='branch' ;;
	'new --from') kind='commit' ;;
	'new --count') kind='text' ;;
	'new --pr') kind='text' ;;
	'new --dir') kind='folder' ;;
	'new --root') kind='folder' ;;
	'new --author') kind='text' ;;
	'new --restart') kind='text' next=no ;;
	'new --confine') kind='words full landlock' next=no ;;
	'new --network') kind='words on off hosts' ;;
	'new --color') kind='words auto always never' ;;
	'list --sort') kind='words name age agent work' ;;
	'list --root') kind='folder' ;;
	'list --color') kind='words auto always never' ;;
	'show --root') kind='folder' ;;
	'show --color') kind='words auto always never' ;;
	'path --color') kind='words auto always never' ;;
	'diff --color') kind='words auto always never' ;;
	'rename --root') kind='folder' ;;
	'rename --color') kind='words auto always never' ;;
	'run --restart') kind='text' next=no ;;
	'run --next') kind='text' ;;
	'run --author') kind='text' ;;
	'run --confine') kind='words full landlock' next=no ;;
	'run --network') kind='words on off hosts' ;;
	'run --container') kind='text' ;;
	'run --color') kind='words auto always never' ;;
	'stop --timeout') kind='text' ;;
	'stop --root') kind='folder' ;;
	'stop --color') kind='words auto always never' ;;
	'wait --timeout') kind='text' ;;
	'wait --root') kind='folder' ;;
	'wait --color') kind='words auto always never' ;;
	'merge --into') kind='branch' ;;
	'merge -m' | 'merge --message') kind='text' ;;
	'merge --branch') kind='branch' ;;
	'merge --root') kind='folder' ;;
	'merge --color') kind='words auto always never' ;;
	'rm --root') kind='folder' ;;
	'rm --color') kind='words auto always never' ;;
	'restore --as') kind='text' ;;
	'restore --root') kind='folder' ;;
	'restore --color') kind='words auto always never' ;;
	'reap --older-than') kind='text' ;;
	'reap --root') kind='folder' ;;
	'reap --color') kind='words auto always never' ;;
	'doctor --root') kind='folder' ;;
	'doctor --color') kind='words auto always never' ;;
	'setup --agent') kind='words claude' ;;
	'setup --function') kind='text' ;;
	'setup --print') kind='words man bash zsh fish fish-conf function-bash function-zsh function-fish' ;;
	'setup --color') kind='words auto always never' ;;
	'hook --color') kind='words auto always never' ;;
	*) return 1 ;;
	esac
}

# What an operand is, counted from 0, as $kind.
__git_sandbox_operand ()
{
	case $1 in
	'new 0') kind='branch' ;;
	'new '*) kind='text' ;;
	'show 0') kind='sandbox' ;;
	'path 0') kind='sandbox' ;;
	'diff 0') kind='sandbox' ;;
	'rename 0') kind='sandbox' ;;
	'rename 1') kind='text' ;;
	'run 0') kind='sandbox' ;;
	'stop '*) kind='sandbox' ;;
	'wait '*) kind='sandbox' ;;
	'merge 0') kind='sandbox' ;;
	'rm '*) kind='sandbox' ;;
	'restore 0') kind='removed' ;;
	'reap '*) kind='removed' ;;
	'hook 0') kind='words claude' ;;
	*) kind=text ;;
	esac
}

# Whether a command line may follow, as $bare: after so many operands even without '--'.
__git_sandbox_runs ()
{
	case $1 in
	new) bare= ;;
	run) bare=1 ;;
	*) return 1 ;;
	esac
}

# Offers the words that begin with what was typed, each after $lead and before $end.
__git_sandbox_reply ()
{
	local word cut= breaks=${COMP_WORDBREAKS//[!=:]/}
	# readline takes these for the end of a word, and replaces only what follows the last.
	[[ -z $breaks ]] || cut=${cur%"${cur##*[$breaks]}"}
	for word; do
		[[ -n $word ]] || continue
		printf -v word '%s%q' "$lead" "$word"
		if [[ $word == "$cur"* ]]; then
			COMPREPLY+=("${word#"$cut"}$end")
		fi
	done
}

# Offers what is of a kind. $lead is what of the word comes before the value: '--from='.
__git_sandbox_offer ()
{
	local IFS=$'\n' end=' '
	case $1 in
	sandbox) __git_sandbox_reply $(__git sandbox list --names) ;;
	removed) __git_sandbox_reply $(__git sandbox restore --names) ;;
	branch) __git_sandbox_reply $(__git for-each-ref --format='%(if)%(symref)%(then)%(else)%(if:equals=refs/heads)%(refname:rstrip=-2)%(then)%(refname:strip=2)%(else)%(refname:strip=3)%(end)%(end)' refs/heads refs/remotes | sort -u) ;;
	commit) __git_sandbox_reply HEAD $(__git for-each-ref --format='%(refname:strip=2)%(if:equals=refs/heads)%(refname:rstrip=-2)%(then)%(else)%(if:equals=refs/tags)%(refname:rstrip=-2)%(then)%(else)%(end)%(end)' refs/heads refs/tags refs/remotes) ;;
	folder) __git_sandbox_folders ;;
	words\ *) IFS=' ' && __git_sandbox_reply ${1#words } ;;
	esac
}

# readline quotes them and sees to it that only the last part of each is shown.
__git_sandbox_folders ()
{
	local folder value=${cur#"$lead"}
	compopt -o filenames 2>/dev/null
	for folder in $(__git_sandbox_cd && compgen -d -- "$value"); do
		COMPREPLY+=("$folder/")
	done
}

# Goes to where the -C that were typed lead, one after the other.
__git_sandbox_cd ()
{
	local word
	for word in ${__git_C_args:+"${__git_C_args[@]}"}; do
		[[ $word == -C ]] || cd -- "$word" 2>/dev/null || return
	done
}

# Completes what starts at a word as a command line of its own.
__git_sandbox_command_line ()
{
	local -a COMP_WORDS=("${words[@]:$1}")
	local COMP_CWORD=$((cword - $1)) COMP_LINE="${words[*]:$1}"
	local COMP_POINT=${#COMP_LINE}
	compopt +o nospace 2>/dev/null
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset 0
	elif declare -F _command_offset >/dev/null; then
		_command_offset 0
	fi
}

_git_sandbox ()
{
	local command kind next bare lead= word i=$((__git_cmd_idx + 1)) operands=0 IFS=$' \t\n'
	# Where nothing fits, file names do not fit either.
	compopt +o default +o bashdefault 2>/dev/null
	COMPREPLY=()
	# git's own completion takes the folders as they were typed.
	[[ -z ${__git_C_args-} ]] || __git_C_args=("${__git_C_args[@]/#\~\//$HOME/}")
	command=${words[i]}
	if ((i == cword)) && [[ $cur != -* ]]; then
		local end=' '
		__git_sandbox_reply $__git_sandbox_commands
		return
	elif [[ $command == -* ]]; then
		command=list
	else
		((i++))
	fi
	__git_sandbox_runs "$command"
	local runs=$?
	for (( ; i < cword; i++)); do
		word=${words[i]}
		if [[ $word == -- ]]; then
			if ((runs == 0)); then
				__git_sandbox_command_line $((i + 1))
				return
			fi
			# Only operands follow.
			((operands += cword - i - 1))
			__git_sandbox_operand "$command $operands"
			__git_sandbox_offer "$kind"
			return
		elif __git_sandbox_value "$command $word" && [[ $next == yes ]]; then
			if ((++i == cword)); then
				[[ $cur == -* ]] || __git_sandbox_offer "$kind"
				return
			fi
		elif [[ $word != -* ]]; then
			if [[ $runs == 0 && -n $bare ]] && ((operands >= bare)); then
				__git_sandbox_command_line "$i"
				return
			fi
			((operands++))
		fi
	done
	if [[ $cur == --*=* ]]; then
		lead=${cur%%=*}=
		if __git_sandbox_value "$command ${lead%=}"; then
			__git_sandbox_offer "$kind"
		fi
	elif [[ $cur == -* ]]; then
		local end= option
		for option in $(__git_sandbox_options "$command"); do
			[[ $option == *= ]] && end= || end=' '
			if [[ $option == "$cur"* ]]; then
				COMPREPLY+=("$option$end")
			fi
		done
		for option in -V --version; do
			if ((cword == __git_cmd_idx + 1)) && [[ $option == "$cur"* ]]; then
				COMPREPLY+=("$option ")
			fi
		done
	elif [[ $runs == 0 && -n $bare ]] && ((operands >= bare)); then
		__git_sandbox_command_line "$cword"
	else
		__git_sandbox_operand "$command $operands"
		__git_sandbox_offer "$kind"
	fi
}

# For 'git-sandbox', typed with the dash, git's completion may not be there yet.
if ! declare -F __git_complete >/dev/null; then
	if declare -F _comp_load >/dev/null; then
		_comp_load git
	elif declare -F _completion_loader >/dev/null; then
		_completion_loader git
	fi
fi
if declare -F __git_complete >/dev/null; then
	__git_complete git-sandbox _git_sandbox
fi
# A loader takes the last status for the outcome.
true
