
__git_sandbox_complete ()
{
	local line
	local -a lines rows
	if [[ $words[2] == -c ]]; then
		(( CURRENT == 3 )) || return
		rows=(${(fu)"$(git for-each-ref --format='@BRANCHES@' @BRANCH_REFS@ 2>/dev/null)"})
	else
		rows=(${(f)"$(git sandbox list --names --describe 2>/dev/null)"})
	fi
	for line in $rows; do
		lines+=(${${${line//\\/\\\\}//:/\\:}/$'\t'/:})
	done
	_describe -t sandboxes sandbox lines
}
(( ! $+functions[compdef] )) || compdef __git_sandbox_complete @NAME@
