use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

fn ring(data_words: usize) -> (Producer, Consumer) {
    let words: Vec<AtomicU64> = (0..DATA + data_words).map(|_| AtomicU64::new(0)).collect();
    let words: &'static [AtomicU64] = words.leak();
    (Producer::new(words), Consumer::new(words))
}

proptest! {
    #[test]
    fn what_goes_in_comes_out_in_order(sizes in proptest::collection::vec((1_usize..12, 1_usize..12), 1..80)) {
        let (producer, consumer) = ring(9);
        let mut model = VecDeque::new();
        let mut next = 0;
        for (write, read) in sizes {
            let words: Vec<u64> = (next..next + write as u64).collect();
            let fits = model.len() + write <= 9;
            prop_assert_eq!(producer.push(&words), fits);
            if fits {
                model.extend(words);
                next += write as u64;
            }
            let mut out = vec![0; read];
            let there = model.len() >= read;
            prop_assert_eq!(consumer.pop(&mut out), there);
            if there {
                let expected: Vec<u64> = model.drain(..read).collect();
                prop_assert_eq!(out, expected);
            }
        }
    }

    #[test]
    fn bytes_longer_than_the_ring_pass_through_it(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let (producer, consumer) = ring(7);
        let (mut sent, mut received) = (0, Vec::new());
        while sent < bytes.len() || received.len() < bytes.len() {
            sent += producer.push_bytes(&bytes[sent..]);
            consumer.pop_bytes(&mut received, bytes.len());
        }
        prop_assert_eq!(received, bytes);
        prop_assert_eq!(consumer.available(), 0);
    }
}

#[test]
fn two_threads_see_the_same_stream() {
    let (producer, consumer) = ring(16);
    let count = if cfg!(miri) { 200 } else { 20_000 };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for word in 0..count {
                while !producer.push(&[word, !word]) {
                    std::thread::yield_now();
                }
            }
        });
        for word in 0..count {
            let mut out = [0; 2];
            while !consumer.pop(&mut out) {
                std::thread::yield_now();
            }
            assert_eq!(out, [word, !word]);
        }
    });
}
