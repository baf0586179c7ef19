use super::*;

#[test]
fn a_stage_holds_at_most_as_many_micro_batches_as_stages_are_left() {
    for stages in 1..6 {
        for micro_batches in 1..9 {
            for stage in 0..stages {
                let tasks = one_forward_one_backward(stage, stages, micro_batches);
                let (mut held, mut most, mut done) = (0, 0, 0);
                for task in tasks {
                    match task {
                        Task::Forward(number) => {
                            assert_eq!(number, held + done);
                            held += 1;
                        }
                        Task::Backward(number) => {
                            assert_eq!(number, done);
                            held -= 1;
                            done += 1;
                        }
                        _ => {}
                    }
                    most = most.max(held);
                }
                assert_eq!((held, done), (0, micro_batches));
                assert_eq!(most, micro_batches.min(stages - stage));
            }
        }
    }
}
