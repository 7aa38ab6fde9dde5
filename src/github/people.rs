//! What somebody may do in a repository.

use serde::Deserialize;

use super::call::Call;
use super::error::Error;
use super::in_repository::InRepository;
use crate::trigger::approve::Permission;

impl InRepository<'_> {
    /// What `login` may do here. GitHub names the role `maintain` write, and `triage` read; a word
    /// that it does not document is [`Permission::Unknown`].
    ///
    /// # Errors
    /// [`Error::Name`] before anything is sent; [`Error::NotFound`] for who does not exist.
    pub fn permission(&self, login: &str) -> Result<Permission, Error> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_[]".contains(&byte);
        if login.is_empty() || login.len() > 100 || !login.bytes().all(known) {
            let text = login.chars().take(100).collect();
            return Err(Error::Name { what: "login", text });
        }
        let path = self.path(&["collaborators", login, "permission"]);
        let doing = self.doing(&format!("ask what {login} may do"));
        let wire: PermissionWire = self.wire().ask_for(&Call::get(&path, &[], doing))?;
        Ok(match wire.permission.as_str() {
            "admin" => Permission::Admin,
            "write" => Permission::Write,
            "read" => Permission::Read,
            "none" => Permission::None,
            _ => Permission::Unknown,
        })
    }
}

#[derive(Deserialize)]
struct PermissionWire {
    permission: String,
}
