//! The modules of a crate and what each imports, read from its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemMod, ItemUse, Macro, UseTree, VisRestricted};

/// A path such as `crate::units::rate`, word by word.
type Words = Vec<String>;

/// A crate's modules by their paths. The root has the empty path.
pub(crate) struct Modules(BTreeMap<Words, Module>);

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
        let parsed = syn::parse_file(&source).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.read_items(&parsed.items, file, folder, path);
    }

    fn read_items(&mut self, items: &[Item], file: &Path, folder: &Path, path: &Words) {
        let mut found = Found::default();
        items.iter().for_each(|item| found.visit_item(item));
        let Found { mentions, imports, children } = found;
        self.0.insert(path.clone(), Module { file: file.to_owned(), mentions, imports });
        for child in children {
            let name = child.ident.to_string();
            let below = folder.join(&name);
            let path: Words = path.iter().cloned().chain([name]).collect();
            if let Some((_, items)) = &child.content {
                self.read_items(items, file, &below, &path);
                continue;
            }
            // A module with a `#[path]` of its own belongs to another crate.
            let files = [below.with_extension("rs"), below.join("mod.rs")];
            if let Some(file) = files.iter().find(|file| file.exists()) {
                self.read_file(file, &below, &path);
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

/// What the items of a module mention.
#[derive(Default)]
struct Found<'s> {
    mentions: BTreeSet<Words>,
    imports: BTreeMap<String, Words>,
    children: Vec<&'s ItemMod>,
}

impl<'s> Visit<'s> for Found<'s> {
    fn visit_item(&mut self, item: &'s Item) {
        if !attributes(item).iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'s ImplItem) {
        let is_left_out = matches!(item, ImplItem::Fn(function) if function.attrs.iter().any(is_for_tests));
        if !is_left_out {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'s ItemMod) {
        self.children.push(module);
    }

    fn visit_item_use(&mut self, item: &'s ItemUse) {
        self.import(&item.tree, Vec::new());
    }

    fn visit_path(&mut self, path: &'s syn::Path) {
        // A single word is a name of this module, which its import has shown.
        if path.segments.len() > 1 {
            self.mentions.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_vis_restricted(&mut self, _: &'s VisRestricted) {
        // `pub(in crate::scenario)` imports nothing.
    }

    fn visit_macro(&mut self, call: &'s Macro) {
        self.scan(TokenBuffer::new2(call.tokens.clone()).begin());
        visit::visit_macro(self, call);
    }
}

impl Found<'_> {
    /// Notes a `use` behind these words.
    fn import(&mut self, tree: &UseTree, mut words: Words) {
        let name = match tree {
            UseTree::Path(path) => {
                words.push(path.ident.to_string());
                return self.import(&path.tree, words);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, words.clone()));
            }
            UseTree::Name(name) if name.ident == "self" => words.last().cloned(),
            UseTree::Name(name) => {
                words.push(name.ident.to_string());
                words.last().cloned()
            }
            UseTree::Rename(rename) => {
                words.push(rename.ident.to_string());
                Some(rename.rename.to_string())
            }
            UseTree::Glob(_) => None,
        };
        self.imports.extend(name.map(|name| (name, words.clone())));
        self.mentions.insert(words);
    }

    /// Notes the paths of a macro's arguments or definition, which have no syntax of their own.
    fn scan(&mut self, mut at: Cursor<'_>) {
        let mut words = Words::new();
        let mut colons = 0;
        while !at.eof() {
            if let Some((inner, _, _, rest)) = at.any_group() {
                self.scan(inner);
                at = rest;
            } else if let Some((word, rest)) = at.ident() {
                // `::` is two marks in a row. Other words begin a new path.
                if colons != 2 {
                    self.mention(&mut words);
                }
                words.push(word.to_string());
                (colons, at) = (0, rest);
                continue;
            } else if let Some((_, rest)) = at.punct().filter(|(mark, _)| mark.as_char() == ':') {
                (colons, at) = (colons + 1, rest);
                continue;
            } else if let Some((_, rest)) = at.token_tree() {
                at = rest;
            }
            self.mention(&mut words);
            colons = 0;
        }
        self.mention(&mut words);
    }

    /// Notes a path and begins another one.
    fn mention(&mut self, words: &mut Words) {
        let words = std::mem::take(words);
        if words.len() > 1 {
            self.mentions.insert(words);
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(syn::ItemConst { attrs, .. })
        | Item::Enum(syn::ItemEnum { attrs, .. })
        | Item::Fn(syn::ItemFn { attrs, .. })
        | Item::Impl(syn::ItemImpl { attrs, .. })
        | Item::Macro(syn::ItemMacro { attrs, .. })
        | Item::Mod(ItemMod { attrs, .. })
        | Item::Static(syn::ItemStatic { attrs, .. })
        | Item::Struct(syn::ItemStruct { attrs, .. })
        | Item::Trait(syn::ItemTrait { attrs, .. })
        | Item::Type(syn::ItemType { attrs, .. })
        | Item::Use(ItemUse { attrs, .. }) => attrs,
        _ => &[],
    }
}

/// True if an item with this attribute is compiled for tests only.
fn is_for_tests(attribute: &Attribute) -> bool {
    let Ok(list) = attribute.meta.require_list() else { return false };
    let condition = list.tokens.to_string();
    let has = |word: &str| condition.split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
    list.path.is_ident("cfg") && has("test") && !has("not") && !has("any")
}
