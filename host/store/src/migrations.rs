//! The schema, step by step, as every version of the service has made it.
//!
//! The SQL is part of the program. A step that was ever released stays as it is: stores keep its digest and refuse another.
//! sqlx has a macro that embeds a folder, which compiles all its drivers a second time to run at build time; a list is enough.

use std::sync::LazyLock;

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// What each step is about, and its SQL, from version 1.
const STEPS: [(&str, &str); 13] = [
    ("foundations", include_str!("../migrations/sqlite/0001_foundations.sql")),
    ("status updates", include_str!("../migrations/sqlite/0002_status_updates.sql")),
    ("store name", include_str!("../migrations/sqlite/0003_store_name.sql")),
    ("sources", include_str!("../migrations/sqlite/0004_sources.sql")),
    ("ledger", include_str!("../migrations/sqlite/0005_ledger.sql")),
    ("alerts", include_str!("../migrations/sqlite/0006_alerts.sql")),
    ("uploads", include_str!("../migrations/sqlite/0007_uploads.sql")),
    ("quarantine", include_str!("../migrations/sqlite/0008_quarantine.sql")),
    ("terms", include_str!("../migrations/sqlite/0009_terms.sql")),
    ("semantics", include_str!("../migrations/sqlite/0010_semantics.sql")),
    ("zone data", include_str!("../migrations/sqlite/0011_zone_data.sql")),
    ("ledger entries", include_str!("../migrations/sqlite/0012_ledger_entries.sql")),
    ("told statuses", include_str!("../migrations/sqlite/0013_told_statuses.sql")),
];

/// All of them, in order.
pub(super) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let migrations = (1..).zip(STEPS).map(|(version, (about, sql))| {
        Migration::new(version, about.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect())
});
