//! Names similar to a given one.

/// The `known` names nearest to `wanted`, at most three, nearest first: those that contain it, and those that differ by
/// few typing errors. Other names are left out.
#[must_use]
pub fn nearest<'a, T: Clone + 'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a T>,
    name: fn(&T) -> &str,
) -> Vec<T> {
    /// Fewest characters of a name that is looked for within others, and in other spellings.
    const LEAST: usize = 3;
    let wanted = wanted.to_lowercase();
    let length = wanted.chars().count();
    // One error in three characters.
    let most = (length / 3).clamp(1, 4);
    let distance = |candidate: &T| {
        let candidate = name(candidate).to_lowercase();
        if !wanted.is_empty() && candidate.starts_with(&wanted) {
            return Some(0);
        }
        let slips = strsim::damerau_levenshtein(&wanted, &candidate);
        let contains = length >= LEAST && candidate.contains(&wanted);
        if contains { Some(1) } else { Some(slips).filter(|slips| *slips <= most && length >= LEAST) }
    };
    let mut alike: Vec<_> = known.into_iter().filter_map(|item| Some((distance(item)?, item))).collect();
    alike.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| name(x).cmp(name(y))));
    alike.into_iter().take(3).map(|(_, item)| item.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_slip_of_a_finger_and_a_part_of_a_name_and_nothing_else() {
        let known = ["locomo-43", "qmsum-1", "locomo-44", "trip-to-norway"].map(str::to_owned);
        let near = |wanted| nearest(wanted, &known, String::as_str);
        assert_eq!(near("locom-43")[0], "locomo-43");
        assert_eq!(near("qm"), ["qmsum-1"]);
        assert_eq!(near("Norway"), ["trip-to-norway"]);
        assert_eq!(near("trip-to-nroway"), ["trip-to-norway"]);
        for far in ["zzzzzz", "tax-2026", "", "loan"] {
            assert!(near(far).is_empty(), "{far}: {:?}", near(far));
        }
    }
}
