/// What a parameter's number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// A number of bytes.
    Bytes,
    /// The seed of the generated inputs; any value is as good as another.
    Seed,
    /// 0 for no, 1 for yes.
    Flag,
}

/// Something a user can choose about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name scenarios use.
    pub name: &'static str,
    /// What the number means.
    pub unit: Unit,
    /// The value when nothing is said: the size the literature used.
    pub default: u64,
    /// Smallest allowed value.
    pub minimum: u64,
    /// Largest allowed value.
    pub maximum: u64,
    /// Allowed values are multiples of this.
    pub multiple_of: u64,
    /// What it does, in one line.
    pub doc: &'static str,
}

impl Parameter {
    pub(crate) const fn count(
        name: &'static str,
        default: u64,
        minimum: u64,
        maximum: u64,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            unit: Unit::Count,
            default,
            minimum,
            maximum,
            multiple_of: 1,
            doc,
        }
    }

    pub(crate) const fn bytes(
        name: &'static str,
        default: u64,
        minimum: u64,
        maximum: u64,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            unit: Unit::Bytes,
            default,
            minimum,
            maximum,
            multiple_of: 1,
            doc,
        }
    }

    pub(crate) const fn flag(name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            unit: Unit::Flag,
            default: 0,
            minimum: 0,
            maximum: 1,
            multiple_of: 1,
            doc,
        }
    }

    pub(crate) const fn in_multiples_of(mut self, multiple_of: u64) -> Self {
        self.multiple_of = multiple_of;
        self
    }

    fn allows(&self, value: u64) -> bool {
        (self.minimum..=self.maximum).contains(&value) && value.is_multiple_of(self.multiple_of)
    }

    fn allowed(&self) -> String {
        let multiple = match self.multiple_of {
            1 => String::new(),
            step => format!(" in multiples of {step}"),
        };
        format!("{} to {}{multiple}", self.minimum, self.maximum)
    }
}

/// The seed of the inputs: same seed, same bytes.
pub(crate) const SEED: Parameter = Parameter {
    name: "seed",
    unit: Unit::Seed,
    default: 1,
    minimum: 0,
    maximum: u64::MAX,
    multiple_of: 1,
    doc: "seed of the generated inputs",
};

/// Whether the final results are copied back to the host. Off by default: the literature times what the GPU needs.
pub(crate) const READ_RESULTS: Parameter = Parameter::flag(
    "read_results",
    "1: the program ends with a timed copy of its results to the host",
);

/// A parameter value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The program has no such parameter.
    #[error("{workload} has no parameter \"{parameter}\"; it has: {known}")]
    Unknown {
        /// Name of the program.
        workload: &'static str,
        /// The name that was given.
        parameter: String,
        /// The names that would have been understood.
        known: String,
    },
    /// The value is outside what the parameter allows, alone or together with the others.
    #[error("{workload}: {parameter} = {value} is not allowed, {allowed} is")]
    NotAllowed {
        /// Name of the program.
        workload: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// The value that was given.
        value: u64,
        /// What is allowed, and why where it depends on other parameters.
        allowed: String,
    },
}

/// One allowed value for each parameter of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    workload: &'static str,
    parameters: &'static [Parameter],
    values: Vec<u64>,
}

impl Values {
    pub(crate) fn defaults(workload: &'static str, parameters: &'static [Parameter]) -> Self {
        Self {
            workload,
            parameters,
            values: parameters
                .iter()
                .map(|parameter| parameter.default)
                .collect(),
        }
    }

    /// Chooses a value.
    ///
    /// # Errors
    /// The program has no such parameter, or the parameter does not allow the value.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), ParameterError> {
        let Some(index) = self
            .parameters
            .iter()
            .position(|parameter| parameter.name == name)
        else {
            return Err(ParameterError::Unknown {
                workload: self.workload,
                parameter: name.to_owned(),
                known: self
                    .parameters
                    .iter()
                    .map(|parameter| parameter.name)
                    .collect::<Vec<_>>()
                    .join(", "),
            });
        };
        let parameter = &self.parameters[index];
        if !parameter.allows(value) {
            return Err(self.not_allowed(parameter.name, value, parameter.allowed()));
        }
        self.values[index] = value;
        Ok(())
    }

    /// The values in the order of the program's parameters.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, u64)> {
        self.parameters.iter().zip(self.values.iter().copied())
    }

    /// The value of a parameter of this program.
    pub(crate) fn get(&self, name: &'static str) -> u64 {
        self.iter()
            .find(|(parameter, _)| parameter.name == name)
            .map(|(_, value)| value)
            .expect("a workload reads only the parameters that its registry entry lists")
    }

    pub(crate) fn get_u32(&self, name: &'static str) -> u32 {
        u32::try_from(self.get(name)).expect("parameters read as u32 have a maximum below 2^32")
    }

    pub(crate) fn flag(&self, name: &'static str) -> bool {
        self.get(name) != 0
    }

    pub(crate) fn not_allowed(
        &self,
        parameter: &'static str,
        value: u64,
        allowed: String,
    ) -> ParameterError {
        ParameterError::NotAllowed {
            workload: self.workload,
            parameter,
            value,
            allowed,
        }
    }

    /// Refuses `parameter` unless `holds`; `allowed` says what would be.
    pub(crate) fn require(
        &self,
        holds: bool,
        parameter: &'static str,
        allowed: impl FnOnce() -> String,
    ) -> Result<(), ParameterError> {
        if holds {
            Ok(())
        } else {
            Err(self.not_allowed(parameter, self.get(parameter), allowed()))
        }
    }
}
