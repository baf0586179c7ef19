//! `cargo xtask site` runs this: the guides, the gallery and the playground as one folder that a plain file server serves.
//!
//! The arguments are the folder, the playground as WebAssembly, and the folder of the gallery.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Component, Path, PathBuf};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pagemill_report::pages;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Documents outside `docs/` that guides link to.
const OF_ROOT: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "SPECIFICATION.md",
    "validation/README.md",
];

/// Scripts of the playground, as they are.
const SCRIPTS: [(&str, &str); 3] = [
    ("scenario.js", include_str!("../page/scenario.js")),
    ("worker.js", include_str!("../page/worker.js")),
    ("playground.js", include_str!("../page/playground.js")),
];

/// Nothing is fetched from elsewhere.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src 'self' data:; style-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'";

fn main() -> Outcome<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [out, wasm, gallery] = arguments.as_slice() else {
        return Err("usage: site FOLDER PLAYGROUND.wasm GALLERY".into());
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let site = Site {
        out,
        documents: documents(&root, gallery)?,
        gallery,
        root,
    };
    site.write_documents()?;
    site.write_playground(wasm)
}

/// Where the gallery's pages are on the site.
const GALLERY: &str = "docs/gallery";

/// Every document, by its path in the repository or, in the gallery, by that of its page on the site.
fn documents(root: &Path, gallery: &Path) -> Outcome<BTreeMap<PathBuf, String>> {
    let of_root = OF_ROOT
        .iter()
        .map(|path| (PathBuf::from(path), root.join(path)));
    let mut files: Vec<(PathBuf, PathBuf)> = of_root.collect();
    let folders = [
        ("docs", root.join("docs")),
        ("docs/adr", root.join("docs/adr")),
        (GALLERY, gallery.to_path_buf()),
    ];
    for (name, folder) in folders {
        for file in files_of(&folder, "md")? {
            files.push((
                Path::new(name).join(file.file_name().unwrap_or_default()),
                file,
            ));
        }
    }
    let read =
        |(path, file): (PathBuf, PathBuf)| -> Outcome<_> { Ok((path, fs::read_to_string(file)?)) };
    files.into_iter().map(read).collect()
}

/// The files directly in `folder` whose names end in `extension`.
fn files_of(folder: &Path, extension: &str) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == extension) {
            files.push(path);
        }
    }
    Ok(files)
}

struct Site<'a> {
    out: &'a Path,
    root: PathBuf,
    gallery: &'a Path,
    documents: BTreeMap<PathBuf, String>,
}

impl Site<'_> {
    fn write_documents(&self) -> Outcome<()> {
        for (path, text) in &self.documents {
            let guide = Guide::new(self, path, text);
            let body = guide.body()?;
            let title = guide.title();
            let page = page(
                path,
                &title,
                &[],
                html! { main.guide { (PreEscaped(body)) } },
            );
            self.write(&page_path(path), page.as_bytes())?;
        }
        let pictures = [
            (GALLERY, files_of(self.gallery, "svg")?),
            ("docs", files_of(&self.root.join("docs"), "png")?),
        ];
        for (folder, files) in pictures {
            for file in files {
                let name = Path::new(folder).join(file.file_name().unwrap_or_default());
                self.write(&name, &fs::read(&file)?)?;
            }
        }
        let style = format!(
            "{}{}",
            pages::viewer().style,
            include_str!("../page/site.css")
        );
        self.write(Path::new("style.css"), style.as_bytes())
    }

    fn write_playground(&self, wasm: &Path) -> Outcome<()> {
        let folder = Path::new("playground");
        let viewer = pages::viewer();
        self.write(&folder.join("playground.wasm"), &fs::read(wasm)?)?;
        self.write(&folder.join("map.js"), viewer.script.as_bytes())?;
        for (name, text) in SCRIPTS {
            self.write(&folder.join(name), text.as_bytes())?;
        }
        let path = folder.join("index.md");
        let page = page(
            &path,
            "Playground",
            &["map.js", "playground.js"],
            playground(&viewer.markup),
        );
        self.write(&page_path(&path), page.as_bytes())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Outcome<()> {
        let path = self.out.join(path);
        fs::create_dir_all(path.parent().unwrap_or(self.out))?;
        Ok(fs::write(path, bytes)?)
    }
}

/// Where the page of a document is: the README is the start.
fn page_path(document: &Path) -> PathBuf {
    if document == Path::new("README.md") {
        return PathBuf::from("index.html");
    }
    document.with_extension("html")
}

/// What leads from the page of `document` to the start of the site.
fn to_start(document: &Path) -> String {
    "../".repeat(document.components().count() - 1)
}

