//! A program with known costs: what it says it uses is what it uses.
//!
//! `oracle NAME ARGS…`; sizes are in MiB, times in milliseconds. Memory is touched page by page
//! without huge pages; CPU time ends on the process's own CPU clock, so it does not depend on load.

#![expect(clippy::cast_ptr_alignment, reason = "a mapping starts at a page")]
#![expect(unsafe_code, reason = "fork, mmap and signal dispositions are what it is for")]
#![expect(clippy::exit, clippy::print_stdout, clippy::expect_used, reason = "it is for tests")]

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::exit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MIB: usize = 1024 * 1024;

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let n = |i: usize| args.get(i).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
    let text = |i: usize| args.get(i).map_or("", String::as_str);
    match text(0) {
        "alloc" => {
            let memory = map(n(1), libc::MAP_PRIVATE);
            sleep(n(2));
            memory.touch();
        }
        "spike" => spike(n(1), n(2), n(3)),
        "treealloc" => children(n(1), || {
            let memory = map(n(2), libc::MAP_PRIVATE);
            sleep(n(3));
            memory.touch();
        }),
        "cow" => {
            let memory = map(n(2), libc::MAP_PRIVATE);
            children(n(1), || {
                memory.look();
                sleep(n(3));
            });
        }
        "shm" => {
            let memory = map(n(2), libc::MAP_SHARED);
            children(n(1), || {
                memory.look();
                sleep(n(3));
            });
        }
        "spin" => children(n(1), || spin(n(2))),
        "daemon" => daemon(n(1), n(2), text(3)),
        "storm" => storm(n(1), text(2)),
        "iotree" => children_numbered(n(1), |i| {
            write_file(&format!("{}.{i}", text(3)), n(2), false);
        }),
        "write" => write_file(text(1), n(2), true),
        "cancel" => {
            write_file(text(1), n(2), false);
            std::fs::remove_file(text(1)).expect("remove");
        }
        "dread" => direct_read(text(1)),
        "noreap" => noreap(n(1), n(2)),
        "threads" => threads(n(1), n(2)),
        "escape" => escape(),
        "ignoreterm" => {
            ignore(libc::SIGTERM);
            ignore(libc::SIGINT);
            println!("ready");
            sleep(60_000);
        }
        "linger" => linger(n(1)),
        "bomb" => bomb(n(1)),
        "exit" => exit(i32::try_from(n(1)).unwrap_or(1)),
        "killself" => raise(libc::SIGKILL),
        "flood" => flood(n(1)),
        "invalid" => {
            print_bytes(b"ok\n\xff\xfe broken \xc3\x28 warning: odd\n\x1b[31mred warning\x1b[0m\n");
        }
        "rename" => {
            let name = std::ffi::CString::new(text(1)).expect("a name");
            // SAFETY: the name is a C string that lives during the call.
            unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
            spin(n(2));
        }
        "sleep" => sleep(n(1)),
        other => {
            println!("oracle: no such cost: {other}");
            exit(2);
        }
    }
}

fn sleep(ms: usize) {
    thread::sleep(Duration::from_millis(ms as u64));
}

fn print_bytes(bytes: &[u8]) {
    std::io::stdout().write_all(bytes).expect("stdout");
}

/// Memory that is really there.
struct Memory {
    at: *mut u8,
    len: usize,
}

