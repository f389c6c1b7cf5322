//! All kernels against the plain loop, and each other.

use proptest::prelude::*;

use super::*;

const LONGEST: usize = 1_100;

fn plain(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// All ways of computing the products of a query with rows give those of the plain loop.
fn check(query: &[i8], rows: &[i8], ids: &[u32]) {
    let expected: Vec<_> = rows.chunks_exact(query.len()).map(|row| plain(query, row)).collect();
    let picked: Vec<_> = ids.iter().map(|id| expected.get(*id as usize).copied().unwrap_or(i32::MIN)).collect();
    for kernels in Kernels::available() {
        let mut products = vec![7; expected.len()];
        kernels.dots_i8(query, rows, &mut products);
        assert_eq!(products, expected, "{} with {} codes", kernels.name(), query.len());
        let mut products = vec![7; ids.len()];
        kernels.dots_i8_of(query, rows, ids, &mut products);
        assert_eq!(products, picked, "{} gathering rows of {} codes", kernels.name(), query.len());
        if let Some(row) = rows.get(..query.len()) {
            assert_eq!(kernels.dot_i8(query, row), expected[0]);
            assert_eq!(kernels.dot_i8(row, query), expected[0]);
        }
    }
}

#[test]
fn extreme_codes_of_every_length_neither_saturate_nor_overflow() {
    let alternating: Vec<i8> = (0..LONGEST).map(|at| if at % 2 == 0 { 127 } else { -127 }).collect();
    for length in 1..=LONGEST {
        let rows = [vec![127; length], vec![-127; length], alternating[..length].to_vec(), vec![0; length]];
        let block = rows.concat();
        for query in &rows {
            check(query, &block, &[3, 2, 1, 0, 2, 9]);
        }
    }
}

#[test]
fn an_empty_vector_has_products_of_zero() {
    for kernels in Kernels::available() {
        let mut products = [1; 3];
        kernels.dots_i8(&[], &[], &mut products);
        assert_eq!((products, kernels.dot_i8(&[], &[]), kernels.dot_f32(&[], &[])), ([0; 3], 0, 0.0));
    }
}

#[test]
fn fewer_places_than_rows_and_fewer_rows_than_places_are_no_fault() {
    for kernels in Kernels::available() {
        let mut products = [0; 2];
        kernels.dots_i8(&[1; 3], &[2; 3 * 9 + 1], &mut products);
        assert_eq!(products, [6; 2]);
        let mut products = [-1; 12];
        kernels.dots_i8(&[1; 3], &[2; 3 * 5 + 1], &mut products);
        assert_eq!(products, [6, 6, 6, 6, 6, -1, -1, -1, -1, -1, -1, -1]);
        let mut products = [-1; 5];
        kernels.dots_i8_of(&[1; 3], &[2; 9], &[0; 11], &mut products);
        assert_eq!(products, [6; 5]);
    }
}

fn code() -> impl Strategy<Value = i8> {
    prop_oneof![8 => -127i8..=127, 1 => Just(127i8), 1 => Just(-127i8)]
}

fn rows() -> impl Strategy<Value = (Vec<i8>, Vec<i8>, Vec<u32>)> {
    (1..=LONGEST, 0usize..11).prop_flat_map(|(length, rows)| {
        (
            prop::collection::vec(code(), length),
            prop::collection::vec(code(), length * rows),
            prop::collection::vec(0..13u32, 0..20),
        )
    })
}

proptest! {
    #[test]
    fn products_of_codes_are_those_of_the_plain_loop((query, rows, ids) in rows()) {
        check(&query, &rows, &ids);
    }

    #[test]
    fn products_of_components_are_the_same_bits_by_all_kernels(
        pairs in prop::collection::vec((-1.0f32..1.0, -1.0f32..1.0), 0..LONGEST),
        beyond in 0usize..40,
    ) {
        let (mut a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        a.resize(a.len() + beyond, 1.0);
        let plain: f64 = pairs.iter().map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        let portable = Kernels(Instructions::Portable).dot_f32(&a, &b);
        prop_assert!((f64::from(portable) - plain).abs() < 1e-4);
        for kernels in Kernels::available() {
            prop_assert_eq!(kernels.dot_f32(&a, &b).to_bits(), portable.to_bits(), "{}", kernels.name());
            prop_assert_eq!(kernels.dot_f32(&b, &a).to_bits(), portable.to_bits(), "{}", kernels.name());
        }
    }

    #[test]
    fn a_code_is_off_by_at_most_half_a_step(vector in prop::collection::vec(-1.0f32..1.0, 0..400)) {
        let mut codes = Vec::new();
        let scale = quantize(&vector, &mut codes);
        prop_assert_eq!(codes.len(), vector.len());
        for (code, component) in codes.iter().zip(&vector) {
            prop_assert!(*code >= -127);
            prop_assert!((f32::from(*code) * scale - component).abs() <= scale * 0.5001, "{code} × {scale}, {component}");
        }
    }

    #[test]
    fn components_of_any_size_have_codes(vector in prop::collection::vec(prop::num::f32::NORMAL | prop::num::f32::ZERO | prop::num::f32::SUBNORMAL, 1..40)) {
        let mut codes = Vec::new();
        let scale = quantize(&vector, &mut codes);
        prop_assert!(scale.is_finite() && codes.iter().all(|code| *code >= -127));
    }
}
