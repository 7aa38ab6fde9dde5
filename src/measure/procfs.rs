//! Parsers for the kernel's text files about processes. All are pure; a line that does not fit
//! gives `None` or is skipped, never a made-up number.

/// The parts of `/proc/PID/stat` that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat<'a> {
    /// The process id.
    pub(super) pid: i32,
    /// The program's name, at most 15 bytes, any bytes.
    pub(super) comm: &'a [u8],
    /// `R`, `S`, `Z` and so on.
    pub(super) state: u8,
    /// The parent.
    pub(super) ppid: i32,
    /// The process group.
    pub(super) pgrp: i32,
    /// Faults without I/O, children that were waited for included.
    pub(super) minor_faults: u64,
    /// Faults with I/O, children that were waited for included.
    pub(super) major_faults: u64,
    /// Own user time in ticks.
    pub(super) utime: u64,
    /// Own kernel time in ticks.
    pub(super) stime: u64,
    /// The same of the children that were waited for.
    pub(super) cutime: u64,
    /// The same of the children that were waited for.
    pub(super) cstime: u64,
    /// How many threads.
    pub(super) threads: u32,
    /// When it began, in ticks since boot: with the pid, its identity.
    pub(super) starttime: u64,
    /// Resident pages.
    pub(super) rss_pages: u64,
}

impl Stat<'_> {
    /// Whether it has ended and waits to be reaped.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// Reads `/proc/PID/stat`. The name may hold spaces and parentheses: it ends at the last `)`.
pub(super) fn stat(text: &[u8]) -> Option<Stat<'_>> {
    let open = text.iter().position(|&c| c == b'(')?;
    let close = text.iter().rposition(|&c| c == b')')?;
    let comm = text.get(open + 1..close)?;
    let pid = number(text.get(..open)?.trim_ascii())?;
    let mut fields = words(text.get(close + 1..)?);
    let state = *fields.next()?.first()?;
    // The numbers that follow are fields 4, 5, … of the kernel's documentation.
    let mut numbers = [0_i64; 21];
    for slot in &mut numbers {
        *slot = number(fields.next()?)?;
    }
    let field = |n: usize| numbers.get(n - 4).copied().unwrap_or(0);
    let count = |n: usize| u64::try_from(field(n)).unwrap_or(0);
    Some(Stat {
        pid,
        comm,
        state,
        ppid: i32::try_from(field(4)).ok()?,
        pgrp: i32::try_from(field(5)).ok()?,
        minor_faults: count(10).saturating_add(count(11)),
        major_faults: count(12).saturating_add(count(13)),
        utime: count(14),
        stime: count(15),
        cutime: count(16),
        cstime: count(17),
        threads: u32::try_from(count(20)).unwrap_or(u32::MAX),
        starttime: count(22),
        rss_pages: count(24),
    })
}

/// The value of a `Name:   123 kB` line of `/proc/PID/status` or `smaps_rollup`, in bytes.
/// `name` includes the colon.
pub(super) fn kib_field(text: &[u8], name: &str) -> Option<u64> {
    let line = lines(text).find_map(|line| line.strip_prefix(name.as_bytes()))?;
    let kib: u64 = number(words(line).next()?)?;
    kib.checked_mul(1024)
}

/// The counters of `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Bytes read by calls, from anything.
    pub read_chars: u64,
    /// Bytes written by calls, to anything.
    pub write_chars: u64,
    /// Read calls.
    pub read_calls: u64,
    /// Write calls.
    pub write_calls: u64,
    /// Bytes fetched from storage.
    pub read_bytes: u64,
    /// Bytes that were to go to storage, counted when they became dirty.
    pub write_bytes: u64,
    /// Of these, bytes that never went, because the file was cut or removed first.
    pub cancelled_write_bytes: u64,
}

impl Io {
    /// Every counter of both.
    pub(super) fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    /// What came since `before`.
    pub(super) fn minus(self, before: Self) -> Self {
        self.zip(before, u64::saturating_sub)
    }

