//! What every program promises about its parameters and its registry entry.

use pagemill_workloads::{ParameterError, Unit, WORKLOADS};

#[test]
fn names_are_unique_and_found() {
    for info in &WORKLOADS {
        assert!(
            std::ptr::eq(WORKLOADS.find(info.name).expect("registered"), info),
            "{} is registered twice",
            info.name
        );
    }
    assert!(WORKLOADS.find("no-such-program").is_err());
}

#[test]
fn every_program_comes_with_source_ptx_and_words() {
    for info in &WORKLOADS {
        let name = info.name;
        assert!(
            info.source.contains("extern \"C\" __global__ void"),
            "{name}"
        );
        assert!(info.source.starts_with("// arch: compute_75\n"), "{name}");
        assert!(info.ptx.contains(".target sm_75"), "{name}");
        assert!(
            !info.summary.is_empty()
                && info
                    .parameters
                    .iter()
                    .all(|parameter| !parameter.doc.is_empty()),
            "{name}"
        );
    }
}

#[test]
fn defaults_can_be_built_and_set_again() {
    for info in &WORKLOADS {
        let mut values = info.defaults();
        for parameter in info.parameters {
            values
                .set(parameter.name, parameter.default)
                .unwrap_or_else(|error| panic!("{error}"));
        }
        assert_eq!(values, info.defaults());
        let workload = info
            .build(&values)
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(workload.footprint_bytes() > 0, "{}", info.name);
    }
}

#[test]
fn values_out_of_range_are_refused_by_name_value_and_range() {
    for info in &WORKLOADS {
        for parameter in info.parameters {
            let mut wrong = vec![];
            wrong.extend(parameter.minimum.checked_sub(1));
            wrong.extend(parameter.maximum.checked_add(1));
            if parameter.multiple_of > 1 {
                wrong.push(parameter.default + 1);
            }
            if parameter.unit != Unit::Seed {
                wrong.push(u64::MAX);
            }
            for value in wrong {
                let error = info
                    .defaults()
                    .set(parameter.name, value)
                    .expect_err("out of range");
                let text = error.to_string();
                for part in [
                    info.name,
                    parameter.name,
                    &value.to_string(),
                    &parameter.maximum.to_string(),
                ] {
                    assert!(text.contains(part), "{text:?} does not say {part}");
                }
            }
        }
    }
}

#[test]
fn an_unknown_parameter_is_answered_with_the_known_ones() {
    for info in &WORKLOADS {
        let error = info.defaults().set("sizee", 1).expect_err("unknown");
        assert!(matches!(error, ParameterError::Unknown { .. }));
        let text = error.to_string();
        assert!(text.contains("sizee") && text.contains(info.name), "{text}");
        let names = info.parameters.iter().map(|parameter| parameter.name);
        assert!(names.into_iter().all(|name| text.contains(name)), "{text}");
    }
}

/// Every parameter at an end of its range, two at a time: either a program or an error that names a parameter, never a panic.
#[test]
fn extremes_build_or_are_refused() {
    for info in &WORKLOADS {
        for first in info.parameters {
            for second in info.parameters {
                for (a, b) in [
                    (first.minimum, second.minimum),
                    (first.maximum, second.maximum),
                    (first.minimum, second.maximum),
                ] {
                    let mut values = info.defaults();
                    values
                        .set(first.name, a)
                        .expect("an end of the range is allowed");
                    values
                        .set(second.name, b)
                        .expect("an end of the range is allowed");
                    match info.build(&values) {
                        Ok(workload) => assert!(workload.footprint_bytes() > 0),
                        Err(ParameterError::NotAllowed {
                            workload,
                            parameter,
                            ..
                        }) => {
                            assert_eq!(workload, info.name);
                            assert!(info.parameters.iter().any(|known| known.name == parameter));
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            }
        }
    }
}

#[test]
fn values_that_do_not_go_together_are_refused() {
    for (name, settings, blamed) in [
        (
            "bfs",
            &[("nodes", 1 << 30), ("degree", 1024)][..],
            "nodes = 1073741824",
        ),
        (
            "laplace3d",
            &[("nx", 65_536), ("ny", 65_536), ("nz", 65_536)],
            "nz = 65536",
        ),
        ("mum", &[("genome_bases", 10)], "query_length = 25"),
        ("mum", &[("query_length", 10)], "minimum_match = 20"),
    ] {
        let info = WORKLOADS.find(name).expect("registered");
        let mut values = info.defaults();
        for &(parameter, value) in settings {
            values.set(parameter, value).expect("each alone is allowed");
        }
        let error = info.build(&values).expect_err("not together").to_string();
        assert!(error.contains(blamed), "{error}");
    }
}
