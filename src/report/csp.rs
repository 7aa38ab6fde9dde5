//! The page's content security policy: nothing from anywhere, and of inline style and script only
//! those whose exact bytes are named.

use sha2::{Digest, Sha256};

/// The policy for a page with this one style and this one script.
pub(crate) fn policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        source(style),
        source(script)
    )
}

/// `sha256-…` over the text between the tags, as browsers compute it.
fn source(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte));
        let group = group << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let digit = (group >> (18 - 6 * i)) & 0x3f;
            let shown = if i <= chunk.len() { DIGITS[digit as usize] } else { b'=' };
            text.push(char::from(shown));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_with_and_without_padding() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn hashes_are_those_of_browsers() {
        // Known from the specification's examples: the hash of `doSomething();`.
        assert_eq!(source("doSomething();"), "sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc=");
    }
}