    fn zip(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            read_chars: join(self.read_chars, other.read_chars),
            write_chars: join(self.write_chars, other.write_chars),
            read_calls: join(self.read_calls, other.read_calls),
            write_calls: join(self.write_calls, other.write_calls),
            read_bytes: join(self.read_bytes, other.read_bytes),
            write_bytes: join(self.write_bytes, other.write_bytes),
            cancelled_write_bytes: join(self.cancelled_write_bytes, other.cancelled_write_bytes),
        }
    }
}

/// Reads `/proc/PID/io`.
pub(super) fn io(text: &[u8]) -> Option<Io> {
    let mut io = Io::default();
    let mut seen = 0;
    for line in lines(text) {
        let Some(colon) = line.iter().position(|&c| c == b':') else { continue };
        let (name, value) = line.split_at(colon);
        let slot = match name {
            b"rchar" => &mut io.read_chars,
            b"wchar" => &mut io.write_chars,
            b"syscr" => &mut io.read_calls,
            b"syscw" => &mut io.write_calls,
            b"read_bytes" => &mut io.read_bytes,
            b"write_bytes" => &mut io.write_bytes,
            b"cancelled_write_bytes" => &mut io.cancelled_write_bytes,
            _ => continue,
        };
        *slot = number(value.get(1..)?.trim_ascii())?;
        seen += 1;
    }
    (seen == 7).then_some(io)
}

/// Reads `/proc/PID/schedstat`: nanoseconds on a CPU, and waiting for one.
pub(super) fn schedstat(text: &[u8]) -> Option<(u64, u64)> {
    let mut fields = words(text);
    Some((number(fields.next()?)?, number(fields.next()?)?))
}

/// The numbers of a file that holds only numbers, such as `children`.
pub(super) fn numbers(text: &[u8]) -> impl Iterator<Item = i32> + '_ {
    words(text).filter_map(number)
}

/// The lines of a text.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&c| c == b'\n')
}

/// The words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// A decimal number.
pub(super) fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &[u8] = b"4242 (a) (b) R 17 4242 4240 0 -1 4194304 101 11 3 1 250 50 30 20 20 0 \
        7 0 123456 734003200 2560 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n";

    #[test]
    fn the_name_ends_at_the_last_parenthesis() {
        let stat = stat(STAT).expect("a stat line");
        assert_eq!(stat.comm, b"a) (b");
        assert_eq!((stat.pid, stat.state, stat.ppid, stat.pgrp), (4242, b'R', 17, 4242));
        assert_eq!((stat.utime, stat.stime, stat.cutime, stat.cstime), (250, 50, 30, 20));
        assert_eq!((stat.minor_faults, stat.major_faults), (112, 4));
        assert_eq!((stat.threads, stat.starttime, stat.rss_pages), (7, 123_456, 2560));
        assert!(!stat.is_dead());
    }

    #[test]
    fn a_cut_line_is_none() {
        assert_eq!(stat(b""), None);
        assert_eq!(stat(b"1 (x"), None);
        assert_eq!(stat(b")("), None);
        assert_eq!(stat(&STAT[..60]), None);
    }

    #[test]
    fn sizes_are_bytes() {
        let status = b"Name:\tx\nVmHWM:\t  204800 kB\nVmRSS:\t  100 kB\nThreads:\t3\n";
        assert_eq!(kib_field(status, "VmHWM:"), Some(209_715_200));
        assert_eq!(kib_field(status, "VmSwap:"), None);
        assert_eq!(kib_field(b"VmHWM:\tlots kB\n", "VmHWM:"), None);
    }

    #[test]
    fn io_needs_every_counter() {
        let text = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n\
            cancelled_write_bytes: 7\n";
        let all = io(text).expect("an io file");
        assert_eq!((all.read_chars, all.write_calls, all.cancelled_write_bytes), (1, 4, 7));
        assert_eq!(all.plus(all).write_bytes, 12);
        assert_eq!(all.minus(all), Io::default());
        assert_eq!(io(&text[..20]), None);
    }

    #[test]
    fn scheduling() {
        assert_eq!(schedstat(b"486000000 320000000 12\n"), Some((486_000_000, 320_000_000)));
        assert_eq!(schedstat(b"0"), None);
        assert_eq!(numbers(b"12 34 x 56 \n").collect::<Vec<_>>(), [12, 34, 56]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (stat(&text), io(&text), kib_field(&text, "VmHWM:"), schedstat(&text));
        }
    }
}
