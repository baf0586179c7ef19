use super::*;

#[test]
fn numbers_get_a_fitting_unit() {
    let cases: &[(f64, ColumnKind, &str)] = &[
        (0.0, ColumnKind::TimeNs, "0 ns"),
        (873.0, ColumnKind::TimeNs, "873 ns"),
        (999.6, ColumnKind::TimeNs, "1.00 µs"),
        (1500.0, ColumnKind::TimeNs, "1.50 µs"),
        (12_345_678.0, ColumnKind::TimeNs, "12.3 ms"),
        (9.876e12, ColumnKind::TimeNs, "9,876 s"),
        (512.0, ColumnKind::Bytes, "512 B"),
        (1536.0, ColumnKind::Bytes, "1.50 KiB"),
        (1_048_576.0, ColumnKind::Bytes, "1.00 MiB"),
        (16e9, ColumnKind::BytesPerSecond, "16.0 GB/s"),
        (0.6476, ColumnKind::Rate, "64.8 %"),
        (1.0, ColumnKind::Rate, "100 %"),
        (98.62, ColumnKind::Ratio, "98.6×"),
        (1_234_567.0, ColumnKind::Count, "1,234,567"),
        (-1234.0, ColumnKind::Count, "-1,234"),
        (2.5, ColumnKind::Count, "2.50"),
        (0.001234, ColumnKind::Number, "0.00123"),
        (1e-9, ColumnKind::Number, "1.00e-9"),
    ];
    for (number, kind, expected) in cases {
        assert_eq!(
            human_number(*number, *kind),
            *expected,
            "{number} as {kind:?}"
        );
    }
}

#[test]
fn ticks_have_no_empty_zeros() {
    assert_eq!(tick(1500.0, ColumnKind::TimeNs), "1.5 µs");
    assert_eq!(tick(2e6, ColumnKind::TimeNs), "2 ms");
    assert_eq!(tick(0.0, ColumnKind::Bytes), "0");
    assert_eq!(tick(20.0, ColumnKind::Ratio), "20×");
    assert_eq!(tick(0.5, ColumnKind::Rate), "50 %");
    assert_eq!(tick(100.0, ColumnKind::Number), "100");
}

#[test]
fn whole_numbers_keep_all_digits() {
    assert_eq!(
        human(&Value::Unsigned(u64::MAX), ColumnKind::Count),
        "18,446,744,073,709,551,615"
    );
    assert_eq!(
        human(&Value::Signed(i64::MIN), ColumnKind::Number),
        "-9223372036854775808"
    );
}

#[test]
fn what_is_no_number_is_absent() {
    assert_eq!(human(&Value::Float(f64::NAN), ColumnKind::TimeNs), ABSENT);
    assert_eq!(
        human(&Value::Float(f64::INFINITY), ColumnKind::Number),
        ABSENT
    );
}

#[test]
fn headings_lose_only_the_unit_their_cells_show() {
    let heading_of = |name: &str, kind| heading(&Column::metric(name, kind, ""));
    assert_eq!(heading_of("time_ns", ColumnKind::TimeNs), "time");
    assert_eq!(heading_of("migrated_bytes", ColumnKind::Bytes), "migrated");
    assert_eq!(
        heading_of("tlb_miss_rate", ColumnKind::Rate),
        "tlb miss rate"
    );
    assert_eq!(heading_of("_ns", ColumnKind::TimeNs), " ns");
}

#[test]
fn figures_name_a_swept_key_without_its_document_and_unit() {
    let words_of = |name: &str, kind| words(&Column::parameter(name, kind, ""));
    let bandwidth = "machine.link.bandwidth_bytes_per_second";
    assert_eq!(
        words_of(bandwidth, ColumnKind::BytesPerSecond),
        "link bandwidth"
    );
    assert_eq!(words_of("transfer.unit_bytes", ColumnKind::Bytes), "unit");
    assert_eq!(
        words_of("machine.tlb.entries", ColumnKind::Count),
        "tlb entries"
    );
    assert_eq!(words_of("workload", ColumnKind::Text), "workload");
}
