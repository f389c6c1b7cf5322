//! The weights of the ranker, as `cargo xtask eval --fit` writes them; read them before they are committed.
//!
//! With vectors of tokens, R@10 with each conversation held out in turn:
//! locomo 86.1 (519 questions), qmsum 45.6 (36 questions), beam100k 62.2 (106 questions).
//! With vectors, R@10 with each conversation held out in turn:
//! locomo 84.2 (519 questions), qmsum 45.6 (36 questions), beam100k 63.8 (106 questions).
//! By words alone, R@10 with each conversation held out in turn:
//! locomo 82.3 (519 questions), qmsum 44.4 (36 questions), beam100k 57.5 (106 questions).

/// By the names of the features: with an agent, by vectors of tokens too, by vectors and by words alone; among
/// people, the same.
pub(super) const WEIGHTS: [(&str, [f32; 6]); 28] = [
    ("by_agent_asked_back", [0.19, 0.43, 0.51, 0.00, 0.00, 0.00]),
    ("by_user", [0.26, 0.65, 0.39, 0.00, 0.00, 0.00]),
    ("by_user_of_self", [0.34, 0.50, 0.36, 0.00, 0.00, 0.00]),
    ("cosine", [2.40, 2.90, 0.00, 0.05, 1.00, 0.00]),
    ("cosine_after", [-0.31, -0.21, 0.00, 1.07, 1.21, 0.00]),
    ("cosine_before", [-0.88, -0.46, 0.00, 1.47, 0.84, 0.00]),
    ("cosine_session", [0.59, 0.53, 0.00, 0.40, 0.84, 0.00]),
    ("cosine_smoothed", [1.33, 1.99, 0.00, 0.65, 0.97, 0.00]),
    ("coverage", [-0.60, 0.04, 1.10, -0.73, 0.61, 0.19]),
    ("coverage_window", [-0.39, -0.45, -1.06, 1.77, 1.83, 1.41]),
    ("date", [0.23, 0.26, 0.39, 3.38, 3.59, 3.43]),
    ("is_question", [0.03, -0.07, 0.00, -0.61, -0.74, -0.71]),
    ("late", [1.28, 0.00, 0.00, 3.29, 0.00, 0.00]),
    ("late_after", [0.36, 0.00, 0.00, -0.07, 0.00, 0.00]),
    ("late_before", [0.96, 0.00, 0.00, 0.01, 0.00, 0.00]),
    ("late_session", [0.00, 0.00, 0.00, 0.00, 0.00, 0.00]),
    ("length", [-3.52, -3.36, -4.01, 0.14, 1.80, 1.29]),
    ("length_after", [0.00, 0.00, 0.00, 0.00, 0.00, 0.00]),
    ("length_before", [0.00, 0.00, 0.00, 0.00, 0.00, 0.00]),
    ("speaker_named", [0.00, 0.00, 0.00, 1.00, 0.88, 0.93]),
    ("speaker_other", [0.00, 0.00, 0.00, -1.00, -0.88, -0.93]),
    ("tells_time", [-0.82, -0.96, -0.95, 1.22, 1.44, 1.38]),
    ("words", [1.43, 1.62, 2.03, 0.03, 0.47, 0.81]),
    ("words_after", [0.74, 1.05, 2.20, -0.40, -0.40, 0.18]),
    ("words_before", [-0.82, -0.36, 0.12, 0.23, 0.36, 1.02]),
    ("words_long", [1.41, 1.54, 2.78, -0.23, -0.35, 0.14]),
    ("words_session", [-0.05, -0.08, 0.04, 2.00, 2.43, 2.73]),
    ("words_window", [0.18, 0.19, -0.27, 2.03, 1.85, 2.85]),
];
