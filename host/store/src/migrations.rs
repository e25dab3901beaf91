//! The schema as a list of migrations, embedded in the program.
//!
//! A released migration must never change: stores keep its digest and refuse any other. A list is used because sqlx's
//! embedding macro compiles all database drivers a second time for the build.

use std::sync::LazyLock;

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Title and SQL of each migration, starting with version 1.
const STEPS: [(&str, &str); 14] = [
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
    ("status words", include_str!("../migrations/sqlite/0014_status_words.sql")),
];

/// Number, title and SQL of each later migration. A number may be missing; none is used again.
const LATER_STEPS: [(i64, &str, &str); 2] = [
    (16, "scripts", include_str!("../migrations/sqlite/0016_scripts.sql")),
    (20, "bounds", include_str!("../migrations/sqlite/0020_bounds.sql")),
];

pub(super) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let first = (1..).zip(STEPS).map(|(version, (about, sql))| (version, about, sql));
    let migrations = first.chain(LATER_STEPS).map(|(version, about, sql)| {
        Migration::new(version, about.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect())
});
