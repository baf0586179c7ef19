use proptest::prelude::*;

use super::*;

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(Value::Unsigned),
        (i64::MIN..0).prop_map(Value::Signed),
        any::<f64>()
            .prop_filter("NaN is not equal to itself", |n| !n.is_nan())
            .prop_map(Value::Float),
        any::<bool>().prop_map(Value::Bool),
        ".*".prop_map(Value::Text),
    ]
}

proptest! {
    #[test]
    fn one_row_reads_back_exactly(
        parameters in proptest::collection::vec(proptest::option::of(any_value()), 0..4),
        metrics in proptest::collection::vec(any_value(), 0..6),
    ) {
        let mut row = Row::new();
        for (index, value) in parameters.into_iter().enumerate() {
            if let Some(value) = value {
                row = row.parameter(format!("machine.p{index}_bytes"), value);
            }
        }
        for (index, value) in metrics.into_iter().enumerate() {
            row = row.metric(format!("m {index} µ"), value);
        }
        prop_assume!(row.entries().next().is_some());
        let rows = vec![row];
        prop_assert_eq!(read_rows(write_rows(&rows).unwrap()).unwrap(), rows);
    }

    #[test]
    fn a_damaged_file_is_an_error(at in 0.0_f64..1.0, byte in any::<u8>(), cut in any::<bool>()) {
        let rows = [Row::new().parameter("a", 1_u64).metric("b", "x"), Row::new().parameter("a", 2_u64)];
        let mut bytes = write_rows(&rows).unwrap();
        let place = (at * bytes.len() as f64) as usize;
        let before = bytes.clone();
        if cut { bytes.truncate(place) } else { bytes[place] = byte }
        prop_assert_eq!(read_rows(bytes.clone()).is_ok(), bytes == before);
    }
}

#[test]
fn columns_take_the_type_that_holds_all_their_values() {
    let forms = |values: &[Value]| {
        let rows: Vec<Row> = values
            .iter()
            .map(|v| Row::new().metric("m", v.clone()))
            .collect();
        Form::of_column(&Column::metric("m", ColumnKind::Count, ""), &rows)
    };
    assert_eq!(forms(&[]), Form::Unsigned);
    assert_eq!(forms(&[1_u64.into(), (-1_i64).into()]), Form::Signed);
    assert_eq!(forms(&[u64::MAX.into(), (-1_i64).into()]), Form::Float);
    assert_eq!(forms(&[1_u64.into(), 0.5.into()]), Form::Float);
    assert_eq!(forms(&[1_u64.into(), "x".into()]), Form::Text);
    assert_eq!(forms(&[true.into(), false.into()]), Form::Bool);
}

#[test]
fn rows_of_other_programs_are_refused() {
    for bytes in [Vec::new(), b"PAR1".to_vec(), b"{}".to_vec()] {
        assert!(read_rows(bytes).is_err());
    }
}
