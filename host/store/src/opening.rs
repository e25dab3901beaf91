//! Opening of the store by the process that writes it.

use std::path::Path;
use std::sync::Arc;

use sqlx::SqlitePool;
use tollgate_model::sequence::Sequence;

use super::directory::DataDirectory;
use super::known_ids::{KnownIds, read_ids};
use super::lost::{LostStore, set_log_aside};
use super::mark::{MarkFound, MarkWriter, StoreMark, StoreName};
use super::writer::Writer;
use super::{Store, StoreError, StoreInner, connection, identity, testimony, transactions};

impl Store {
    /// Opens the store of a directory, and creates both if they do not exist. The directory is locked until the last
    /// clone is dropped.
    ///
    /// # Errors
    /// When another process has it open, the existing file is damaged or belongs to another program or a newer service,
    /// or the directory had a store that is gone. Existing files are never replaced.
    pub async fn open(directory: &Path) -> Result<Store, StoreError> {
        Self::open_accepting(directory, None).await
    }

    /// Same as [`Store::open`], but without the lost store that has this id ([`LostStore::id`]).
    ///
    /// # Errors
    /// Same as [`Store::open`].
    pub async fn open_accepting(directory: &Path, lost_store: Option<&str>) -> Result<Store, StoreError> {
        let opened = Self::open_claimed(DataDirectory::claim(directory)?, directory, lost_store).await;
        opened.map_err(|error| error.explained(directory))
    }

    async fn open_claimed(
        directory: DataDirectory,
        data_dir: &Path,
        accepted: Option<&str>,
    ) -> Result<Store, StoreError> {
        let mark = MarkFound::read(data_dir)?;
        let lost = match directory.look_for_database()? {
            true => None,
            false => LostStore::without_database(data_dir, mark)?,
        };
        if let Some(lost) = &lost {
            lost.check_accepted(data_dir, accepted)?;
            set_log_aside(&directory, lost)?;
        }
        connection::create_if_missing(&directory).await?;
        let database = directory.database();
        identity::check(&database)?;
        let directory = directory.remember()?;
        let writer = Writer::open(connection::writing(&database)).await?;
        let mut lease = writer.lease().await?;
        let migrated = connection::migrate(lease.connection(), &database).await;
        lease.give_back(migrated).await?;
        let readers = connection::readers(connection::any(&database).read_only(true)).await?;
        let marks = match lost {
            Some(_) => write_mark(data_dir, mark_of(&readers).await?)?,
            None => marks(&writer, &readers, data_dir, mark, accepted).await?,
        };
        let known_ids = Arc::new(KnownIds::none());
        let unread = known_ids.begin(&readers).await?;
        let reading =
            unread.map(|unread| tokio::spawn(read_ids(readers.clone(), Arc::clone(&known_ids), unread)));
        let marking = tokio::spawn(Arc::clone(&marks).follow());
        Ok(Store {
            inner: Arc::new(StoreInner {
                writer,
                readers,
                known_ids,
                tasks: reading.into_iter().chain([marking]).collect(),
                marks: Some(marks),
                unlocked: None,
                last_installed: parking_lot::Mutex::default(),
                judged: parking_lot::Mutex::default(),
                directory,
            }),
        })
    }
}

/// Compares the database with the mark, and writes the mark of a store that holds something.
async fn marks(
    writer: &Writer,
    readers: &SqlitePool,
    data_dir: &Path,
    mark: MarkFound,
    accepted: Option<&str>,
) -> Result<Arc<MarkWriter>, StoreError> {
    let found = mark_of(readers).await?;
    let Some(lost) = LostStore::beside_database(found, mark) else {
        if accepted.is_some() {
            tracing::warn!("no store is lost, so `--accept-empty-store` has no effect");
        }
        if mark == MarkFound::Unreadable {
            tracing::warn!(
                "`tollgate.mark` is damaged and written again: whether transactions are lost is unknown"
            );
        }
        return match mark {
            MarkFound::Readable(written) if written == found => Ok(MarkWriter::new(data_dir, found, true)),
            MarkFound::Absent if holds_nothing(found, readers).await? => {
                Ok(MarkWriter::new(data_dir, found, false))
            }
            _ => Ok(write_mark(data_dir, found).unwrap_or_else(|error| {
                // A full disk keeps no store from starting.
                tracing::warn!(%error, "the mark of the store cannot be written");
                MarkWriter::new(data_dir, found, false)
            })),
        };
    };
    lost.check_accepted(data_dir, accepted)?;
    if lost.has_rest() {
        // Under its old name, a second loss would be accepted by the same option.
        let mut lease = writer.lease().await?;
        let renamed = testimony::rename(lease.connection()).await;
        lease.give_back(renamed).await?;
    }
    write_mark(data_dir, mark_of(readers).await?)
}

fn write_mark(data_dir: &Path, mark: StoreMark) -> Result<Arc<MarkWriter>, StoreError> {
    mark.write_durably(data_dir)?;
    Ok(MarkWriter::new(data_dir, mark, true))
}

async fn mark_of(readers: &SqlitePool) -> Result<StoreMark, StoreError> {
    let store = StoreName(testimony::name(&mut *readers.acquire().await?).await?);
    Ok(StoreMark { store, number: transactions::last_sequence(readers).await? })
}

/// Returns whether a store holds neither a number nor a rule set.
async fn holds_nothing(mark: StoreMark, readers: &SqlitePool) -> Result<bool, StoreError> {
    Ok(mark.number == Sequence::default() && super::rule_sets::last(readers).await?.is_none())
}
