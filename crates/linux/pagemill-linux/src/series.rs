//! The kernels that the modules are written for.

/// Series of Linux, ascending. What refuses others at build is `kmod/include/kcompat.h`.
pub const KERNEL_SERIES: [&str; 3] = ["6.1", "6.12", "7.2"];

/// Whether the kernel `release`, such as `6.12.1-amd64`, is of `series`.
pub fn is_of_series(release: &str, series: &str) -> bool {
    let rest = release.strip_prefix(series);
    rest.is_some_and(|rest| rest.starts_with('.'))
}

/// `6.1, 6.12 and 7.2`.
pub fn kernel_series_in_words() -> String {
    let [others @ .., last] = &KERNEL_SERIES;
    format!("{} and {last}", others.join(", "))
}

#[cfg(test)]
mod tests;
