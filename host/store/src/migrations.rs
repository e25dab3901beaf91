//! The schema as a list of migrations, embedded in the program.
//!
//! A released migration must never change: stores keep its digest and refuse any other. A list is used because sqlx's
//! embedding macro compiles all database drivers a second time for the build.

use std::sync::LazyLock;

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Version, title and SQL of each migration. A store may have any of them, so a version may be left out.
const STEPS: [(i64, &str, &str); 23] = [
    (1, "foundations", include_str!("../migrations/sqlite/0001_foundations.sql")),
    (2, "status updates", include_str!("../migrations/sqlite/0002_status_updates.sql")),
    (3, "store name", include_str!("../migrations/sqlite/0003_store_name.sql")),
    (4, "sources", include_str!("../migrations/sqlite/0004_sources.sql")),
    (5, "ledger", include_str!("../migrations/sqlite/0005_ledger.sql")),
    (6, "alerts", include_str!("../migrations/sqlite/0006_alerts.sql")),
    (7, "uploads", include_str!("../migrations/sqlite/0007_uploads.sql")),
    (8, "quarantine", include_str!("../migrations/sqlite/0008_quarantine.sql")),
    (9, "terms", include_str!("../migrations/sqlite/0009_terms.sql")),
    (10, "semantics", include_str!("../migrations/sqlite/0010_semantics.sql")),
    (11, "zone data", include_str!("../migrations/sqlite/0011_zone_data.sql")),
    (12, "ledger entries", include_str!("../migrations/sqlite/0012_ledger_entries.sql")),
    (13, "told statuses", include_str!("../migrations/sqlite/0013_told_statuses.sql")),
    (14, "status words", include_str!("../migrations/sqlite/0014_status_words.sql")),
    (15, "holds", include_str!("../migrations/sqlite/0015_holds.sql")),
    (16, "scripts", include_str!("../migrations/sqlite/0016_scripts.sql")),
    (17, "amount updates", include_str!("../migrations/sqlite/0017_amount_updates.sql")),
    (20, "bounds", include_str!("../migrations/sqlite/0020_bounds.sql")),
    (24, "unpushed removals", include_str!("../migrations/sqlite/0024_unpushed_removals.sql")),
    (26, "ledger tallies", include_str!("../migrations/sqlite/0026_ledger_tallies.sql")),
    (27, "reported", include_str!("../migrations/sqlite/0027_reported.sql")),
    (28, "entries of payments", include_str!("../migrations/sqlite/0028_entries_of_payments.sql")),
    (29, "dead letter numbers", include_str!("../migrations/sqlite/0029_dead_letter_numbers.sql")),
];

pub(super) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let migrations = STEPS.into_iter().map(|(version, about, sql)| {
        Migration::new(version, about.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect())
});
