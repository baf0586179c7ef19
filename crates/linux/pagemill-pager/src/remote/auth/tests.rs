use super::*;

#[test]
fn proofs_are_those_of_rfc_4231() {
    // Test case 6: a key longer than a block.
    let token = Token(vec![0xaa; 131]);
    let proof = token.proof(
        b"Test Using Larger Than Block-Size Key - ",
        "Hash Key First",
    );
    let text: String = proof.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        text,
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    );
    assert!(token.accepts(
        &proof,
        b"Test Using Larger Than Block-Size Key - ",
        "Hash Key First"
    ));
    assert!(!token.accepts(&proof, b"another challenge", "Hash Key First"));
}

#[test]
fn short_tokens_are_refused() {
    let text = Token::new(" secret \n").expect_err("too short").to_string();
    assert!(
        text.starts_with("the token has 6 bytes: use 16 or more"),
        "{text}"
    );
}
