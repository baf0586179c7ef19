use super::super::run_to_end;
use super::*;

/// Search without bounds and without a table.
fn plain(position: Position, depth: u32) -> i32 {
    if position.is_lost() {
        return -1;
    }
    if depth == 0 {
        return 0;
    }
    let moves = (0..COLUMNS).filter_map(|column| position.play(column));
    moves.map(|next| -plain(next, depth - 1)).max().unwrap_or(0)
}

#[test]
fn the_table_changes_no_value() {
    let mut program = GameTree::new(512, 40, 5, 9);
    run_to_end(&mut program);
    let expected: Vec<i32> = program.roots.iter().map(|root| plain(*root, 5)).collect();
    assert_eq!(program.values, expected);
    assert!(expected.iter().any(|value| *value != 0));
}

#[test]
fn four_in_a_row_wins_in_every_direction_and_not_around_an_edge() {
    let play = |columns: &[u32]| {
        columns
            .iter()
            .fold(Position::default(), |position, column| {
                position.play(*column).unwrap()
            })
    };
    assert!(play(&[0, 1, 0, 1, 0, 1, 0]).is_lost());
    assert!(play(&[0, 0, 1, 1, 2, 2, 3]).is_lost());
    assert!(play(&[0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3]).is_lost());
    assert!(!play(&[0, 1, 0, 1, 0]).is_lost());
    assert_eq!(
        (0..7).try_fold(Position::default(), |position, _| position.play(4)),
        None
    );
}
