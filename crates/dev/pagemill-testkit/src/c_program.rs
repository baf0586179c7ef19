use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A program made of C sources below `kmod/`, under sanitizers: for comparing what a module does with what we do.
#[derive(Debug)]
pub struct CProgram {
    path: PathBuf,
}

impl CProgram {
    /// Compiles `sources`, whose paths are below `kmod/`, into `folder`; `None` where there is no C compiler.
    ///
    /// # Panics
    /// If they do not compile.
    pub fn compile(folder: &Path, sources: &[&str]) -> Option<Self> {
        let kmod = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../kmod");
        let sources: Vec<PathBuf> = sources.iter().map(|source| kmod.join(source)).collect();
        let path = folder.join(sources[0].file_stem()?);
        let mut compile = Command::new("gcc");
        compile
            .args(["-std=gnu11", "-g", "-fsanitize=address,undefined"])
            .args(["-fno-sanitize-recover=all", "-I"])
            .arg(kmod.join("uapi"))
            .arg("-o")
            .arg(&path);
        for module in sources.iter().filter_map(|source| source.parent()) {
            compile.arg("-I").arg(module);
        }
        let compiled = compile.args(&sources).status().ok()?;
        assert!(compiled.success(), "{} does not compile", path.display());
        Some(Self { path })
    }

    /// Starts it.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(&self) -> Conversation {
        let mut child = Command::new(&self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a program that was just compiled starts");
        Conversation {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("stdout is piped")),
            child,
        }
    }
}

/// A running [`CProgram`] that answers each line with a line. Ends with it; its exit code has to be 0 then.
#[derive(Debug)]
pub struct Conversation {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Conversation {
    /// The answer to `line`.
    ///
    /// # Panics
    /// If the program is gone.
    pub fn ask(&mut self, line: &str) -> String {
        let input = self.input.as_mut().expect("it is open until the end");
        writeln!(input, "{line}").expect("the program reads");
        let mut answer = String::new();
        self.output
            .read_line(&mut answer)
            .expect("the program answers");
        answer.truncate(answer.trim_end().len());
        answer
    }

    /// The answer to `line`, which is a number.
    ///
    /// # Panics
    /// If it is none.
    pub fn ask_number(&mut self, line: &str) -> i64 {
        let answer = self.ask(line);
        answer
            .parse()
            .unwrap_or_else(|_| panic!("{line:?} is answered with {answer:?}"))
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        drop(self.input.take());
        let status = self.child.wait();
        if !std::thread::panicking() {
            assert!(
                status.is_ok_and(|status| status.success()),
                "the program ended badly"
            );
        }
    }
}
