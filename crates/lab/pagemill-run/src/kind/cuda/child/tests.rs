use super::*;

#[test]
fn flags_of_the_user_count() {
    let with = |own: Option<&str>| {
        let flags = xla_flags(own.map(OsString::from));
        flags.into_string().expect("plain text")
    };
    assert_eq!(with(None), XLA_FLAGS);
    assert_eq!(with(Some("")), XLA_FLAGS);
    let own = "--xla_gpu_autotune_level=4";
    assert_eq!(with(Some(own)), format!("{XLA_FLAGS} {own}"));
    assert_eq!(with(Some("flags.txt")), "flags.txt");
}

#[test]
fn the_assembler_hands_ptx_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    write_ptxas(&path(PTXAS)).expect("written");
    std::fs::write(path("in.ptx"), ".version 8.0\n").expect("written");
    let status = Command::new("sh")
        .arg(path(PTXAS))
        .arg(path("in.ptx"))
        .args(["-arch=sm_90a", "--warn-on-spills", "-o"])
        .arg(path("out"))
        .status();
    assert!(status.expect("a shell").success());
    let out = std::fs::read(path("out")).expect("made");
    assert_eq!(out, b".version 8.0\n\0");
}

/// PyTorch's shape, without PyTorch: what the hook settles once a module is imported, and that the user's own hook still runs.
#[test]
fn modules_are_settled_once_they_are_imported() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("written");
    };
    for (name, text) in MODULES {
        write(&format!("ours/{name}"), text);
    }
    write("own/sitecustomize.py", "print('own hook')\n");
    write(
        "own/torch/__init__.py",
        "class version:\n    cuda = '13.2'\n",
    );
    write("own/torch/_inductor/__init__.py", "");
    write("own/torch/_inductor/runtime/__init__.py", "");
    write(
        "own/torch/_inductor/runtime/triton_heuristics.py",
        "def check_autotune_cache(configs, filename):\n    return configs, filename\n",
    );
    let program = "import torch, torch._inductor.runtime.triton_heuristics as h\nprint(h.check_autotune_cache([1, 2, 3], 'f'))";
    let path = std::env::join_paths(["ours", "own"].map(|name| folder.path().join(name)));
    let output = Command::new("python3")
        .args(["-c", program])
        .env("PYTHONPATH", path.expect("no colon"))
        .env("TORCHINDUCTOR_DETERMINISTIC", "1")
        .output();
    let Ok(output) = output else {
        return pagemill_testkit::skip("there is no python3");
    };
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(stdout, "own hook\n([1], 'f')\n", "{stderr}");
    // What only looks like PyTorch is imported all the same, and the reason is said.
    assert!(
        stderr.contains("pagemill: operations of PyTorch on the GPU stay machine code"),
        "{stderr}"
    );
}
