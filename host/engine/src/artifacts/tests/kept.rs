//! Tests of the cache: only files exactly as written here are loaded; all others are compiled again.

use super::super::cache::Cache;
use super::super::key::MAC_BYTES;
use super::*;
use crate::sandbox::code_bytes;
use tollgate_guest_abi::limits::FUEL_PER_RUN;
use tollgate_model::instruction::{Grant, Origin};

/// Random byte changes tried by default.
const CHANGES: usize = 300;
/// Random byte changes tried in the full run.
const CHANGES_FULL: usize = 10_000;

impl Fixture {
    fn kept(&self) -> PathBuf {
        self.at(ContentDigest::of_bytes(GOOD))
    }

    fn at(&self, digest: ContentDigest) -> PathBuf {
        let fingerprint = ContentDigest(self.sandbox.fingerprint()).to_string();
        self.folder.path().join("artifacts").join(fingerprint).join(digest.to_string())
    }

    fn cache(&self) -> Cache {
        Cache::open(self.folder.path(), self.sandbox.fingerprint()).unwrap()
    }

    /// Checks whether the valid module is loaded from the cache.
    #[track_caller]
    fn check_kept(&self, is_kept: bool) {
        let admitted = self.only_keeping().admit(GOOD, Grant::default());
        assert_eq!(admitted.is_ok(), is_kept, "{:?}", admitted.map(drop));
    }

    /// Checks that the module is not cached, compiles it, and checks that it is cached.
    #[track_caller]
    fn check_made_again(&self) {
        self.check_kept(false);
        self.keeping().admit(GOOD, Grant::default()).unwrap();
        self.check_kept(true);
    }
}

#[test]
fn a_module_is_compiled_once() {
    let fixture = Fixture::new();
    fixture.check_made_again();
    let folder = fixture.folder.path().join("artifacts");
    for (path, mode) in [
        (folder.clone(), 0o40700),
        (folder.join("key"), 0o100_600),
        (fixture.kept().parent().unwrap().to_owned(), 0o40700),
        (fixture.kept(), 0o100_600),
    ] {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode(), mode, "{}", path.display());
    }
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_module_of_this_compiler_is_compiled_once_too() {
    let fixture = Fixture::new();
    fixture.keeping().admit_own(GOOD).unwrap();
    let first = fs::metadata(fixture.kept()).unwrap().modified().unwrap();
    let artifact = fixture.cache().read(ContentDigest::of_bytes(GOOD)).unwrap();
    // The same code as that of the compiler's own process, so an upload with these bytes may load it.
    assert_eq!(artifact, Sandbox::compile(GOOD, Execution::Compiled).unwrap());
    let again = fixture.keeping().admit_own(GOOD).unwrap();
    assert_eq!((again.origin(), again.fuel()), (Origin::Compiler, FUEL_PER_RUN));
    assert_eq!(fs::metadata(fixture.kept()).unwrap().modified().unwrap(), first, "it is not written again");
    fs::write(fixture.kept(), b"damaged").unwrap();
    fixture.keeping().admit_own(GOOD).unwrap();
    assert_eq!(fixture.cache().read(ContentDigest::of_bytes(GOOD)), Some(artifact));
}

#[test]
fn the_code_of_a_known_module_is_loaded_when_it_is_needed() {
    let fixture = Fixture::new();
    let artifacts = Arc::new(fixture.keeping());
    artifacts.admit_own(GOOD).unwrap();
    let artifact = fixture.cache().read(ContentDigest::of_bytes(GOOD)).unwrap();
    let known = artifacts.admit_known(GOOD).unwrap();
    // The file is not read before the code is needed: it is compiled again, and written again.
    fs::write(fixture.kept(), b"damaged").unwrap();
    known.load_code().unwrap();
    assert_eq!(fixture.cache().read(ContentDigest::of_bytes(GOOD)).as_ref(), Some(&artifact));
    assert_eq!(known.artifact(), Some(artifact));
    assert!(code_bytes() > 0);
}

#[test]
fn an_artifact_with_a_changed_bit_is_never_loaded() {
    let fixture = Fixture::new();
    let (cache, digest) = (fixture.cache(), ContentDigest::of_bytes(GOOD));
    let artifact = Sandbox::compile(GOOD, Execution::Compiled).unwrap();
    cache.write(digest, &artifact);
    let (path, whole) = (fixture.kept(), fs::read(fixture.kept()).unwrap());
    assert_eq!(cache.read(digest), Some(artifact));
    let is_full = std::env::var_os("TOLLGATE_PROOF").is_some_and(|value| value == "full");
    let n_changes = if is_full { CHANGES_FULL } else { CHANGES };
    let mut random = fastrand::Rng::with_seed(1);
    // The MAC and the header that the engine would read.
    let header = 0..MAC_BYTES + 64;
    let offsets = header.chain(std::iter::repeat_with(|| random.usize(..whole.len())).take(n_changes));
    for offset in offsets.collect::<Vec<_>>() {
        let mut changed = whole.clone();
        changed[offset] ^= 1 << random.u8(..8);
        fs::write(&path, &changed).unwrap();
        assert_eq!(cache.read(digest), None, "byte {offset}");
    }
    fs::write(&path, &whole).unwrap();
    fixture.check_kept(true);
}

