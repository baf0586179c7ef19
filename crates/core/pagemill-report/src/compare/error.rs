/// Why two sets cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A set is empty.
    #[error("{which} has no rows")]
    NoRows {
        /// Its name.
        which: String,
    },
    /// They share no parameter.
    #[error("no parameter is in both: {first_name} has {first}; {second_name} has {second}")]
    NothingShared {
        /// Name of the first.
        first_name: String,
        /// Its parameters.
        first: String,
        /// Name of the second.
        second_name: String,
        /// Its parameters.
        second: String,
    },
    /// A parameter to ignore is in neither.
    #[error("no parameter is called `{name}`; in both are {known}")]
    UnknownParameter {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A metric is not in both, or no number.
    #[error("`{name}` is no number in both; numbers in both are {known}")]
    UnknownMetric {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// They share no number.
    #[error("no number is in both: {first_name} and {second_name} measured different things")]
    NoMetric {
        /// Name of the first.
        first_name: String,
        /// Name of the second.
        second_name: String,
    },
    /// Two rows of one set meet the same row of the other.
    #[error(
        "rows {rows} of {which} are the same point ({point}), and {difference} tells them apart: keep one of them, or \
         compare files that both have what differs"
    )]
    SamePoint {
        /// Name of the set.
        which: String,
        /// The two rows, from 0.
        rows: String,
        /// Their shared parameters.
        point: String,
        /// What tells them apart.
        difference: String,
    },
    /// No row meets another.
    #[error("no point is in both: {reason}")]
    NothingMeets {
        /// A parameter without a common value, if there is one.
        reason: String,
    },
}
