//! Groups of users: whether one is the current user's alone.

use std::fs;

/// Whether only the current user and root can be in a group, as far as this machine's own files tell.
/// Distributions that give every user a group of their own have its folders writable by that group.
pub fn is_private(group: u32) -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let us = rustix::process::geteuid().as_raw();
    let ours = rustix::process::getegid().as_raw();
    is_private_to(us, ours, group, &read("/etc/passwd"), &read("/etc/group"))
}

/// The same by the text of these files: `name:x:uid:gid:...` and `name:x:gid:member,member`.
fn is_private_to(us: u32, ours: u32, group: u32, users: &str, groups: &str) -> bool {
    let users: Vec<(&str, u32, u32)> = users
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(':');
            let (name, _) = (fields.next()?, fields.next()?);
            Some((name, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        })
        .collect();
    let primary = users.iter().find(|(_, uid, _)| *uid == us).map_or(ours, |(_, _, gid)| *gid);
    let is_ours = |uid: u32| uid == us || uid == 0;
    let members = groups.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2);
        let is_it = fields.next()?.parse::<u32>().ok()? == group;
        is_it.then(|| fields.next()).flatten()
    });
    let mut members = members.flat_map(|names| names.split(',')).filter(|name| !name.is_empty());
    (group == primary || group == 0)
        && users.iter().all(|(_, uid, gid)| *gid != group || is_ours(*uid))
        && members.all(|member| users.iter().any(|(name, uid, _)| *name == member && is_ours(*uid)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nme:x:1000:1000::/home/me:/bin/sh\n\
                         you:x:1001:1001::/:/bin/sh\nshared:x:1002:100::/:/bin/sh\n";

    fn private(group: u32, groups: &str) -> bool {
        is_private_to(1000, 1000, group, USERS, groups)
    }

    #[test]
    fn a_group_is_private_if_nobody_else_is_in_it() {
        assert!(private(1000, "me:x:1000:\n"));
        assert!(private(1000, "me:x:1000:me,root\n"));
        assert!(private(1000, ""));
        assert!(private(0, "root:x:0:\n"));
        assert!(!private(1000, "me:x:1000:you\n"));
        assert!(!private(1000, "me:x:1000:somebody\n"));
        assert!(!private(0, "root:x:0:you\n"));
        assert!(!private(50, "staff:x:50:\n"));
        assert!(!private(100, "users:x:100:\n"));
        // The primary group of several is none's own.
        assert!(!is_private_to(1002, 100, 100, &format!("{USERS}x:x:7:100::/:\n"), ""));
        // A user without an entry, as in a container.
        assert!(is_private_to(5000, 5000, 5000, USERS, ""));
    }

    #[test]
    fn fuzz_groups() {
        fuzz::damaged_text(&["me:x:1000:you\nroot:x:0:\n", USERS], |text| {
            assert!(!private(50, text));
            is_private_to(1000, 1000, 1000, text, text);
        });
    }
}
