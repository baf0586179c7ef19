use super::built_in;

#[test]
fn names_of_programs_lead_to_their_functions() {
    let found = built_in("cudaCGSynchronize");
    assert_eq!(found.as_deref(), Some("cudaCGSynchronize$built_in"));
    for name in ["cudaCG", "cudaCGSynchronize$built_in", "cudaCGSync", "main"] {
        assert_eq!(built_in(name), None, "{name}");
    }
}
