//! The landing page's place in `README.md`, which may hold a text of the owner's.

/// Stands before what perftrail makes.
pub(super) const BEGIN: &str = "<!-- perftrail:begin -->";
/// Stands after it.
pub(super) const END: &str = "<!-- perftrail:end -->";

/// Why the landing page has no place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MarkerError {
    /// The markers are not one pair in order.
    #[error("README.md does not hold {BEGIN} and {END} once each and in this order")]
    Damaged,
    /// The landing page itself holds a marker, which would damage the next one.
    #[error("the landing page holds a marker")]
    Inside,
}

/// `readme` with `ours` between the markers; everything outside them stays byte for byte. Without
/// markers ours is put at the end, after the owner's text.
///
/// # Errors
/// When the markers are damaged: then it cannot be told what is the owner's.
pub(super) fn splice(readme: Option<&[u8]>, ours: &str) -> Result<Vec<u8>, MarkerError> {
    if ours.contains(BEGIN) || ours.contains(END) {
        return Err(MarkerError::Inside);
    }
    let block = format!("{BEGIN}\n{}\n{END}", ours.trim_end_matches('\n'));
    let readme = readme.unwrap_or_default();
    match (places(readme, BEGIN).as_slice(), places(readme, END).as_slice()) {
        ([], []) => {
            let mut whole = readme.to_vec();
            let gap: &[u8] = match readme {
                [] | [.., b'\n', b'\n'] => b"",
                [.., b'\n'] => b"\n",
                _ => b"\n\n",
            };
            whole.extend_from_slice(gap);
            whole.extend_from_slice(block.as_bytes());
            whole.push(b'\n');
            Ok(whole)
        }
        ([begin], [end]) if begin < end => {
            let after = end + END.len();
            Ok([&readme[..*begin], block.as_bytes(), &readme[after..]].concat())
        }
        _ => Err(MarkerError::Damaged),
    }
}

/// Where `marker` stands in `text`, which may be in any encoding.
fn places(text: &[u8], marker: &str) -> Vec<usize> {
    let marker = marker.as_bytes();
    text.windows(marker.len())
        .enumerate()
        .filter(|(_, window)| *window == marker)
        .map(|(place, _)| place)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_owners_text_stays() {
        let block = format!("{BEGIN}\n# Runs\n{END}");
        for (readme, whole) in [
            (String::new(), format!("{block}\n")),
            ("Ours".to_owned(), format!("Ours\n\n{block}\n")),
            ("Ours\n".to_owned(), format!("Ours\n\n{block}\n")),
            ("Ours\n\n".to_owned(), format!("Ours\n\n{block}\n")),
            (format!("Ours\r\n{BEGIN}old{END} more"), format!("Ours\r\n{block} more")),
        ] {
            let made = splice(Some(readme.as_bytes()), "# Runs\n").unwrap();
            assert_eq!(String::from_utf8_lossy(&made), whole);
            assert_eq!(splice(Some(&made), "# Runs\n").unwrap(), made);
        }
        assert_eq!(splice(None, "# Runs").unwrap(), format!("{block}\n").into_bytes());
    }

    #[test]
    fn damaged_markers_are_left_alone() {
        for readme in [
            BEGIN.to_owned(),
            END.to_owned(),
            format!("{END}{BEGIN}"),
            format!("{BEGIN}{END}{BEGIN}{END}"),
        ] {
            assert_eq!(splice(Some(readme.as_bytes()), "x"), Err(MarkerError::Damaged));
        }
        assert_eq!(splice(None, &format!("a {END}")), Err(MarkerError::Inside));
    }

    proptest! {
        #[test]
        fn bytes_outside_the_markers_never_change(
            before in prop::collection::vec(any::<u8>(), 0..40),
            after in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let readme = [before.as_slice(), BEGIN.as_bytes(), b"old", END.as_bytes(), &after].concat();
            let made = splice(Some(&readme), "new").unwrap();
            prop_assert!(made.starts_with(&before) && made.ends_with(&after));
            prop_assert_eq!(made.len(), readme.len() + "\nnew\n".len() - "old".len());
        }
    }
}
