//! Names similar to a given one.

/// The `known` names nearest to `wanted`, at most three, nearest first. Dissimilar names are left out.
#[must_use]
pub fn nearest<'a, T: Clone + 'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a T>,
    name: fn(&T) -> &str,
) -> Vec<T> {
    const ALIKE: f64 = 0.6;
    let wanted_lower = wanted.to_lowercase();
    let likeness = |candidate: &T| {
        let candidate = name(candidate).to_lowercase();
        if candidate.starts_with(&wanted_lower) { 1.0 } else { strsim::jaro_winkler(&wanted_lower, &candidate) }
    };
    let mut alike: Vec<_> = known.into_iter().map(|item| (likeness(item), item)).filter(|(l, _)| *l >= ALIKE).collect();
    alike.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| name(x).cmp(name(y))));
    alike.into_iter().take(3).map(|(_, item)| item.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_slip_of_a_finger_and_the_beginning_of_a_name() {
        let known = ["locomo-43".to_owned(), "qmsum-1".to_owned(), "locomo-44".to_owned()];
        assert_eq!(nearest("locom-43", &known, String::as_str)[0], "locomo-43");
        assert_eq!(nearest("qm", &known, String::as_str)[0], "qmsum-1");
        assert!(nearest("zzzzzz", &known, String::as_str).is_empty());
    }
}
