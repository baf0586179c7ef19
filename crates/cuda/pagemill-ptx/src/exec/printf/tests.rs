use super::*;

fn print(text: &str, arguments: &[u64]) -> String {
    let mut arguments = arguments.iter().copied();
    let (bytes, _) = format(text.as_bytes(), &mut |_| arguments.next(), &|_| {
        Some(b"str".to_vec())
    });
    String::from_utf8(bytes).expect("the tests print ASCII")
}

#[test]
fn conversions_follow_c() {
    let f = |value: f64| value.to_bits();
    assert_eq!(
        print("%d|%5d|%-5d|%05d|%+d", &[-3i32 as u32 as u64, 7, 7, 7, 7]),
        "-3|    7|7    |00007|+7"
    );
    assert_eq!(
        print(
            "%u %x %#X %o %lld",
            &[u64::from(u32::MAX), 255, 255, 8, -1i64 as u64]
        ),
        "4294967295 ff 0XFF 10 -1"
    );
    assert_eq!(
        print(
            "%f %.2f %e %g %g %g",
            &[
                f(1.5),
                f(2.0 / 3.0),
                f(12345.678),
                f(0.0001),
                f(1e20),
                f(100000.0)
            ]
        ),
        "1.500000 0.67 1.234568e+04 0.0001 1e+20 100000"
    );
    assert_eq!(
        print("%s %c %% %p %hhd", &[0, 65, 0xabc, 0x1ff]),
        "str A % 0xabc -1"
    );
    assert_eq!(
        print("%08.3f %*d %a", &[f(-3.25), 6, 42, f(0.5)]),
        "-003.250     42 0x1p-1"
    );
    assert_eq!(print("%", &[]), "%");
}