fn map(mib: usize, sharing: i32) -> Memory {
    let len = mib * MIB;
    // SAFETY: a fresh anonymous mapping is asked for, at no fixed place.
    let at = unsafe {
        libc::mmap(
            null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            sharing | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert!(at != libc::MAP_FAILED, "no memory");
    // SAFETY: the range is the mapping made above.
    unsafe { libc::madvise(at, len, libc::MADV_NOHUGEPAGE) };
    let memory = Memory { at: at.cast(), len };
    memory.touch();
    memory
}

impl Memory {
    /// Writes to every page.
    fn touch(&self) {
        for at in (0..self.len).step_by(4096) {
            // SAFETY: `at` lies within the mapping.
            unsafe { self.at.add(at).write_volatile(1) };
        }
    }

    /// Reads every page.
    fn look(&self) {
        for at in (0..self.len).step_by(4096) {
            // SAFETY: `at` lies within the mapping.
            unsafe { self.at.add(at).read_volatile() };
        }
    }

    fn free(self) {
        // SAFETY: the mapping is not used again.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

fn spike(base: usize, extra: usize, hold: usize) {
    let memory = map(base, libc::MAP_PRIVATE);
    sleep(200);
    let more = map(extra, libc::MAP_PRIVATE);
    sleep(hold);
    more.free();
    sleep(1500);
    memory.touch();
}

/// Forks; the child does `work` and ends.
fn child(work: impl FnOnce()) -> i32 {
    // SAFETY: this program has one thread where it forks.
    match unsafe { libc::fork() } {
        0 => {
            work();
            exit(0);
        }
        -1 => -1,
        pid => pid,
    }
}

fn wait_all() {
    // SAFETY: a null status is allowed.
    while unsafe { libc::wait(null_mut()) } > 0 {}
}

fn children(count: usize, work: impl Fn()) {
    for _ in 0..count {
        child(&work);
    }
    wait_all();
}

fn children_numbered(count: usize, work: impl Fn(usize)) {
    for i in 0..count {
        child(|| work(i));
    }
    wait_all();
}

fn spin(ms: usize) {
    let end = ms as f64 / 1000.0;
    let mut x = 1_u64;
    loop {
        for _ in 0..10_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        std::hint::black_box(x);
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live local.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
        if time.tv_sec as f64 + time.tv_nsec as f64 / 1e9 >= end {
            return;
        }
    }
}

fn write_file(path: &str, mib: usize, sync: bool) {
    let mut file = File::create(path).expect("create");
    let chunk = vec![b'x'; MIB];
    for _ in 0..mib {
        file.write_all(&chunk).expect("write");
    }
    if sync {
        file.sync_all().expect("sync");
    }
}

/// A grandchild in a session of its own works after the command has ended.
fn daemon(ms: usize, mib: usize, path: &str) {
    child(|| {
        // SAFETY: setsid takes nothing.
        unsafe { libc::setsid() };
        child(|| {
            spin(ms);
            write_file(path, mib, false);
        });
    });
    wait_all();
}

fn storm(count: usize, path: &str) {
    for _ in 0..count {
        child(|| {
            spin(2);
            let mut file = OpenOptions::new().append(true).create(true).open(path).expect("open");
            file.write_all(&vec![b'x'; 64 * 1024]).expect("write");
        });
        wait_all();
    }
}

fn direct_read(path: &str) {
    let mut file =
        OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).expect("open");
    // O_DIRECT wants an aligned buffer: a mapping starts at a page.
    let memory = map(1, libc::MAP_PRIVATE);
    // SAFETY: the mapping is one MiB long and nobody else uses it.
    let buffer = unsafe { std::slice::from_raw_parts_mut(memory.at, MIB) };
    while file.read(buffer).expect("read") > 0 {}
}

fn ignore(signal: i32) {
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

fn raise(signal: i32) {
    // SAFETY: raising takes a number.
    unsafe { libc::raise(signal) };
}

/// A parent that ignores its children's end: the kernel throws their totals away.
fn noreap(count: usize, ms: usize) {
    ignore(libc::SIGCHLD);
    for _ in 0..count {
        child(|| spin(ms));
    }
    wait_all();
}

fn threads(count: usize, sleeps: usize) {
    let all: Vec<_> =
        (0..count).map(|_| thread::spawn(move || (0..sleeps).for_each(|_| sleep(1)))).collect();
    for one in all {
        one.join().expect("join");
    }
}

/// Children in sessions of their own that ignore SIGTERM and SIGINT, some of them orphans.
fn escape() {
    ignore(libc::SIGTERM);
    ignore(libc::SIGINT);
    for _ in 0..3 {
        child(|| {
            // SAFETY: setsid takes nothing.
            unsafe { libc::setsid() };
            child(|| sleep(60_000));
            child(|| {
                // SAFETY: setsid takes nothing.
                unsafe { libc::setsid() };
                sleep(60_000);
            });
        });
    }
    println!("ready");
    sleep(60_000);
}

/// A daemon that keeps the output open after the command has ended.
fn linger(ms: usize) {
    println!("before");
    child(|| {
        // SAFETY: setsid takes nothing.
        unsafe { libc::setsid() };
        sleep(ms);
        println!("after");
    });
}

/// Processes that fork for as long as they live, at most `count` at once.
fn bomb(count: usize) {
    ignore(libc::SIGTERM);
    let memory = map(1, libc::MAP_SHARED);
    // SAFETY: the mapping is aligned, shared, lives on, and holds zeros beyond each page's start.
    let alive = unsafe { AtomicUsize::from_ptr(memory.at.add(64).cast::<usize>()) };
    let end = Instant::now() + Duration::from_mins(1);
    println!("ready");
    while Instant::now() < end {
        if alive.fetch_add(1, Ordering::SeqCst) < count {
            // The child goes on in this very loop.
            // SAFETY: this program has one thread.
            if unsafe { libc::fork() } == -1 {
                alive.fetch_sub(1, Ordering::SeqCst);
            }
        } else {
            alive.fetch_sub(1, Ordering::SeqCst);
            sleep(1);
        }
    }
}

fn flood(mib: usize) {
    let chunk = vec![b'x'; MIB];
    for _ in 0..mib {
        print_bytes(&chunk);
    }
}