#[test]
fn an_unusable_artifact_is_compiled_again() {
    let fixture = Fixture::new();
    fixture.keeping().admit(GOOD, Grant::default()).unwrap();
    let whole = fs::read(fixture.kept()).unwrap();
    for length in [0, 1, MAC_BYTES - 1, MAC_BYTES, MAC_BYTES + 1, whole.len() / 2, whole.len() - 1] {
        fs::write(fixture.kept(), &whole[..length]).unwrap();
        fixture.check_made_again();
    }
    fs::write(fixture.kept(), [whole.as_slice(), b"\0"].concat()).unwrap();
    fixture.check_made_again();
    // The artifact of another module, with a valid MAC for that module.
    fixture.keeping().admit(&another(1), Grant::default()).unwrap();
    fs::copy(fixture.at(ContentDigest::of_bytes(&another(1))), fixture.kept()).unwrap();
    fixture.check_made_again();
    // Far larger than any artifact.
    fs::File::create(fixture.kept()).unwrap().set_len(1 << 40).unwrap();
    fixture.check_made_again();
    // No file, and then a symbolic link.
    fs::remove_file(fixture.kept()).unwrap();
    fixture.check_made_again();
    fs::remove_file(fixture.kept()).unwrap();
    std::os::unix::fs::symlink("/dev/zero", fixture.kept()).unwrap();
    fixture.check_made_again();
}

#[test]
fn everything_is_compiled_again_under_another_key() {
    let fixture = Fixture::new();
    let key = fixture.folder.path().join("artifacts/key");
    fixture.check_made_again();
    let first = fs::read(&key).unwrap();
    assert_eq!(first.len(), 32);
    fixture.check_kept(true);
    assert_eq!(fs::read(&key).unwrap(), first, "one key for all starts");
    let forbid = |mode: u32| fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
    let spoils: [&dyn Fn(); 6] = [
        &|| fs::write(&key, [7; 32]).unwrap(),
        &|| fs::write(&key, [7; 31]).unwrap(),
        &|| fs::write(&key, [7; 33]).unwrap(),
        &|| forbid(0o640),
        &|| fs::remove_file(&key).unwrap(),
        &|| {
            fs::rename(&key, key.with_extension("other")).unwrap();
            std::os::unix::fs::symlink(key.with_extension("other"), &key).unwrap();
        },
    ];
    for spoil in spoils {
        spoil();
        fixture.check_made_again();
        assert_ne!(fs::read(&key).unwrap(), first);
        let metadata = fs::symlink_metadata(&key).unwrap();
        assert_eq!((metadata.len(), metadata.permissions().mode()), (32, 0o100_600));
    }
}

#[test]
fn a_cache_that_cannot_be_had_or_written_is_no_failure() {
    let fixture = Fixture::new();
    fixture.write("artifacts", b"a file");
    assert!(fixture.keeping().cache.is_none());
    fixture.keeping().admit(GOOD, Grant::default()).unwrap();
    fs::remove_file(fixture.folder.path().join("artifacts")).unwrap();
    fs::create_dir_all(fixture.folder.path().join("artifacts/key")).unwrap();
    assert!(fixture.keeping().cache.is_none());
    fs::remove_dir(fixture.folder.path().join("artifacts/key")).unwrap();
    let keeping = fixture.keeping();
    fs::remove_dir_all(fixture.folder.path().join("artifacts")).unwrap();
    keeping.admit(GOOD, Grant::default()).unwrap();
}

#[test]
fn artifacts_that_are_no_longer_needed_are_removed() {
    let fixture = Fixture::new();
    let all = fixture.folder.path().join("artifacts");
    fixture.keeping().admit(GOOD, Grant::default()).unwrap();
    fixture.keeping().admit(&another(1), Grant::default()).unwrap();
    let digests = [GOOD, &another(1)].map(ContentDigest::of_bytes);
    fixture.keeping().retain(&digests);
    assert!(digests.iter().all(|digest| fixture.at(*digest).exists()));
    fixture.keeping().retain(&digests[..1]);
    assert!(fixture.at(digests[0]).exists() && !fixture.at(digests[1]).exists());
    // Folders of other engines are removed; unrelated folders stay.
    let others = [all.join("ab".repeat(32)), all.join("notes")];
    others.iter().for_each(|other| fs::create_dir(other).unwrap());
    fixture.check_kept(true);
    assert_eq!(others.map(|other| other.exists()), [false, true]);
}

#[test]
fn the_cache_is_bounded_in_files_and_bytes() {
    let fixture = Fixture::new();
    let n_cached = |cache: &Cache, n_bytes: usize| {
        for n in 0..6 {
            let digest = ContentDigest::of_bytes(&[n]);
            cache.write(digest, &vec![n; n_bytes]);
            assert!(cache.read(digest).is_some(), "the last one is there");
            // The clock of the file system may be coarse.
            let early = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(n));
            fs::File::options().write(true).open(fixture.at(digest)).unwrap().set_modified(early).unwrap();
        }
        (0..6).filter(|n| cache.read(ContentDigest::of_bytes(&[*n])).is_some()).collect::<Vec<u8>>()
    };
    let bounded = |files, bytes| {
        Cache::bounded(fixture.folder.path(), fixture.sandbox.fingerprint(), files, bytes).unwrap()
    };
    assert_eq!(n_cached(&bounded(3, 1 << 20), 10), [3, 4, 5]);
    assert_eq!(n_cached(&bounded(100, 5_000), 2_000), [4, 5]);
}
