//! Pieces are read as they were written.

use super::*;

fn piece(n: u8) -> Arc<[u8]> {
    (0..100 + u16::from(n)).map(|byte| (byte as u8).wrapping_mul(n)).collect()
}

fn bounded(limit_bytes: usize) -> (tempfile::TempDir, Arc<Spill>) {
    let directory = tempfile::tempdir().unwrap();
    let spill = Arc::new(Spill::bounded(limit_bytes, directory.path(), None).unwrap());
    (directory, spill)
}

#[test]
fn pieces_are_read_as_they_were_written() {
    let (directory, spill) = bounded(0);
    let pieces: Vec<Arc<[u8]>> = (0..200).map(piece).collect();
    let extents = spill.write(&pieces).unwrap();
    for (extent, piece) in extents.iter().zip(&pieces) {
        assert_eq!(spill.read(*extent).unwrap(), *piece);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "the file has no name");
    assert!(spill.spilled_bytes() >= 200 * 128);
    // Every other piece is freed, and others of the same size take their places.
    let (kept, gone): (Vec<_>, Vec<_>) =
        extents.iter().zip(&pieces).partition(|(_, piece)| piece.len() % 2 == 0);
    gone.iter().for_each(|(extent, _)| spill.free(**extent));
    let used = spill.spilled_bytes();
    let others: Vec<Arc<[u8]>> =
        gone.iter().map(|(_, piece)| piece.iter().map(|byte| byte ^ 0x55).collect()).collect();
    for round in 0..40 {
        let moved = spill.write(&others).unwrap();
        assert!(spill.spilled_bytes() > used, "{round}");
        for (extent, other) in moved.iter().zip(&others) {
            assert_eq!(spill.read(*extent).unwrap(), *other);
        }
        moved.into_iter().for_each(|extent| spill.free(extent));
        assert_eq!(spill.spilled_bytes(), used);
    }
    assert!(spill.bound.as_ref().unwrap().file.end_bytes() <= 300_000, "places are used again");
    for (extent, piece) in kept {
        assert_eq!(spill.read(*extent).unwrap(), *piece);
    }
    let n_lost = gone.iter().filter(|(extent, piece)| match spill.read(**extent) {
        Ok(bytes) => {
            assert_eq!(bytes, **piece, "what was given back is not taken for something else");
            false
        }
        Err(_) => true,
    });
    assert!(n_lost.count() > 0);
}

#[test]
fn a_piece_that_the_disk_changed_is_an_error_and_not_an_answer() {
    let (_directory, spill) = bounded(0);
    let extents = spill.write(&[piece(7)]).unwrap();
    spill.break_disk();
    assert!(spill.read(extents[0]).is_err());
    assert!(spill.write(&[piece(7)]).is_err());
}

#[test]
fn a_question_follows_what_moves_and_gives_up_on_what_stays_and_is_wrong() {
    let (_directory, spill) = bounded(0);
    let extents = spill.write(&[piece(1), piece(2), piece(3)]).unwrap();
    let miss = |extent| SpillMiss { extent: Some(extent), error: nowhere() };
    let mut asked = extents.clone().into_iter();
    assert_eq!(until_read(|| asked.next().map_or(Ok(7), |extent| Err(miss(extent)))), Ok(7));
    let mut n_asked = 0;
    let answer: Result<(), SpillError> = until_read(|| {
        n_asked += 1;
        Err(miss(extents[0]))
    });
    assert_eq!((answer, n_asked), (Err(nowhere()), 2));
}

#[test]
fn a_directory_that_is_not_there_is_refused_by_its_name() {
    let error = Spill::bounded(0, Path::new("/nowhere/at/all"), None).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}
