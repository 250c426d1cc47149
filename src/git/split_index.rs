//! A split index: git writes only what differs from a second file, `sharedindex.<id>`, beside it.

use std::collections::BTreeMap;

/// What stands before the flags of an entry, without the object id: ten numbers of 32 bits.
const SEEN: usize = 40;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const LENGTH: u16 = 0x0fff;
/// The extension that names the other file, and which of its entries are deleted and replaced.
const LINK: &[u8] = b"link";

/// An entry: what is fixed, flags included, and the path.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    fixed: &'a [u8],
    flags: u16,
    path: &'a [u8],
}

/// Returns an index that is whole, as the third version has it. One that is not split is returned as it is.
/// `shared` reads the other file by its id in hex; `None` where that is not the right one, or one of
/// the two is damaged, or the whole would be larger than `most`.
pub fn joined(
    bytes: Vec<u8>,
    id: usize,
    most: u64,
    shared: impl FnOnce(&str) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let (own, end) = entries(&bytes, id)?;
    let extensions = bytes.get(end..bytes.len().checked_sub(id)?)?;
    let (link, kept) = without_link(extensions)?;
    let Some(link) = link else { return Some(bytes) };
    let (base, bitmaps) = link.split_at_checked(id)?;
    // git writes no id where there is no other file.
    let other = if base.iter().all(|byte| *byte == 0) {
        None
    } else {
        let digits = base.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let name: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
        Some(shared(&name).filter(|other| other.ends_with(base))?)
    };
    let shared = other.as_deref().map_or(Some(Vec::new()), |other| Some(entries(other, id)?.0))?;
    let merged = merged(shared, own, bitmaps)?;
    let mut whole = b"DIRC\0\0\0\x03".to_vec();
    whole.extend(u32::try_from(merged.len()).ok()?.to_be_bytes());
    for entry in merged {
        let start = whole.len();
        let length = u16::try_from(entry.path.len()).map_or(LENGTH, |length| length.min(LENGTH));
        whole.extend(&entry.fixed[..SEEN + id]);
        whole.extend((entry.flags & !LENGTH | length).to_be_bytes());
        whole.extend(&entry.fixed[SEEN + id + 2..]);
        whole.extend(entry.path);
        let padding = 8 - (whole.len() - start) % 8;
        whole.resize(whole.len() + padding, 0);
        if whole.len() as u64 > most {
            return None;
        }
    }
    whole.extend(kept);
    whole.resize(whole.len() + id, 0);
    Some(whole)
}

/// The entries of both files, as git joins them: entries without a path replace those of the other
/// file in turn, the rest is added.
fn merged<'a>(
    shared: Vec<Entry<'a>>,
    own: Vec<Entry<'a>>,
    bitmaps: &[u8],
) -> Option<Vec<Entry<'a>>> {
    let count = shared.len();
    let (deleted, replaced) = match bitmaps {
        [] => (vec![false; count], vec![false; count]),
        bitmaps => {
            let (deleted, rest) = bits(bitmaps, count)?;
            let (replaced, rest) = bits(rest, count)?;
            Some((deleted, replaced)).filter(|_| rest.is_empty())?
        }
    };
    let mut own = own.into_iter();
    let mut merged = BTreeMap::new();
    for (number, mut entry) in shared.into_iter().enumerate() {
        if replaced[number] {
            let new = own.next().filter(|new| new.path.is_empty())?;
            entry = Entry { path: entry.path, ..new };
        }
        if !deleted[number] {
            merged.insert((entry.path, entry.flags & STAGE), entry);
        }
    }
    for entry in own {
        if entry.path.is_empty() {
            return None;
        }
        merged.insert((entry.path, entry.flags & STAGE), entry);
    }
    Some(merged.into_values().collect())
}

