//! The packages on a Debian 12 that has nothing else: installed, used and purged in folders, without network.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Packages;
use super::files::{copy, emptied, everything_below, nothing_is_left};
use crate::cuda::Nvcc;
use crate::tally::Tally;
use crate::{process, system, workspace};

/// A system to install into.
struct Debian {
    name: &'static str,
    /// Packages beside those that every Debian has.
    packages: &'static str,
}

/// What `debootstrap --variant=minbase` gives.
const MINIMAL: Debian = Debian {
    name: "minimal",
    packages: "",
};

/// With everything that the packages' parts work with.
const FULL: Debian = Debian {
    name: "full",
    packages: "man-db,bash-completion,systemd,dkms,linux-headers-amd64,openmpi-bin,libfabric1",
};

/// What users do, each in the shell of the full system; stderr has to stay empty where a warning would be a fault.
const USES: [(&str, &str); 7] = [
    (
        "manual pages",
        "for page in /usr/share/man/man1/pagemill*.1.gz; do man --warnings -E UTF-8 -l $page 2>&1 >/opt/tried/page | { ! grep .; }; done; rm /opt/tried/page; man pagemill-zero-serve | grep -q 'zero serve'",
    ),
    (
        "completions of bash",
        "source /usr/share/bash-completion/bash_completion; _completion_loader pagemill || true; complete -p pagemill",
    ),
    (
        "systemd units",
        "systemd-analyze verify /usr/lib/systemd/system/pagemill-*.service 2>&1 | { ! grep .; }; rm -r /run/systemd",
    ),
    (
        "modules by dkms",
        "dkms status | tee /dev/stderr | grep -q ': installed'; for module in color zero; do modinfo -k $(basename /lib/modules/*) pagemill_$module | grep -q '^vermagic: *6.1'; done",
    ),
    (
        "preloaded libraries",
        "for run in 'zero run' 'color run --stand-in 64'; do pagemill $run -- ls / 2>/opt/tried/said >/dev/null; if grep 'cannot be preloaded' /opt/tried/said >&2; then exit 1; fi; rm /opt/tried/said; done",
    ),
    ("CUDA program", "pagemill cuda -- /opt/tried/cuda"),
    (
        "MPI program",
        "said=$(pagemill mpi -- mpirun --allow-run-as-root -n 2 /opt/tried/mpi 2>&1); if grep warning <<< \"$said\" >&2; then exit 1; fi; grep -q 'rank 1 at' <<< \"$said\"",
    ),
];

/// Installs, uses and purges the packages on both systems.
pub fn verify(packages: &Packages, tally: &mut Tally) -> Result<()> {
    if !system::is_root() {
        bail!(
            "only root can install packages into a folder: run `sudo cargo xtask release --verify`"
        );
    }
    provide_tools()?;
    tally.check("lintian", || lint(packages));
    tally.check("minimal Debian", || on_minimal(packages));
    let root = packages.folder.join(FULL.name);
    let before = FULL.unpack(packages)?;
    add_programs(&root)?;
    tally.check("full Debian: packages install", || {
        inside(
            &root,
            "dpkg --install /opt/tried/pagemill_*.deb /opt/tried/pagemill-dkms_*.deb",
        )
        .map(drop)
    });
    for (what, script) in USES {
        tally.check(&format!("full Debian: {what}"), || {
            inside(&root, script).map(drop)
        });
    }
    tally.check("full Debian: purge leaves nothing behind", || {
        // As an administrator has set it up.
        inside(
            &root,
            "systemctl enable pagemill-zero.service 2>&1; echo PAGEMILL_ZERO_PAGES=1 > /etc/default/pagemill-zero",
        )?;
        inside(
            &root,
            "dpkg --purge pagemill pagemill-dkms; rm -r /opt/tried",
        )?;
        nothing_is_left(&before, &everything_below(&root)?)
    });
    Ok(())
}

fn provide_tools() -> Result<()> {
    let missing: Vec<&str> = ["mmdebstrap", "lintian"]
        .into_iter()
        .filter(|program| !process::succeeds(program, &["--version"]))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("installing {}", missing.join(" "));
    system::install(&missing)
}

fn lint(packages: &Packages) -> Result<()> {
    let mut lintian = Command::new("lintian");
    lintian.args([
        "--allow-root",
        "--fail-on",
        "error,warning",
        "--suppress-tags",
    ]);
    lintian.arg(NOT_FOR_US.map(|(tag, _)| tag).join(","));
    lintian.arg(&packages.command).arg(&packages.modules);
    let output = lintian.output().context("cannot start lintian")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stdout));
    }
    Ok(())
}

/// What lintian says of packages for Debian's archive, and why it does not concern these.
const NOT_FOR_US: [(&str, &str); 1] = [(
    "initial-upload-closes-no-bugs",
    "there is no request for it at Debian",
)];

