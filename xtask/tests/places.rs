//! ARCHITECTURE's table "Where to put a new thing": what it names exists, and what it says of policies is enough.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the workspace")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|_| panic!("no {}", folder.display()));
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    paths.collect()
}

/// `path`, if it is a file, or every file below it.
fn files(path: &Path) -> Vec<PathBuf> {
    match path.is_file() {
        true => vec![path.to_owned()],
        false => entries(path).iter().flat_map(|path| files(path)).collect(),
    }
}

/// The folder of the crate `name`, from whatever street.
fn crate_folder(name: &str) -> Option<PathBuf> {
    let streets = entries(&root().join("crates")).into_iter();
    let mut folders = streets.map(|street| street.join(name));
    folders.find(|folder| name.starts_with("pagemill-") && folder.is_dir())
}

/// A row of the table.
struct Row {
    thing: String,
    place: String,
}

fn rows() -> Vec<Row> {
    let text = read(&root().join("ARCHITECTURE.md"));
    let (_, section) = text
        .split_once("## Where to put a new thing")
        .expect("it has the section");
    let cells = section.lines().filter_map(|line| {
        let row = line.strip_prefix("| ")?.strip_suffix(" |")?;
        row.split_once(" | ")
    });
    let rows = cells.skip(1).map(|(thing, place)| Row {
        thing: thing.to_owned(),
        place: place.to_owned(),
    });
    rows.collect()
}

impl Row {
    /// What the place says between backquotes.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.place.split('`').skip(1).step_by(2)
    }

    /// The file or folder that `name` is a path of, or the crate of that name; `KIND` and the like end the path.
    fn rooted(name: &str) -> Option<PathBuf> {
        if let Some(krate) = crate_folder(name) {
            return Some(krate);
        }
        let mut parts = name.split('/');
        let is_rooted = name.contains('/') && root().join(parts.next()?).is_dir();
        let is_given = |part: &&str| part.len() < 3 || !part.chars().all(|c| c.is_uppercase());
        let given: PathBuf = name.split('/').take_while(is_given).collect();
        is_rooted.then(|| root().join(given))
    }

    /// The files and folders that it names from the root.
    fn places(&self) -> Vec<PathBuf> {
        self.names().filter_map(Self::rooted).collect()
    }

    /// Whether the path or word `name` is in a crate of the places, or in another folder beside them.
    fn has(&self, name: &str) -> bool {
        let is_path = name.ends_with('/') || name.ends_with(".rs");
        let is_it = |file: &PathBuf| match is_path {
            true => file.display().to_string().contains(&format!("/{name}")),
            false => fs::read_to_string(file).is_ok_and(|text| text.contains(name)),
        };
        self.places().iter().any(|place| {
            let path = place.strip_prefix(root()).expect("it lies there");
            let depth = if path.starts_with("crates") { 3 } else { 2 };
            let folder: PathBuf = path.components().take(depth).collect();
            files(&root().join(folder)).iter().any(is_it)
        })
    }

    /// The folders of policies whose files are listed in one line each, and the files of these lists.
    fn lists(&self) -> Vec<(PathBuf, PathBuf)> {
        let is_policy =
            |place: &PathBuf| place.starts_with(root().join("crates/core/pagemill-policy"));
        let Some(folder) = self.places().into_iter().find(is_policy) else {
            return Vec::new();
        };
        let Some((_, rest)) = self.place.split_once("one line in ") else {
            return Vec::new();
        };
        let list = rest.split('`').nth(1).expect("it names the list's file");
        let mut folders = vec![folder.clone()];
        folders.extend(entries(&folder).into_iter().filter(|path| path.is_dir()));
        let lists = folders.into_iter().map(|folder| {
            let list = folder.join(list);
            (folder, list)
        });
        lists
            .filter(|(_, list)| list.is_file() && read(list).contains("Registry::new("))
            .collect()
    }
}

#[test]
fn every_place_exists() {
    let rows = rows();
    assert!(rows.len() > 15, "{} rows", rows.len());
    for row in rows {
        for place in row.places() {
            assert!(place.exists(), "{}: no {}", row.thing, place.display());
        }
        for name in row.names().filter(|name| Row::rooted(name).is_none()) {
            assert!(row.has(name), "{}: no {name} at its place", row.thing);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it can be made");
    for path in entries(from) {
        let target = to.join(path.file_name().expect("it has a name"));
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).expect("it can be copied")),
        }
    }
}

/// The crate of policies with what it needs, without tests.
fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = read(&root().join("Cargo.toml"));
    let (_, shared) = manifest
        .split_once("[workspace.package]")
        .expect("crates share it");
    let members = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*/*\"]\n[workspace.package]";
    fs::write(
        folder.path().join("Cargo.toml"),
        format!("{members}{shared}"),
    )
    .expect("written");
    for name in ["pagemill-types", "pagemill-policy"] {
        let [from, to] = [root(), folder.path()].map(|root| root.join("crates/core").join(name));
        copy(&from.join("src"), &to.join("src"));
        let manifest = read(&from.join("Cargo.toml"));
        let product = manifest.split("[dev-dependencies]").next();
        fs::write(to.join("Cargo.toml"), product.expect("it begins")).expect("written");
    }
    let guide = folder.path().join("CONTRIBUTING.md");
    fs::copy(root().join("CONTRIBUTING.md"), guide).expect("copied");
    folder
}

/// Adds a policy as the table says: a file in `folder`, its `mod` line, and a line in `list`. It is the one that is last in
/// the list, under another name.
fn add_policy(folder: &Path, list: &Path) {
    let text = read(list);
    let is_entry = |line: &&str| line.ends_with("::ENTRY,");
    let line = text.lines().rfind(is_entry);
    let line = line.unwrap_or_else(|| panic!("{}: no line of a policy", list.display()));
    let parts = line.trim().trim_start_matches("super::").split("::");
    let module = parts.into_iter().next().expect("it begins with its module");
    let policy = read(&folder.join(module).with_extension("rs"));
    let (before, rest) = policy.split_once("name: \"").expect("it has a name");
    let (_, after) = rest.split_once('"').expect("the name ends");
    let product = after.split("#[cfg(test)]").next().expect("it begins");
    let file = format!("{before}name: \"added\"{product}");
    fs::write(folder.join("added.rs"), file).expect("written");
    let added = line.replacen(&format!("{module}::"), "added::", 1);
    let text = text.replacen(line, &format!("{line}\n{added}"), 1);
    fs::write(list, text).expect("written");
    let declares = folder.join("mod.rs");
    let text = read(&declares);
    let declaration = format!("mod {module};");
    assert!(text.contains(&declaration), "{}", declares.display());
    let text = text.replacen(&declaration, &format!("{declaration}\nmod added;"), 1);
    fs::write(declares, text).expect("written");
}

#[test]
fn a_policy_is_one_file_and_one_line() {
    let copied = workspace();
    let lists: Vec<_> = rows().iter().flat_map(Row::lists).collect();
    assert_eq!(lists.len(), 8, "{lists:?}");
    for (folder, list) in lists {
        let below = |path: &Path| copied.path().join(path.strip_prefix(root()).expect("ours"));
        add_policy(&below(&folder), &below(&list));
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut check = Command::new(cargo);
    check.args([
        "check",
        "--quiet",
        "--offline",
        "--package",
        "pagemill-policy",
    ]);
    check.env("CARGO_TARGET_DIR", copied.path().join("target"));
    let status = check.current_dir(copied.path()).status();
    assert!(status.expect("cargo starts").success(), "see above");
}
