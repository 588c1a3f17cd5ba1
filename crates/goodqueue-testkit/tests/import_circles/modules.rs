//! The modules of a crate and what each imports, read from its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::tokens::tokens;

/// A path such as `crate::units::rate`, word by word.
type Words = Vec<String>;

/// A crate's modules by their paths. The root has the empty path.
pub(crate) struct Modules(BTreeMap<Words, Module>);

#[derive(Default)]
struct Module {
    /// File that holds the module.
    file: PathBuf,
    /// Paths that the module mentions, imports included.
    mentions: BTreeSet<Words>,
    /// Names that the module imports or re-exports, with their paths.
    imports: BTreeMap<String, Words>,
}

impl Modules {
    /// Reads the crate whose root file this is. Code under `#[cfg(test)]` is left out.
    pub(crate) fn read(root: &Path) -> Self {
        let mut modules = Self(BTreeMap::new());
        let folder = root.parent().expect("the root lies in a folder");
        modules.read_file(root, folder, &Vec::new());
        modules
    }

    fn read_file(&mut self, file: &Path, folder: &Path, path: &Words) {
        let source = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tokens = tokens(&source);
        let children = Reader { tokens: &tokens, file, modules: self }.module(path, 0).1;
        for child in children {
            let own: Words = path.iter().chain(&child[path.len()..]).cloned().collect();
            let name = folder.join(child[path.len()..].join("/"));
            let (flat, nested) = (name.with_extension("rs"), name.join("mod.rs"));
            // A module with a `#[path]` of its own belongs to another crate.
            if let Some(file) = [flat, nested].iter().find(|file| file.exists()) {
                self.read_file(file, &name, &own);
            }
        }
    }

    /// Returns for each file the files that it imports from.
    pub(crate) fn imports(&self) -> BTreeMap<PathBuf, BTreeSet<PathBuf>> {
        let mut graph: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for (path, module) in &self.0 {
            let found = module.mentions.iter().filter_map(|words| self.resolve(path, words, 0));
            let files = found.map(|found| self.0[&found].file.clone()).filter(|file| *file != module.file);
            graph.entry(module.file.clone()).or_default().extend(files);
        }
        graph
    }

    /// Returns the module in which `words`, as written in the module `from`, leads to a definition.
    /// A re-export leads on to the module that it names. `None`: the path leaves the crate.
    fn resolve(&self, from: &Words, words: &[String], depth: usize) -> Option<Words> {
        let (first, mut rest) = words.split_first()?;
        let mut here = from.clone();
        match first.as_str() {
            "crate" => here.clear(),
            "self" => {}
            "super" => {
                here.pop();
                while let Some(after) = rest.strip_prefix(&["super".to_owned()]) {
                    here.pop();
                    rest = after;
                }
            }
            name => {
                here.push(name.to_owned());
                self.0.get(&here)?;
            }
        }
        for (index, name) in rest.iter().enumerate() {
            here.push(name.clone());
            if self.0.contains_key(&here) {
                continue;
            }
            here.pop();
            return match self.0[&here].imports.get(name) {
                Some(target) if depth < DEEPEST => {
                    let target: Words = target.iter().chain(&rest[index + 1..]).cloned().collect();
                    self.resolve(&here, &target, depth + 1)
                }
                _ => Some(here),
            };
        }
        Some(here)
    }
}

/// Re-exports of re-exports are followed to this depth.
const DEEPEST: usize = 8;

struct Reader<'a> {
    tokens: &'a [String],
    file: &'a Path,
    modules: &'a mut Modules,
}

impl Reader<'_> {
    /// Reads a module's tokens from `at` to its closing brace. Returns the place behind it and the
    /// paths of the modules that have files of their own.
    fn module(&mut self, path: &Words, mut at: usize) -> (usize, Vec<Words>) {
        let mut module = Module { file: self.file.to_owned(), ..Module::default() };
        let mut children = Vec::new();
        let mut depth = 0_usize;
        while let Some(token) = self.tokens.get(at) {
            match token.as_str() {
                "{" => depth += 1,
                "}" if depth == 0 => break,
                "}" => depth -= 1,
                "#" => {
                    at = self.attribute(at);
                    continue;
                }
                "mod" => {
                    let child: Words = path.iter().chain(self.tokens.get(at + 1)).cloned().collect();
                    if self.word(at + 2) == "{" {
                        let (end, more) = self.module(&child, at + 3);
                        children.extend(more);
                        at = end;
                    } else {
                        children.push(child);
                    }
                }
                "use" => {
                    at = use_tree(self.tokens, at + 1, &Vec::new(), &mut module);
                    continue;
                }
                word if self.word(at + 1) == "::"
                    && is_name(word)
                    && (at == 0 || self.word(at - 1) != "::") =>
                {
                    let mut words = vec![word.to_owned()];
                    while self.word(at + 1) == "::" && is_name(self.word(at + 2)) {
                        words.push(self.word(at + 2).to_owned());
                        at += 2;
                    }
                    module.mentions.insert(words);
                }
                _ => {}
            }
            at += 1;
        }
        self.modules.0.insert(path.clone(), module);
        (at, children)
    }

    /// Returns the place behind the attribute at `at`, and behind the item below it if that is
    /// compiled for tests only.
    fn attribute(&self, at: usize) -> usize {
        let open = if self.word(at + 1) == "!" { at + 2 } else { at + 1 };
        let end = self.closing(open);
        let words = &self.tokens[open..end.min(self.tokens.len())];
        let has = |word: &str| words.iter().any(|token| token == word);
        if !has("cfg") || !has("test") || has("not") || has("any") {
            return end;
        }
        let mut at = end;
        loop {
            match self.word(at) {
                "#" => at = self.closing(at + 1),
                "(" | "[" => at = self.closing(at),
                "{" => return self.closing(at),
                ";" | "" => return at + 1,
                _ => at += 1,
            }
        }
    }

    /// Returns the place behind the bracket that closes the one at `at`.
    fn closing(&self, at: usize) -> usize {
        let mut depth = 0;
        for place in at..self.tokens.len() {
            match self.word(place) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return place + 1;
            }
        }
        self.tokens.len()
    }

    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", String::as_str)
    }
}

/// Reads the part of a `use` at `at` behind `prefix`. Returns the place behind it.
fn use_tree(tokens: &[String], mut at: usize, prefix: &Words, module: &mut Module) -> usize {
    let word = |at: usize| tokens.get(at).map_or("", String::as_str);
    let mut path = prefix.clone();
    loop {
        match word(at) {
            "::" => at += 1,
            "{" => {
                at += 1;
                while !matches!(word(at), "}" | "") {
                    at = use_tree(tokens, at, &path, module);
                    at += usize::from(word(at) == ",");
                }
                return at + 1;
            }
            "as" => {
                module.imports.insert(word(at + 1).to_owned(), path.clone());
                module.mentions.insert(path);
                return at + 2;
            }
            name if is_name(name) => {
                path.push(name.to_owned());
                at += 1;
            }
            "*" => at += 1,
            _ => break,
        }
    }
    if path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    if let Some(name) = path.last() {
        module.imports.insert(name.clone(), path.clone());
    }
    module.mentions.insert(path);
    at
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_') && word != "as"
}