fn on_minimal(packages: &Packages) -> Result<()> {
    let root = packages.folder.join(MINIMAL.name);
    let before = MINIMAL.unpack(packages)?;
    inside(
        &root,
        "mkdir /opt/tried/unpacked; tar -xzf /opt/tried/pagemill-*.tar.gz -C /opt/tried/unpacked --strip-components=1",
    )?;
    use_from(&root, "/opt/tried/unpacked/bin").context("the archive")?;
    inside(&root, "dpkg --install /opt/tried/pagemill_*.deb")?;
    use_from(&root, "/usr/bin").context("the Debian package")?;
    inside(&root, "dpkg --purge pagemill; rm -r /opt/tried")?;
    nothing_is_left(&before, &everything_below(&root)?)
}

/// What a user does first, with the command in `folder`.
fn use_from(root: &Path, folder: &str) -> Result<()> {
    let path = format!("export PATH={folder}:$PATH");
    let printed = inside(
        root,
        &format!(
            "{path}; test $(command -v pagemill) = {folder}/pagemill; pagemill doctor; pagemill list machines; pagemill run smoke; \
             pagemill run smoke --out /opt/tried/smoke; ls /opt/tried/smoke; rm -r /opt/tried/smoke"
        ),
    )?;
    for word in ["huge", "gtx480", "multi-range", "report.html"] {
        if !printed.contains(word) {
            bail!("{word:?} is missing in what the command prints:\n{printed}");
        }
    }
    // There is no emulator, but everything of ours.
    inside(
        root,
        &format!(
            "{path}; (pagemill mrc -- /bin/ls || true) 2>&1 | {{ ! grep 'the sources of'; }}; rm -rf ~/.cache"
        ),
    )
    .map(drop)
}

impl Debian {
    /// Unpacks a fresh one, with the packages in `/opt/tried`; gives what was there before.
    fn unpack(&self, packages: &Packages) -> Result<Vec<PathBuf>> {
        let archive = self.fetch(&packages.folder.join("debian"))?;
        let root = packages.folder.join(self.name);
        emptied(&root)?;
        process::run(
            Command::new("tar")
                .arg("-xf")
                .arg(&archive)
                .arg("-C")
                .arg(&root),
        )?;
        let before = everything_below(&root)?;
        for package in [&packages.command, &packages.archive, &packages.modules] {
            let name = package.file_name().unwrap_or_default();
            copy(package, &root.join("opt/tried").join(name))?;
        }
        Ok(before)
    }

    /// The archive of the system, kept for the next time.
    fn fetch(&self, folder: &Path) -> Result<PathBuf> {
        let archive = folder.join(self.name).with_extension("tar");
        if archive.is_file() {
            return Ok(archive);
        }
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        eprintln!(
            "fetching a {} Debian 12 into {}",
            self.name,
            workspace::relative(&archive).display()
        );
        let partial = folder.join(format!("{}-partial.tar", self.name));
        let mut fetch = Command::new("mmdebstrap");
        fetch.args(["--quiet", "--variant=minbase"]);
        if !self.packages.is_empty() {
            fetch.arg(format!("--include={}", self.packages));
        }
        process::run(fetch.arg("bookworm").arg(&partial))
            .context("Debian's archive cannot be reached")?;
        std::fs::rename(&partial, &archive)
            .with_context(|| format!("cannot make {}", archive.display()))?;
        Ok(archive)
    }
}

/// A CUDA and an MPI program, as users build them on another machine.
fn add_programs(root: &Path) -> Result<()> {
    let tried = root.join("opt/tried");
    let example = workspace::root().join("examples/cuda/managed_vector_add.cu");
    Nvcc::provide()?.program(&example, &tried.join("cuda"))?;
    let mpi = workspace::root().join("crates/net/pagemill-fabric/tests/programs/collectives.c");
    process::run(
        Command::new("mpicc")
            .arg(mpi)
            .arg("-o")
            .arg(tried.join("mpi"))
            .arg("-lm"),
    )
}

/// Runs a script as root of the system in `root`, with processes and mounts of its own, with no network but itself,
/// and with nothing of this machine that can be written to.
fn inside(root: &Path, script: &str) -> Result<String> {
    let enter = "mount -t proc proc \"$0/proc\"; mount --rbind /dev \"$0/dev\"; mount --rbind /sys \"$0/sys\"; mount -o remount,bind,ro \"$0/sys\"; busybox ip link set lo up; \
                 exec chroot \"$0\" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash -euo pipefail -c \"$1\"";
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--mount",
        "--pid",
        "--net",
        "--fork",
        "--kill-child",
        "timeout",
        "600",
        "sh",
        "-ec",
        enter,
    ]);
    process::output(
        unshare
            .arg(root)
            .arg(format!("export HOME=~root; {script}")),
    )
}