/// The entries of an index, and where they end.
fn entries(bytes: &[u8], id: usize) -> Option<(Vec<Entry<'_>>, usize)> {
    let body = bytes.get(..bytes.len().checked_sub(id)?)?;
    let (count, _) = number(body.get(8..)?)?;
    let (mut entries, mut start) = (Vec::new(), 12);
    for _ in 0..count {
        let flags = body.get(start + SEEN + id..start + SEEN + id + 2)?;
        let flags = u16::from_be_bytes(flags.try_into().ok()?);
        let path = start + SEEN + id + if flags & EXTENDED == 0 { 2 } else { 4 };
        let length = body.get(path..)?.iter().position(|byte| *byte == 0)?;
        let end = path + length;
        entries.push(Entry { fixed: &body[start..path], flags, path: &body[path..end] });
        start += (end - start + 8) & !7;
    }
    Some((entries, start))
}

/// What the extension of a split index holds, if it is there, and all other extensions.
fn without_link(extensions: &[u8]) -> Option<(Option<&[u8]>, Vec<u8>)> {
    let (mut link, mut others, mut rest) = (None, Vec::new(), extensions);
    while !rest.is_empty() {
        let (size, inside) = number(rest.get(4..)?)?;
        let (inside, next) = inside.split_at_checked(usize::try_from(size).ok()?)?;
        match rest.starts_with(LINK) {
            true => link = Some(inside),
            false => others.extend(&rest[..rest.len() - next.len()]),
        }
        rest = next;
    }
    Some((link, others))
}

/// A bitmap of so many bits as git compresses them (EWAH), and what stands after it. A marker tells how
/// many words of equal bits follow, and how many words that are written out.
fn bits(bytes: &[u8], count: usize) -> Option<(Vec<bool>, &[u8])> {
    let (_size, rest) = number(bytes)?;
    let (words, rest) = number(rest)?;
    let (words, rest) = rest.split_at_checked(usize::try_from(words).ok()?.checked_mul(8)?)?;
    let (_last_marker, rest) = number(rest)?;
    let words = words.chunks_exact(8).map(|word| Some(u64::from_be_bytes(word.try_into().ok()?)));
    let mut words = words.collect::<Option<Vec<u64>>>()?.into_iter();
    let (mut bits, mut at) = (vec![false; count], 0_usize);
    while let Some(marker) = words.next() {
        let equal = usize::try_from((marker >> 1) & 0xffff_ffff).ok()?.checked_mul(64)?;
        let next = at.checked_add(equal)?;
        if marker & 1 == 1 {
            bits.get_mut(at..next)?.fill(true);
        }
        at = next;
        for _ in 0..marker >> 33 {
            let word = words.next()?;
            for bit in (0..64).filter(|bit| (word >> bit) & 1 == 1) {
                *bits.get_mut(at.checked_add(bit)?)? = true;
            }
            at = at.checked_add(64)?;
        }
    }
    Some((bits, rest))
}

