//! Writes the map of characters that SentencePiece calls a precompiled one: a double array over UTF-8.

use std::collections::{BTreeMap, HashSet};

use memory_core::port::BoxError;

/// Numbers of bytes: children of a node lie within as many units.
const BYTES: usize = 256;

/// Units at the end of the array that are searched for room: the others are nearly full.
const SEARCHED: usize = 4 * BYTES;

/// Bit of a unit that has a value.
const HAS_VALUE: u32 = 1 << 8;

/// Bit of a value.
const IS_VALUE: u32 = 1 << 31;

/// Shift of the distance to a unit's children, and the bits that it has.
const DISTANCE: (u32, usize) = (10, 21);

/// A map in which each character has the replacement that is next to it, for `Precompiled` of `tokenizers`.
pub(super) fn charsmap(characters: &[(char, String)]) -> Result<Vec<u8>, BoxError> {
    let mut replacements = String::new();
    let mut root = Node::default();
    for (from, to) in characters {
        // A zero ends a replacement and cannot be replaced.
        if *from == '\0' || to.contains('\0') {
            return Err("its map of characters has a zero".into());
        }
        let value = u32::try_from(replacements.len())?;
        replacements.push_str(to);
        replacements.push('\0');
        root.insert(from.encode_utf8(&mut [0; 4]).as_bytes(), value);
    }
    let mut array = DoubleArray { units: vec![0; BYTES], bases: HashSet::new() };
    array.place(&root, 0)?;
    let bytes = u32::try_from(4 * array.units.len())?;
    let mut map = bytes.to_le_bytes().to_vec();
    map.extend(array.units.iter().flat_map(|unit| unit.to_le_bytes()));
    map.extend_from_slice(replacements.as_bytes());
    Ok(map)
}

#[derive(Default)]
struct Node {
    value: Option<u32>,
    children: BTreeMap<u8, Node>,
}

impl Node {
    fn insert(&mut self, key: &[u8], value: u32) {
        match key {
            [] => self.value = Some(value),
            [first, rest @ ..] => self.children.entry(*first).or_default().insert(rest, value),
        }
    }
}

/// Units with the byte that leads to them and the distance to their children. The child for a byte lies where the unit's
/// base, its place with that distance applied, differs in that byte; a value lies at the base itself.
struct DoubleArray {
    units: Vec<u32>,
    /// Bases in use. Each node has its own, so that a byte of another node's child leads nowhere.
    bases: HashSet<usize>,
}

impl DoubleArray {
    /// Places what is below `node`, whose unit is at `place`.
    fn place(&mut self, node: &Node, place: usize) -> Result<(), BoxError> {
        let base = self.free_base(node);
        let distance = u32::try_from(place ^ base)?;
        if place ^ base >= 1 << DISTANCE.1 {
            return Err("its map of characters is too large".into());
        }
        self.bases.insert(base);
        self.set(place, |unit| unit | distance << DISTANCE.0);
        if let Some(value) = node.value {
            self.set(place, |unit| unit | HAS_VALUE);
            self.set(base, |_| value | IS_VALUE);
        }
        // All children are taken before the first of them looks for room.
        for byte in node.children.keys() {
            self.set(base ^ usize::from(*byte), |_| u32::from(*byte));
        }
        node.children.iter().try_for_each(|(byte, child)| self.place(child, base ^ usize::from(*byte)))
    }

    /// An unused base with room for the children of `node`, among the last units. Never 0, where the root is.
    fn free_base(&mut self, node: &Node) -> usize {
        let mut base = self.units.len().saturating_sub(SEARCHED).max(1);
        loop {
            if base + BYTES > self.units.len() {
                self.units.resize(self.units.len() + BYTES, 0);
            }
            let is_free = |place: usize| place != 0 && self.units.get(place).is_some_and(|unit| *unit == 0);
            let has_room = (node.value.is_none() || is_free(base))
                && node.children.keys().all(|byte| is_free(base ^ usize::from(*byte)));
            if has_room && !self.bases.contains(&base) {
                return base;
            }
            base += 1;
        }
    }

    fn set(&mut self, place: usize, change: impl FnOnce(u32) -> u32) {
        if let Some(unit) = self.units.get_mut(place) {
            *unit = change(*unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokenizers::normalizers::Precompiled;

    use super::*;

    #[test]
    fn a_zero_is_refused() {
        assert!(charsmap(&[('\0', String::new())]).is_err());
        assert!(charsmap(&[('a', "\0".to_owned())]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn each_character_has_its_replacement_and_no_other_has_one(
            characters in prop::collection::btree_map(any::<char>().prop_filter("zero", |c| *c != '\0'), "[a-c ⁄☃]{0,3}", 0..200),
            others in prop::collection::vec(any::<char>(), 50),
        ) {
            let listed: Vec<(char, String)> = characters.clone().into_iter().collect();
            let map = Precompiled::from(&charsmap(&listed).unwrap()).unwrap();
            for character in characters.keys().copied().chain(others).chain('\u{1}'..'\u{3000}') {
                let found = map.transform(character.encode_utf8(&mut [0; 4]));
                prop_assert_eq!(found, characters.get(&character).map(String::as_str), "{:?}", character);
            }
        }
    }
}
