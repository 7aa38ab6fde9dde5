//! One process of the tree: what it showed when it was last looked at.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::procfs::Stat;

/// A process; sizes in bytes, times in ticks, faults with those of waited-for children.
#[derive(Debug)]
pub(super) struct Proc {
    pub(super) pid: i32,
    pub(super) starttime: u64,
    pub(super) pgrp: i32,
    pub(super) dead: bool,
    pub(super) threads: u32,
    pub(super) rss: u64,
    pub(super) rss_before: u64,
    pub(super) mark: u64,
    pub(super) mark_before: u64,
    pub(super) own_ticks: u64,
    pub(super) child_ticks: u64,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    pub(super) stat: Cached,
    pub(super) status: Cached,
    pub(super) children: Cached,
}

/// A file of `/proc` that stays open where the budget allows.
#[derive(Debug, Default)]
pub(super) struct Cached(Option<File>);

impl Cached {
    /// Reads the file whole into `buffer`. A process that is gone is an error.
    pub(super) fn read(
        &mut self,
        path: impl FnOnce() -> String,
        keep: bool,
        buffer: &mut Vec<u8>,
    ) -> io::Result<()> {
        if let Some(file) = &self.0 {
            return read_all(file, buffer);
        }
        let file = File::open(path())?;
        read_all(&file, buffer)?;
        if keep {
            self.0 = Some(file);
        }
        Ok(())
    }
}

fn read_all(file: &File, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut filled = 0;
    loop {
        if buffer.len() < filled + 4096 {
            buffer.resize(filled + 8192, 0);
        }
        let got = file.read_at(&mut buffer[filled..], filled as u64)?;
        filled += got;
        // Most of these files come whole in one read.
        if got == 0 || (filled == got && got < 2048) {
            buffer.truncate(filled);
            return Ok(());
        }
    }
}

impl Proc {
    pub(super) fn new(pid: i32, starttime: u64) -> Self {
        Self {
            pid,
            starttime,
            pgrp: 0,
            dead: false,
            threads: 0,
            rss: 0,
            rss_before: 0,
            mark: 0,
            mark_before: 0,
            own_ticks: 0,
            child_ticks: 0,
            minor_faults: 0,
            major_faults: 0,
            stat: Cached::default(),
            status: Cached::default(),
            children: Cached::default(),
        }
    }

    pub(super) fn take(&mut self, stat: &Stat<'_>, page: u64) -> bool {
        self.pgrp = stat.pgrp;
        self.dead = stat.is_dead();
        self.threads = stat.threads;
        self.rss = if self.dead { 0 } else { stat.rss_pages.saturating_mul(page) };
        self.own_ticks = self.own_ticks.max(stat.utime + stat.stime);
        self.child_ticks = stat.cutime + stat.cstime;
        self.minor_faults = stat.minor_faults;
        self.major_faults = stat.major_faults;
        true
    }

    pub(super) fn open_files(&self) -> usize {
        [&self.stat, &self.status, &self.children].iter().filter(|file| file.0.is_some()).count()
    }
}