/// A number of 32 bits, and what stands after it.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    /// Entries with a mark in place of what git saw, and a path.
    fn index(entries: &[(u8, &str)], extensions: &[u8], end: u8) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02\0\0\0".to_vec();
        bytes.push(u8::try_from(entries.len()).unwrap());
        for (mark, path) in entries {
            let start = bytes.len();
            bytes.extend([*mark; SEEN + 20]);
            bytes.extend([0, u8::try_from(path.len()).unwrap()]);
            bytes.extend(path.as_bytes());
            let padding = 8 - (bytes.len() - start) % 8;
            bytes.resize(bytes.len() + padding, 0);
        }
        bytes.extend(extensions);
        bytes.extend([end; 20]);
        bytes
    }

    /// A bitmap with one word that is written out, after a run of zeros.
    fn bitmap(zeros: u64, word: u64) -> Vec<u8> {
        let words = [(1 << 33) | (zeros << 1), word].map(u64::to_be_bytes).concat();
        [&64_u32.to_be_bytes()[..], &2_u32.to_be_bytes(), &words, &[0; 4]].concat()
    }

    fn extension(name: &[u8], inside: &[u8]) -> Vec<u8> {
        let size = u32::try_from(inside.len()).unwrap().to_be_bytes();
        [name, &size, inside].concat()
    }

    fn link(bitmaps: &[Vec<u8>]) -> Vec<u8> {
        extension(b"link", &[&[7; 20][..], &bitmaps.concat()].concat())
    }

    fn told(whole: &[u8]) -> Vec<(u8, String)> {
        let found = entries(whole, 20).unwrap().0;
        let path = |entry: &Entry| String::from_utf8(entry.path.to_vec()).unwrap();
        found.iter().map(|entry| (entry.fixed[0], path(entry))).collect()
    }

    #[test]
    fn entries_are_deleted_replaced_and_added() {
        let shared = index(&[(1, "a"), (2, "b"), (3, "d")], b"", 7);
        let other = extension(b"REUC", b"x");
        let link = link(&[bitmap(0, 0b001), bitmap(0, 0b010)]);
        let own = index(&[(4, ""), (5, "c"), (6, "d")], &[other.clone(), link].concat(), 0);
        let read = |name: &str| (name == "07".repeat(20)).then(|| shared.clone());
        let whole = joined(own.clone(), 20, 10_000, read).unwrap();
        let wanted = [(4, "b"), (5, "c"), (6, "d")].map(|(mark, path)| (mark, path.to_owned()));
        assert_eq!(told(&whole), wanted);
        let (_, end) = entries(&whole, 20).unwrap();
        assert_eq!(whole[end..], [&other[..], &[0; 20]].concat());
        assert_eq!(joined(own.clone(), 20, 100, read), None);
        // Another file than it was split from.
        let stranger = index(&[(1, "a"), (2, "b"), (3, "d")], b"", 8);
        assert_eq!(joined(own, 20, 10_000, |_| Some(stranger)), None);
    }

    #[test]
    fn an_index_that_is_not_split_stays_as_it_is() {
        let whole = index(&[(1, "a")], &extension(b"TREE", b"x"), 0);
        assert_eq!(joined(whole.clone(), 20, 10_000, |_| None), Some(whole));
        // One that is split from nothing has all its entries itself.
        let own = index(&[(1, "a")], &extension(b"link", &[0; 20]), 0);
        assert_eq!(told(&joined(own, 20, 10_000, |_| None).unwrap()), [(1, "a".to_owned())]);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let shared = index(&[(1, "a"), (2, "b")], b"", 7);
        let zero = || bitmap(0, 0);
        for (entries, bitmaps) in [
            // A bit too far, a replacement that is missing or has a path, one too many, a rest.
            (&[][..], vec![bitmap(0, 0b100), zero()]),
            (&[], vec![bitmap(1, 1), zero()]),
            (&[], vec![zero(), bitmap(0, 1)]),
            (&[(3, "c")], vec![zero(), bitmap(0, 1)]),
            (&[(3, "")], vec![zero(), zero()]),
            (&[], vec![zero(), zero(), vec![0]]),
            (&[], vec![zero()]),
        ] {
            let own = index(entries, &link(&bitmaps), 0);
            assert_eq!(joined(own, 20, 10_000, |_| Some(shared.clone())), None, "{bitmaps:?}");
        }
        let all = [&64_u32.to_be_bytes()[..], &1_u32.to_be_bytes(), &3_u64.to_be_bytes(), &[0; 4]];
        assert_eq!(bits(&all.concat(), 64), Some((vec![true; 64], &b""[..])));
        assert_eq!(bits(&all.concat(), 63), None);
    }

    #[test]
    fn fuzz_split_indexes() {
        let shared = index(&[(1, "a"), (2, "b")], b"", 7);
        let own = index(&[(4, ""), (5, "c")], &link(&[bitmap(0, 1), bitmap(0, 2)]), 0);
        fuzz::damaged(&[&own], |bytes| {
            let whole = joined(bytes.to_vec(), 20, 10_000, |_| Some(shared.clone()));
            assert!(whole.is_none_or(|whole| whole.len() <= 10_100 || whole == bytes));
        });
        fuzz::damaged(&[&shared], |bytes| {
            drop(joined(own.clone(), 20, 10_000, |_| Some(bytes.to_vec())));
        });
    }
}