fn page(document: &Path, title: &str, scripts: &[&str], body: Markup) -> String {
    let start = to_start(document);
    let chapters = [
        ("Start", "README.md"),
        ("Playground", "playground/index.md"),
        ("Guides", "docs/README.md"),
        ("Gallery", "docs/gallery/README.md"),
    ];
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " – pagemill" }
                link rel="stylesheet" href={ (start) "style.css" };
                link rel="icon" href="data:,";
            }
            body {
                nav.site-nav aria-label="Site" {
                    ul { @for (name, target) in chapters { li {
                        a href={ (start) (page_path(Path::new(target)).display()) }
                            aria-current=[(Path::new(target) == document).then_some("page")] { (name) }
                    } } }
                }
                (body)
                @for script in scripts { script src=(script) {} }
            }
        }
    };
    page.into_string()
}

/// Around a table: scrolls where the page is narrow.
const WIDE: &str = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">";

/// What has been met so far in a document.
#[derive(Default)]
struct Rewriting {
    ids: Ids,
    dead: Vec<String>,
    in_plain_link: bool,
}

/// The text of the heading that begins at `index`.
fn heading_at(events: &[Event<'_>], index: usize) -> String {
    let is_inside = |event: &&Event<'_>| !matches!(event, Event::End(TagEnd::Heading(_)));
    let text = |event: &Event<'_>| match event {
        Event::Text(text) | Event::Code(text) => Some(text.to_string()),
        _ => None,
    };
    let inside = events[index..].iter().take_while(is_inside);
    inside.filter_map(text).collect()
}

/// A document as HTML, with links that lead to pages of the site.
struct Guide<'a> {
    site: &'a Site<'a>,
    path: &'a Path,
    events: Vec<Event<'a>>,
}

impl<'a> Guide<'a> {
    fn new(site: &'a Site<'a>, path: &'a Path, text: &'a str) -> Self {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        Self {
            site,
            path,
            events: Parser::new_ext(text, options).collect(),
        }
    }

    fn title(&self) -> String {
        let is_title = |event: &Event<'_>| matches!(event, Event::Start(Tag::Heading { .. }));
        let first = self.events.iter().position(is_title);
        first.map_or("pagemill".to_owned(), |index| {
            heading_at(&self.events, index)
        })
    }

    fn body(&self) -> Outcome<String> {
        let mut rewriting = Rewriting::default();
        let events: Vec<Event<'_>> = (0..self.events.len())
            .flat_map(|index| self.rewritten(index, &mut rewriting))
            .collect();
        if !rewriting.dead.is_empty() {
            let dead = rewriting.dead.join(", ");
            return Err(format!("{}: no such target: {dead}", self.path.display()).into());
        }
        let mut body = String::new();
        pulldown_cmark::html::push_html(&mut body, events.into_iter());
        // What scrolls can be reached by keyboard, and the page's policy allows no style in an element.
        let replaced = [
            ("<pre>", "<pre tabindex=\"0\">"),
            (" style=\"text-align: right\"", " class=\"n\""),
            (" style=\"text-align: left\"", ""),
            (" style=\"text-align: center\"", ""),
        ];
        Ok(replaced
            .into_iter()
            .fold(body, |body, (from, to)| body.replace(from, to)))
    }

    /// What stands on the page for an event of the document.
    fn rewritten(&self, index: usize, rewriting: &mut Rewriting) -> Vec<Event<'a>> {
        match self.events[index].clone() {
            Event::Start(Tag::Heading {
                level,
                classes,
                attrs,
                ..
            }) => {
                let id = Some(rewriting.ids.next(&heading_at(&self.events, index)).into());
                vec![Event::Start(Tag::Heading {
                    level,
                    id,
                    classes,
                    attrs,
                })]
            }
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }) => match self.target(&dest_url) {
                Ok(Some(target)) => {
                    let dest_url = target.into();
                    vec![Event::Start(Tag::Link {
                        link_type,
                        dest_url,
                        title,
                        id,
                    })]
                }
                // A link to what the site lacks is its text alone.
                Ok(None) => {
                    rewriting.in_plain_link = true;
                    Vec::new()
                }
                Err(link) => {
                    rewriting.dead.push(link);
                    Vec::new()
                }
            },
            Event::End(TagEnd::Link) if std::mem::take(&mut rewriting.in_plain_link) => Vec::new(),
            event @ Event::Start(Tag::Table(_)) => vec![Event::Html(WIDE.into()), event],
            event @ Event::End(TagEnd::Table) => vec![event, Event::Html("</div>".into())],
            event => vec![event],
        }
    }

    /// Where a link leads on the site; none where that is a file that only the repository has.
    fn target(&self, link: &str) -> Result<Option<String>, String> {
        if link.contains("://") || link.starts_with("mailto:") {
            return Ok(Some(link.to_owned()));
        }
        let (file, anchor) = link
            .split_once('#')
            .map_or((link, None), |(file, anchor)| (file, Some(anchor)));
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let document = if file.is_empty() {
            self.path.to_path_buf()
        } else {
            plain(&folder.join(file))
        };
        let Some(text) = self.site.documents.get(&document) else {
            let is_there = self.site.root.join(&document).exists();
            return if is_there {
                Ok(None)
            } else {
                Err(link.to_owned())
            };
        };
        let anchor = match anchor {
            Some(anchor) if !anchors(text).contains(anchor) => return Err(link.to_owned()),
            Some(anchor) => format!("#{anchor}"),
            None => String::new(),
        };
        let page = if file.is_empty() {
            String::new()
        } else {
            format!("{}{}", to_start(self.path), page_path(&document).display())
        };
        Ok(Some(format!("{page}{anchor}")))
    }
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Names of headings in links, as GitHub makes them.
#[derive(Default)]
struct Ids(BTreeMap<String, usize>);

