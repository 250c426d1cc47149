# @NAME@, a shell function for @SHELL@: goes to sandboxes. Generated: see 'git sandbox setup --print @PRINT@'.
# function: @NAME@

@NAME@ ()
{
	local target
	case ${1-} in
	'')
		target=$(__git_sandbox_pick) || return
		target=$(git sandbox path "$target") || return
		;;
	-)
		\cd - >/dev/null
		return
		;;
	-c)
		shift
		target=$(git sandbox new --no-run "$@") || return
		;;
	-h | --help)
		cat <<-'END'
@USAGE@
		END
		return
		;;
	*)
		if [ $# -gt 1 ]; then
			__git_sandbox_do "$@"
			return
		fi
		target=$(git sandbox path "$1") || return
		;;
	esac
	\cd "$target"
}

# Asks which sandbox is meant.
__git_sandbox_pick ()
{
	local rows choice
	rows=$(printf '^\tthe main worktree\n' && git sandbox list --names --describe) || return
	if command -v fzf >/dev/null 2>&1; then
		choice=$(printf '%s\n' "$rows" | fzf --height=40% --layout=reverse --prompt='sandbox> ') || return
	else
		printf '%s\n' "$rows" | awk -F '\t' '{ printf "%3d  %-24s  %s\n", NR, $1, $2 }' >&2
		printf 'number? ' >&2
		read -r choice || return
		case $choice in
		'' | 0* | *[!0-9]*) return 1 ;;
		esac
		choice=$(printf '%s\n' "$rows" | sed -n "${choice}p")
		[ -n "$choice" ] || return
	fi
	printf '%s\n' "$choice" | cut -f 1
}

# Runs a command of git sandbox. A sandbox that it may take away is left first, and entered again if it
# is still there.
__git_sandbox_do ()
{
	local command=$1 current home here=$PWD before=${OLDPWD-} word code inside= named= value=
	shift
	case $command in
	rm | merge | stop)
		current=$(git sandbox path 2>/dev/null) && home=$(git sandbox path ^ 2>/dev/null) || current=
		;;
	esac
	if [ -n "${current-}" ]; then
		for word; do
			shift
			if [ -n "$value" ]; then
				value=
			else
				case $word in
				@VALUED@) value=yes ;;
				--all) named=yes inside=yes ;;
				-*) ;;
				.) named=yes inside=yes word=$current ;;
				*)
					named=yes
					word=$(git sandbox path "$word" 2>/dev/null || printf '%s\n' "$word")
					[ "$word" != "$current" ] || inside=yes
					;;
				esac
			fi
			set -- "$@" "$word"
		done
		# Where none is named, the current one is meant.
		if [ -z "$named" ] && [ "$command" != rm ]; then
			inside=yes
			set -- "$@" "$current"
		fi
	fi
	if [ -z "$inside" ]; then
		git sandbox "$command" "$@"
		return
	fi
	\cd "$home" || return
	git sandbox "$command" "$@"
	code=$?
	if [ -d "$here" ]; then
		[ ! -d "$before" ] || \cd "$before"
		\cd "$here"
	fi
	return "$code"
}
