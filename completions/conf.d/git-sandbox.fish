# 'git sandbox' for fish 3.6.0, whose git.fish does not forward to git-sandbox.fish.
complete -c git -f -n __fish_git_needs_command -a sandbox -d 'isolated checkouts of this repository'
complete -c git -f -n '__fish_git_using_command sandbox' -a '(__fish_git_complete_custom_command sandbox)'
