use super::*;
use crate::tensor::walk::is_map;

#[test]
fn the_fields_of_a_form_make_a_map_of_zero_bytes() {
    let set = |word, name, value| {
        let field = field(name, 0).expect("a field of that name");
        insert_form(word, value, 0, field.shift | field.bits << 8)
    };
    let form = set(set(0, "rank", 1), "elemtype", 7);
    assert_eq!(is_map(form, 0, 0, 2), 1);
    assert_eq!(is_map(form, 0, 0, 1), 0);
    assert_eq!(is_map(set(1 << 40, "rank", 1), 0, 0, 2), 0);
}
