
__git_sandbox_complete ()
{
	local word cur=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	while IFS= read -r word; do
		printf -v word '%q' "$word"
		[[ $word != "$cur"* ]] || COMPREPLY+=("$word")
	done < <(
		if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == -c ]]; then
			((COMP_CWORD > 2)) || git for-each-ref --format='@BRANCHES@' @BRANCH_REFS@ 2>/dev/null | sort -u
		else
			git sandbox list --names 2>/dev/null
		fi
	)
}
complete -F __git_sandbox_complete @NAME@
