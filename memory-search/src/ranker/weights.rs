//! The weights of the ranker, as `cargo xtask eval --fit` writes them; read them before they are committed.
//!
//! With vectors, R@10 with each conversation held out in turn:
//! locomo 84.7 (519 questions), qmsum 43.8 (36 questions), beam100k 63.3 (106 questions).
//! By words alone, R@10 with each conversation held out in turn:
//! locomo 83.7 (519 questions), qmsum 43.0 (36 questions), beam100k 57.5 (106 questions).

/// By the names of the features: with an agent, by vectors of tokens too, by vectors and by words alone; among people, the
/// same.
pub(super) const WEIGHTS: [(&str, [f32; 6]); 25] = [
    ("by_agent_asked_back", [0.42, 0.42, 0.51, 0.00, 0.00, 0.00]),
    ("by_user", [0.67, 0.67, 0.39, 0.00, 0.00, 0.00]),
    ("by_user_of_self", [0.51, 0.51, 0.36, 0.00, 0.00, 0.00]),
    ("cosine", [2.93, 2.93, 0.00, 1.07, 1.07, 0.00]),
    ("cosine_after", [-0.22, -0.22, 0.00, 1.08, 1.08, 0.00]),
    ("cosine_before", [-0.48, -0.48, 0.00, 0.93, 0.93, 0.00]),
    ("cosine_session", [0.54, 0.54, 0.00, 0.92, 0.92, 0.00]),
    ("cosine_smoothed", [2.00, 2.00, 0.00, 0.97, 0.97, 0.00]),
    ("coverage", [0.02, 0.02, 1.10, 0.51, 0.51, 0.32]),
    ("coverage_window", [-0.44, -0.44, -1.06, 1.80, 1.80, 1.61]),
    ("date", [0.26, 0.26, 0.39, 4.37, 4.37, 4.27]),
    ("is_question", [-0.06, -0.06, 0.00, -0.97, -0.97, -0.97]),
    ("late", [1.00, 0.00, 0.00, 1.00, 0.00, 0.00]),
    ("late_after", [0.00, 0.00, 0.00, 0.00, 0.00, 0.00]),
    ("late_before", [0.00, 0.00, 0.00, 0.00, 0.00, 0.00]),
    ("length", [-3.32, -3.32, -4.01, 2.34, 2.34, 1.47]),
    ("speaker_named", [0.00, 0.00, 0.00, 1.18, 1.18, 1.20]),
    ("speaker_other", [0.00, 0.00, 0.00, -1.18, -1.18, -1.20]),
    ("tells_time", [-0.97, -0.97, -0.95, 1.93, 1.93, 1.86]),
    ("words", [1.63, 1.63, 2.03, 0.58, 0.58, 0.82]),
    ("words_after", [1.03, 1.03, 2.20, -0.40, -0.40, 0.09]),
    ("words_before", [-0.36, -0.36, 0.12, 0.38, 0.38, 1.03]),
    ("words_long", [1.55, 1.55, 2.78, -0.15, -0.15, 0.28]),
    ("words_session", [-0.08, -0.08, 0.04, 2.49, 2.49, 3.09]),
    ("words_window", [0.18, 0.18, -0.27, 1.61, 1.61, 2.19]),
];
