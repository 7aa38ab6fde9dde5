//! The last steps that all readers of trees share.

use super::super::build::{Builder, Built, Stretches, lift};
use super::super::model::{Body, Frame, FrameKind, NONE, Profile, Weight};
use super::super::reading::Reading;
use super::super::sniff::Kind;

/// What a reader found, before it is a profile.
pub(super) struct Parts {
    pub(super) builder: Builder,
    pub(super) weights: Vec<Weight>,
    /// For each thread its node ([`NONE`] without one) and its samples in the order of time.
    pub(super) order: Vec<(u32, Stretches)>,
}

impl Parts {
    /// The profile. A thread that is alone is not shown as one, nor is what started the program.
    pub(super) fn profile(self, kind: Kind, reading: &mut Reading) -> Profile {
        if self.builder.nodes.cut > 0 {
            reading.note(format!(
                "the call tree has more nodes than are kept; {} stacks count where it was cut",
                self.builder.nodes.cut
            ));
        }
        if self.builder.names_full {
            reading.note("there are more functions than are kept; the later ones are put together");
        }
        let mut built = self.builder.finish();
        let alone = Alone::of(&built);
        lift(&mut built, |frame| is_start(frame) || alone.is(frame.kind));
        let order = self.order.into_iter().map(|(thread, stretches)| {
            let thread = if alone.thread { NONE } else { built.node(thread) };
            built.order(thread, stretches)
        });
        let order = order.filter(|order| order.node.iter().any(|node| *node != NONE)).collect();
        Profile {
            lines: built.lines,
            order,
            ..Profile::new(kind, self.weights, built.frames, Body::Tree(built.tree))
        }
    }
}

/// Whether there is only one process, only one thread: then neither says anything.
struct Alone {
    process: bool,
    thread: bool,
}

impl Alone {
    fn of(built: &Built) -> Self {
        let kind = |node: usize| built.frames[built.tree.frame[node] as usize].kind;
        let (mut threads, mut bare, mut bare_roots) = (0, 0, 0);
        // A process that only starts others, a shell say, tells nothing.
        let mut at_work = std::collections::BTreeSet::new();
        for (node, &parent) in built.tree.parent.iter().enumerate() {
            let in_process = parent != NONE && kind(parent as usize) == FrameKind::Process;
            match kind(node) {
                FrameKind::Process => {
                    if built.tree.own.iter().any(|own| own[node] > 0.0) {
                        at_work.insert(node);
                    }
                    continue;
                }
                FrameKind::Thread => threads += 1,
                // Code of no thread beside threads: then the thread tells something.
                _ if parent == NONE || in_process => {
                    bare += 1;
                    bare_roots += usize::from(parent == NONE);
                }
                _ => {}
            }
            if in_process {
                at_work.insert(parent as usize);
            }
        }
        Self { process: at_work.len() == 1 && bare_roots == 0, thread: threads == 1 && bare == 0 }
    }

    fn is(&self, kind: FrameKind) -> bool {
        match kind {
            FrameKind::Process => self.process,
            FrameKind::Thread => self.thread,
            _ => false,
        }
    }
}

/// Whether a frame only started the program: the profiler, the interpreter's way to the script.
fn is_start(frame: &Frame) -> bool {
    let file = frame.file.as_str();
    let is_profiler =
        ["pyinstrument", "memray", "scalene", "cProfile.py", "profile.py", "profiling"].iter().any(
            |tool| {
                file.strip_prefix(tool).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            },
        );
    let is_script = file.ends_with("bin/pyinstrument")
        || file.ends_with("bin/memray")
        || file.ends_with("bin/scalene");
    let is_runpy = matches!(file, "<frozen runpy>" | "runpy.py" | "<string>");
    let is_exec = frame.module == "built-in" && frame.function.contains("exec");
    is_profiler || is_script || is_runpy || is_exec
}
