//! SQL for rules of the repository that were removed over the API and whose file the remote still has.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};
use tollgate_model::instruction::{InstructionId, RuleContent};

use super::{Store, StoreError};

/// A removed rule of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpushedRemoval {
    /// Path of its file in the repository.
    pub path: String,
    /// Id that its instruction had.
    pub id: InstructionId,
    /// Name of the rule.
    pub name: String,
    /// Content of the file.
    pub content: RuleContent,
}

impl Store {
    /// Returns the removed rules of the repository, by path.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn unpushed_removals(&self) -> Result<Vec<UnpushedRemoval>, StoreError> {
        let select =
            "SELECT path, instruction, name, is_module, content FROM unpushed_removals ORDER BY path";
        sqlx::query(select).fetch_all(&self.inner.readers).await?.iter().map(read).collect()
    }

    /// Stores that a rule of the repository was removed.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn note_unpushed_removal(&self, removal: &UnpushedRemoval) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let noted = insert(lease.connection(), removal).await;
        lease.give_back(noted).await
    }

    /// Forgets that the rule at this path was removed.
    ///
    /// # Errors
    /// When the disk or the file fails.
    pub async fn forget_unpushed_removal(&self, path: &str) -> Result<(), StoreError> {
        self.inner.directory.check()?;
        let mut lease = self.inner.writer.lease().await?;
        let delete = sqlx::query("DELETE FROM unpushed_removals WHERE path = ?1").bind(path);
        let forgotten = delete.execute(lease.connection()).await.map(drop).map_err(StoreError::from);
        lease.give_back(forgotten).await
    }
}

async fn insert(connection: &mut SqliteConnection, removal: &UnpushedRemoval) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT OR REPLACE INTO unpushed_removals (path, instruction, name, is_module, content) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )
    .bind(&removal.path)
    .bind(removal.id.0)
    .bind(&removal.name)
    .bind(matches!(removal.content, RuleContent::Module(_)))
    .bind(removal.content.bytes())
    .execute(connection)
    .await?;
    Ok(())
}

fn read(row: &SqliteRow) -> Result<UnpushedRemoval, StoreError> {
    let bytes: Vec<u8> = row.try_get(4)?;
    let content = if row.try_get(3)? {
        RuleContent::Module(bytes)
    } else {
        RuleContent::Script(String::from_utf8(bytes).map_err(|error| StoreError::corrupt(error.to_string()))?)
    };
    Ok(UnpushedRemoval {
        path: row.try_get(0)?,
        id: InstructionId(row.try_get(1)?),
        name: row.try_get(2)?,
        content,
    })
}
