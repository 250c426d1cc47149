//! A git that is talked to while it runs: `cat-file --batch`, `fast-import`, long listings.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread::JoinHandle;

use crate::error::{Doing, Error, Result};
use crate::git::{Answer, Call};

/// Of what git says on stderr, no more is kept.
const MOST_SAID: usize = 1 << 16;
const BUFFER: usize = 1 << 16;
/// More than any small object holds.
const LARGEST: u64 = 16 << 20;

/// A git at work, with both ends of its pipes. Dropped before it was finished, it is killed.
#[derive(Debug)]
pub struct Pipe {
    child: Child,
    input: Option<BufWriter<ChildStdin>>,
    output: Option<BufReader<ChildStdout>>,
    said: Option<JoinHandle<Vec<u8>>>,
}

/// An object in the answer of `cat-file --batch`.
#[derive(Debug, PartialEq, Eq)]
pub struct Object {
    /// Its full id.
    pub id: String,
    /// `blob`, `commit`, ...
    pub kind: String,
    /// How many bytes follow.
    pub size: u64,
}

impl Call<'_> {
    /// Starts it with a pipe to its stdin and one from its stdout.
    pub fn piped(self) -> Result<Pipe> {
        let mut run = self.command();
        run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = run.spawn().doing(|| "start git".into())?;
        let said = child.stderr.take().map(|mut stderr| {
            std::thread::spawn(move || {
                let mut said = Vec::new();
                let mut chunk = [0; 4096];
                // Read to its end, or git would wait for a reader.
                while let Ok(count @ 1..) = stderr.read(&mut chunk) {
                    let room = MOST_SAID - said.len();
                    said.extend_from_slice(&chunk[..count.min(room)]);
                }
                said
            })
        });
        let input = child.stdin.take().map(|pipe| BufWriter::with_capacity(BUFFER, pipe));
        let output = child.stdout.take().map(|pipe| BufReader::with_capacity(BUFFER, pipe));
        Ok(Pipe { child, input, output, said })
    }
}

impl Pipe {
    /// Where its input is written.
    pub fn input(&mut self) -> std::io::Result<&mut BufWriter<ChildStdin>> {
        self.input.as_mut().ok_or_else(|| std::io::ErrorKind::BrokenPipe.into())
    }

    /// Where its output is read.
    pub fn output(&mut self) -> std::io::Result<&mut BufReader<ChildStdout>> {
        self.output.as_mut().ok_or_else(|| std::io::ErrorKind::BrokenPipe.into())
    }

    /// Has nothing more to say to it.
    pub fn close_input(&mut self) -> std::io::Result<()> {
        self.input.take().map_or(Ok(()), |mut input| input.flush())
    }

    /// Asks `cat-file --batch` for an object, whose bytes are then read from the output, with a
    /// line feed after them. `None` if there is no such object.
    pub fn object(&mut self, name: &str) -> std::io::Result<Option<Object>> {
        let input = self.input()?;
        writeln!(input, "{name}")?;
        input.flush()?;
        let mut line = Vec::new();
        self.output()?.read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Object::parse(&String::from_utf8_lossy(&line)))
    }

    /// Asks `cat-file --batch` for a small object with its bytes. `None` if there is none.
    pub fn small_object(&mut self, name: &str) -> std::io::Result<Option<(Object, Vec<u8>)>> {
        let Some(object) = self.object(name)? else { return Ok(None) };
        if object.size > LARGEST {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::new();
        let output = self.output()?;
        output.take(object.size).read_to_end(&mut bytes)?;
        output.read_exact(&mut [0])?;
        Ok(Some((object, bytes)))
    }

    /// Waits for its end. What it still had to say on stdout is dropped.
    pub fn finish(mut self) -> Result<Answer> {
        // An input that cannot be written any more shows in how it ended.
        let _ = self.close_input();
        self.output = None;
        let status = self.child.wait().doing(|| "wait for git".into())?;
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        Ok(Answer { code: status.code(), stdout: Vec::new(), stderr: said })
    }

    /// Waits for its end, which must be a good one.
    pub fn done(self, doing: &str) -> Result<()> {
        let answer = self.finish()?;
        match answer.ok() {
            true => Ok(()),
            false => Err(Error::Git { doing: doing.to_owned(), why: answer.why() }),
        }
    }
}

impl Object {
    /// `<id> <kind> <size>`; anything else, `<name> missing` above all, is none.
    fn parse(line: &str) -> Option<Object> {
        let mut words = line.trim_end().split(' ');
        let (id, kind, size) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
        words.next().is_none().then(|| Object { id: id.to_owned(), kind: kind.to_owned(), size })
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::Object;

    #[test]
    fn only_an_object_that_is_there_is_one() {
        let there = Object { id: "ab".into(), kind: "blob".into(), size: 3 };
        assert_eq!(Object::parse("ab blob 3\n"), Some(there));
        for line in ["ab missing\n", "a b c missing\n", "ab blob x\n", "ab blob 3 4\n", "\n"] {
            assert_eq!(Object::parse(line), None);
        }
    }
}
