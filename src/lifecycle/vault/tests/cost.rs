//! What putting away costs. Times only mean something in a release build:
//! `cargo test --release --bin git-sandbox vault::tests::cost -- --ignored --nocapture --test-threads=1`

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{World, git, write};

/// A sandbox of so many clean files, packed.
fn world(files: u32) -> World {
    let fill = |app: &Path| {
        for number in 0..files {
            let path = app.join(format!("d{}/e{}/file{number}", number % 40, number % 7));
            let line = format!("line of file {number} with some text in it\n");
            write(&path, line.repeat(1 + (number as usize * 7919) % 100));
        }
    };
    let world = World::with(&[], fill);
    git(&world.app(), &["gc", "-q"]);
    world
}

/// Every file opened and read, one after another.
fn read_all(folder: &Path) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        bytes += match entry.file_type().unwrap().is_dir() {
            true => read_all(&entry.path()),
            false => fs::read(entry.path()).unwrap().len() as u64,
        };
    }
    bytes
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stderr, reason = "its result")]
fn putting_10_000_clean_files_away_takes_at_most_twice_reading_them() {
    let world = world(10_000);
    let (mut reading, mut storing, mut deleting, mut back) = (vec![], vec![], vec![], vec![]);
    let mut size = 0;
    for _ in 0..7 {
        let start = Instant::now();
        size = read_all(&world.tree());
        reading.push(start.elapsed());
        let start = Instant::now();
        let away = world.put_away();
        storing.push(start.elapsed());
        let start = Instant::now();
        away.discard(&mut || Ok(true), &mut || Ok(())).unwrap();
        deleting.push(start.elapsed());
        assert!(!world.tree().exists());
        let start = Instant::now();
        world.back();
        back.push(start.elapsed());
        assert!(world.vault().forget(super::ID).unwrap());
    }
    let room = crate::sys::disk_usage::of(&world.vault_dir()).unwrap() / 7;
    let (reading, storing) = (median(reading), median(storing));
    let ratio = storing.as_secs_f64() / reading.as_secs_f64();
    eprintln!(
        "{size} bytes; read {reading:?}, stored {storing:?} ({ratio:.2}), {room} bytes of vault an item"
    );
    eprintln!("deleted {:?}, brought back {:?}", median(deleting), median(back));
    assert!(ratio <= 2.0);
    assert!(room * 4 < size);
}

#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stderr, reason = "its result")]
fn memory_does_not_grow_with_the_files() {
    let world = world(100_000);
    let big = fs::File::create(world.tree().join("big")).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(7), 300 << 20), &mut &big).unwrap();
    let peak = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak();
    let start = Instant::now();
    world.away();
    eprintln!("{before} KiB before, {} KiB at most, {:?}", peak(), start.elapsed());
    assert!(peak() < 30 << 10);
    fs::write("/proc/self/clear_refs", "5").unwrap();
    world.back();
    eprintln!("{} KiB at most while it is brought back", peak());
}
