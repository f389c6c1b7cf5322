//! The weights of the ranker, as `cargo xtask eval --fit` writes them; read them before they are committed.
//!
//! With vectors of tokens, R@10 with each conversation held out in turn:
//! locomo 87.4 (519 questions), qmsum 41.4 (36 questions), beam100k 62.2 (106 questions).
//! With vectors, R@10 with each conversation held out in turn:
//! locomo 85.0 (519 questions), qmsum 44.3 (36 questions), beam100k 63.8 (106 questions).
//! By words alone, R@10 with each conversation held out in turn:
//! locomo 83.7 (519 questions), qmsum 43.0 (36 questions), beam100k 57.5 (106 questions).

/// By the names of the features: with an agent, by vectors of tokens too, by vectors and by words alone; among
/// people, the same.
pub(super) const WEIGHTS: [(&str, [f32; 6]); 25] = [
    ("by_agent_asked_back", [0.17, 0.43, 0.51, 0.00, 0.00, 0.00]),
    ("by_user", [0.27, 0.65, 0.39, 0.00, 0.00, 0.00]),
    ("by_user_of_self", [0.34, 0.50, 0.36, 0.00, 0.00, 0.00]),
    ("cosine", [2.40, 2.90, 0.00, -0.21, 1.04, 0.00]),
    ("cosine_after", [-0.31, -0.21, 0.00, 0.71, 1.09, 0.00]),
    ("cosine_before", [-0.86, -0.46, 0.00, 1.09, 0.91, 0.00]),
    ("cosine_session", [0.59, 0.53, 0.00, 0.50, 0.89, 0.00]),
    ("cosine_smoothed", [1.33, 1.99, 0.00, 0.28, 0.98, 0.00]),
    ("coverage", [-0.61, 0.04, 1.10, -0.59, 0.55, 0.32]),
    ("coverage_window", [-0.39, -0.45, -1.06, 1.43, 1.82, 1.61]),
    ("date", [0.23, 0.26, 0.39, 4.20, 4.36, 4.27]),
    ("is_question", [0.03, -0.07, 0.00, -0.92, -0.97, -0.97]),
    ("late", [1.32, 0.00, 0.00, 4.21, 0.00, 0.00]),
    ("late_after", [0.33, 0.00, 0.00, 0.45, 0.00, 0.00]),
    ("late_before", [0.96, 0.00, 0.00, 0.53, 0.00, 0.00]),
    ("length", [-3.54, -3.36, -4.01, 0.27, 2.34, 1.47]),
    ("speaker_named", [0.00, 0.00, 0.00, 1.24, 1.18, 1.20]),
    ("speaker_other", [0.00, 0.00, 0.00, -1.24, -1.18, -1.20]),
    ("tells_time", [-0.82, -0.96, -0.95, 1.69, 1.94, 1.86]),
    ("words", [1.43, 1.62, 2.03, 0.06, 0.57, 0.82]),
    ("words_after", [0.75, 1.05, 2.20, -0.47, -0.39, 0.09]),
    ("words_before", [-0.82, -0.36, 0.12, 0.27, 0.40, 1.03]),
    ("words_long", [1.40, 1.54, 2.78, -0.32, -0.15, 0.28]),
    ("words_session", [-0.05, -0.08, 0.04, 2.31, 2.52, 3.09]),
    ("words_window", [0.19, 0.19, -0.27, 1.55, 1.56, 2.19]),
];
