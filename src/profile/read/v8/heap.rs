//! A heap profile: bytes that are alive at the end, sampled.

use super::super::super::build::{Builder, id, weight};
use super::super::super::error::{Fault, Reason};
use super::super::super::json::{Json, Next};
use super::super::super::model::{Measured, NONE, Weight};
use super::super::super::reading::Reading;
use super::super::super::sniff::Kind;
use super::super::Context;
use super::super::assemble::Parts;
use super::{Call, call_frame, frame, is_root};
use crate::model::metric::Unit;

/// A node of a heap profile: its parent, its site, the bytes it has itself.
struct HeapNode {
    parent: u32,
    call: Call,
    bytes: f64,
}

pub(in super::super) fn read(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut nodes: Option<Vec<HeapNode>> = None;
    let mut cut = 0;
    json.object(&mut |json, key| match key {
        "head" if nodes.is_some() => Err(json.wrong(Reason::Twice { what: "`head`" })),
        "head" => {
            nodes = Some(nested(context, json, &mut cut)?);
            Ok(())
        }
        _ => json.skip(),
    })?;
    let Some(nodes) = nodes else {
        return Err(json.wrong(Reason::Missing { what: "`head`" }));
    };
    let mut builder = Builder::new(1, context.limits);
    builder.nodes.cut += cut;
    let mut places: Vec<u32> = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let parent = if node.parent == NONE { NONE } else { places[node.parent as usize] };
        let site = builder.site(frame(context, &node.call), 0);
        let is_bare = node.parent == NONE && is_root(&builder, site) && node.bytes == 0.0;
        let place = if is_bare && nodes.len() > 1 { NONE } else { builder.child(parent, site) };
        if place != NONE {
            builder.add(place, 0, weight(node.bytes).unwrap_or(0.0));
        }
        places.push(place);
    }
    let weights = vec![Weight::new("memory", Unit::Bytes, Measured::Sampled)];
    let mut profile =
        Parts { builder, weights, order: Vec::new() }.profile(Kind::HeapProfile, reading);
    profile.tool = Some("V8".to_owned());
    if profile.sum(0) <= 0.0 {
        reading.note("nothing that was sampled is alive any more at the end");
    }
    reading.profiles.push(profile);
    Ok(())
}

/// Reads nested nodes into a list, parents first, however deep they are.
fn nested(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    cut: &mut u64,
) -> Result<Vec<HeapNode>, Fault> {
    let fresh = |parent| HeapNode { parent, call: Call::default(), bytes: 0.0 };
    json.begin_object()?;
    let mut nodes = vec![fresh(NONE)];
    // Each open node, whether its object is before its first key, and whether its children's
    // array is open and before its first item.
    let mut open: Vec<(u32, bool, Option<bool>)> = vec![(0, true, None)];
    while let Some((node, first_key, children)) = open.last_mut() {
        let node = *node;
        if let Some(first_item) = children {
            if !json.next_item(first_item)? {
                *children = None;
            } else if json.peek()? != Next::Object || nodes.len() >= context.limits.nodes {
                *cut += 1;
                json.skip()?;
            } else {
                json.begin_object()?;
                nodes.push(fresh(node));
                open.push((id(nodes.len() - 1), true, None));
            }
            continue;
        }
        if !json.next_key(first_key)? {
            open.pop();
            continue;
        }
        let next = json.peek()?;
        match json.key() {
            "children" if next == Next::Array => {
                json.begin_array()?;
                *children = Some(true);
            }
            "callFrame" if next == Next::Object => {
                nodes[node as usize].call = call_frame(json)?;
            }
            "selfSize" => nodes[node as usize].bytes = json.number_or_nan()?,
            _ => json.skip()?,
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::super::super::super::{Options, read_bytes};

    #[test]
    fn a_deep_heap_is_read() {
        let depth = 20_000;
        let open = r#"{"callFrame": {"functionName": "f", "url": "", "lineNumber": 3}, "selfSize": 1, "children": ["#;
        let text = format!("{{\"head\": {}{}}}", open.repeat(depth), "]}".repeat(depth));
        let reading = read_bytes(text.as_bytes(), &Options::default()).unwrap();
        assert!((reading.profiles[0].sum(0) - depth as f64).abs() < 1e-9);
    }
}