impl Ids {
    fn next(&mut self, heading: &str) -> String {
        let lower = heading.to_lowercase();
        let kept = lower
            .chars()
            .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        let name = kept
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect::<String>();
        let count = self.0.entry(name.clone()).or_default();
        *count += 1;
        match *count {
            1 => name,
            count => format!("{name}-{}", count - 1),
        }
    }
}

fn anchors(text: &str) -> BTreeSet<String> {
    let events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let mut ids = Ids::default();
    let is_heading = |index: &usize| matches!(events[*index], Event::Start(Tag::Heading { .. }));
    (0..events.len())
        .filter(is_heading)
        .map(|index| ids.next(&heading_at(&events, index)))
        .collect()
}

fn playground(viewer: &str) -> Markup {
    let choice = |id: &str, name: &str, options: &[(&str, &str)], chosen: &str| {
        html! {
            label { (name)
                select id=(id) {
                    @for (value, text) in options { option value=(value) selected[*value == chosen] { (text) } }
                }
            }
        }
    };
    let pages = ["4 KiB", "64 KiB", "256 KiB", "2 MiB"].map(|page| (page, page));
    let factors = [
        ("0", "all fits"),
        ("1", "1"),
        ("1.25", "1.25"),
        ("1.5", "1.5"),
        ("2", "2"),
        ("4", "4"),
    ];
    let links = [
        ("", "as the machine has"),
        ("8 GB/s", "8 GB/s"),
        ("16 GB/s", "16 GB/s"),
        ("32 GB/s", "32 GB/s"),
        ("64 GB/s", "64 GB/s"),
        ("450 GB/s", "450 GB/s"),
    ];
    html! {
        main.playground {
            h1 { "Playground" }
            p { "The simulator runs in this page, in a thread of its own. Choose a program and how its data gets to the GPU, and see which page was where, when, and why. "
                "The same scenario gives the same numbers as the command " code { "pagemill run" } "." }
            form id="settings" {
                (choice("program", "Program", &[], ""))
                (choice("machine", "Machine", &[], ""))
                (choice("policy", "Policy", &[], ""))
                (choice("page_size", "Page size", &pages, "4 KiB"))
                (choice("link", "Link, each way", &links, ""))
                (choice("factor", "Data over GPU memory", &factors, "2"))
                fieldset id="sizes-of" hidden { legend { "Size" } div id="sizes" {} }
                div.actions {
                    button id="run" type="submit" disabled { "Run" }
                    button id="stop" type="button" disabled { "Stop" }
                    progress id="progress" max="1" aria-label="Share of the run that is done" hidden {}
                    span id="status" role="status" { "Loading the simulator." }
                }
            }
            noscript { p { "The playground needs script." } }
            p.note id="about" {}
            div id="error" role="alert" hidden {}
            h2 { "Results" }
            div.scroll tabindex="0" role="region" aria-label="Results" { table id="rows" {} }
            p { button id="clear" type="button" hidden { "Forget earlier runs" } }
            section id="pages" hidden {
                h2 { "Where the pages were" }
                p { button id="replay" type="button" { "Replay" } }
                (PreEscaped(viewer))
            }
            section id="findings-of" hidden { h2 { "Why it was slow" } ul id="findings" {} }
            h2 { "Take it with you" }
            div.copies {
                label for="scenario" { "The scenario, as " code { "playground.toml" } }
                textarea id="scenario" readonly spellcheck="false" {}
                button id="copy-scenario" type="button" { "Copy the scenario" }
                label for="command" { "The command" }
                input.command id="command" readonly value="pagemill run playground.toml --out results";
                button id="copy-command" type="button" { "Copy the command" }
            }
        }
    }
}
