//! The processors that the modules are written for, and what building and booting for each needs.

/// A processor's architecture. One more is one more value in [`ARCHITECTURES`].
#[derive(Debug, PartialEq, Eq)]
pub struct Architecture {
    /// Debian's name of it.
    pub name: &'static str,
    /// Rust's name of it, which is `uname -m` too.
    pub machine: &'static str,
    /// The prefix of cross compilers' names; `None` for this machine's own architecture.
    pub(crate) cross: Option<&'static str>,
    /// Of `ARCH=` in the kernel's build.
    pub(crate) kbuild: &'static str,
    pub(crate) emulator: &'static str,
    /// The package that it is in.
    pub(crate) emulator_package: &'static str,
    /// Its processor where a suite names none.
    pub(crate) cpu: &'static str,
    /// What else it needs to know of the machine.
    pub(crate) board: &'static [&'static str],
    /// The guest's first serial port, for the console.
    pub(crate) console: &'static str,
    /// The serial port for reports: the emulator's arguments, and the guest's name of it.
    pub(crate) report: (&'static [&'static str], &'static str),
}

/// Every architecture; the first is the one of the machines that pagemill is tested on.
pub static ARCHITECTURES: [Architecture; 2] = [
    Architecture {
        name: "amd64",
        machine: "x86_64",
        cross: None,
        kbuild: "x86",
        emulator: "qemu-system-x86_64",
        emulator_package: "qemu-system-x86",
        cpu: "max",
        board: &[],
        console: "ttyS0",
        report: (&["-serial", "stdio"], "ttyS1"),
    },
    Architecture {
        name: "arm64",
        machine: "aarch64",
        cross: Some("aarch64-linux-gnu-"),
        kbuild: "arm64",
        emulator: "qemu-system-aarch64",
        emulator_package: "qemu-system-arm",
        // Without signed pointers, which cost an emulator most of its time.
        cpu: "cortex-a72",
        board: &["-machine", "virt"],
        console: "ttyAMA0",
        // QEMU's board has one serial port that is not the firmware's.
        report: (
            &[
                "-chardev",
                "stdio,id=report",
                "-device",
                "pci-serial,chardev=report",
            ],
            "ttyS0",
        ),
    },
];

impl Architecture {
    /// The one that Debian calls `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        ARCHITECTURES.iter().find(|one| one.name == name)
    }

    /// The one of these machines.
    pub fn own() -> &'static Self {
        &ARCHITECTURES[0]
    }

    /// A compiler or a tool beside it, such as `gcc`, that works for this architecture.
    pub(crate) fn tool(&self, name: &str) -> String {
        format!("{}{name}", self.cross.unwrap_or_default())
    }

    /// A Debian package of this architecture, as `apt` on this machine calls it.
    pub(crate) fn package(&self, name: &str) -> String {
        match self.cross {
            None => name.to_owned(),
            Some(_) => format!("{name}:{}", self.name),
        }
    }
}

/// Debian's names of all.
pub fn architecture_names() -> Vec<String> {
    ARCHITECTURES
        .iter()
        .map(|one| one.name.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_tools_carry_the_architecture_where_it_is_another() {
        let arm64 = Architecture::find("arm64").unwrap();
        assert_eq!(arm64.tool("gcc"), "aarch64-linux-gnu-gcc");
        assert_eq!(
            arm64.package("linux-image-arm64"),
            "linux-image-arm64:arm64"
        );
        assert_eq!(Architecture::own().tool("gcc"), "gcc");
        assert_eq!(Architecture::own().package("make"), "make");
        assert_eq!(Architecture::find("m68k"), None);
    }
}
