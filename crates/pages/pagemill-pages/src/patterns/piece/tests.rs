use super::*;

fn joined(reads: &[WarpRead]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut joined = Joined::new(|piece| pieces.push(piece));
    reads.iter().for_each(|&read| joined.add(read));
    joined.end();
    pieces
}

fn shape(start: u64, bytes: u32) -> Vec<(u32, u16, u16, u16)> {
    joined(&[WarpRead { start, bytes }])
        .iter()
        .map(|piece| (piece.page, piece.bytes, piece.requests, piece.sectors))
        .collect()
}

#[test]
fn an_aligned_read_is_one_request_of_four_sectors() {
    assert_eq!(shape(8192 + 128, 128), [(2, 128, 1, 4)]);
}

#[test]
fn an_unaligned_read_touches_two_segments_and_five_sectors() {
    assert_eq!(shape(4, 128), [(0, 128, 2, 5)]);
    assert_eq!(shape(64, 128), [(0, 128, 2, 4)]);
}

#[test]
fn a_read_across_pages_is_two_pieces() {
    assert_eq!(shape(4096 - 4, 128), [(0, 4, 1, 1), (1, 124, 1, 4)]);
    assert_eq!(shape(0, 4), [(0, 4, 1, 1)]);
}

#[test]
fn neighboring_warps_share_a_piece_and_keep_their_requests() {
    let reads = (0..4).map(|warp| WarpRead {
        start: 4096 - 256 + 4 + warp * 128,
        bytes: 128,
    });
    let step = joined(&reads.collect::<Vec<_>>());
    let shape: Vec<_> = step
        .iter()
        .map(|piece| (piece.page, piece.bytes, piece.requests))
        .collect();
    // The second warp reads across the end of the page.
    assert_eq!(shape, [(0, 252, 3), (1, 260, 5)]);
}
