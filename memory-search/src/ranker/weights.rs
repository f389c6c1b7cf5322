//! The weights of the ranker, as `cargo xtask eval --fit` writes them; read them before they are committed.
//!
//! With vectors of tokens, R@10 with each conversation held out in turn:
//! locomo 86.9 (519 questions), qmsum 48.8 (36 questions), beam100k 62.7 (106 questions).
//! With vectors, R@10 with each conversation held out in turn:
//! locomo 84.2 (519 questions), qmsum 47.4 (36 questions), beam100k 63.6 (106 questions).
//! By words alone, R@10 with each conversation held out in turn:
//! locomo 82.7 (519 questions), qmsum 44.5 (36 questions), beam100k 57.8 (106 questions).

/// By the names of the features: with an agent, by vectors of tokens too, by vectors and by words alone; among
/// people, the same.
pub(super) const WEIGHTS: [(&str, [f32; 6]); 28] = [
    ("by_agent_asked_back", [0.41, 0.42, 0.50, 0.00, 0.00, 0.00]),
    ("by_user", [0.04, 0.06, -0.02, 0.00, 0.00, 0.00]),
    ("by_user_of_self", [0.37, 0.35, 0.29, 0.00, 0.00, 0.00]),
    ("cosine", [2.63, 2.99, 0.00, -0.27, 0.90, 0.00]),
    ("cosine_after", [-0.25, -0.30, 0.00, 1.17, 1.33, 0.00]),
    ("cosine_before", [-0.96, -0.65, 0.00, 0.87, 1.17, 0.00]),
    ("cosine_session", [0.27, 0.55, 0.00, -0.29, 0.66, 0.00]),
    ("cosine_smoothed", [1.64, 1.99, 0.00, 0.14, 0.96, 0.00]),
    ("coverage", [-0.33, 0.04, 1.10, -0.26, 0.54, 0.09]),
    ("coverage_window", [-0.52, -0.45, -1.06, 1.59, 1.98, 1.60]),
    ("date", [0.11, 0.13, 0.24, 3.57, 3.51, 3.39]),
    ("is_question", [-0.05, -0.08, -0.00, -0.71, -0.68, -0.65]),
    ("late", [1.20, 0.00, 0.00, 3.85, 0.00, 0.00]),
    ("late_after", [-0.01, 0.00, 0.00, 0.13, 0.00, 0.00]),
    ("late_before", [0.98, 0.00, 0.00, 1.09, 0.00, 0.00]),
    ("late_session", [0.81, 0.00, 0.00, 2.35, 0.00, 0.00]),
    ("length", [-3.48, -3.22, -3.94, -0.33, 1.67, 1.11]),
    ("length_after", [1.16, 1.17, 0.62, -1.17, -0.94, -1.22]),
    ("length_before", [0.55, 0.78, 0.64, -2.55, -2.20, -1.72]),
    ("speaker_named", [0.00, 0.00, 0.00, 0.90, 0.90, 0.92]),
    ("speaker_other", [0.00, 0.00, 0.00, -0.90, -0.90, -0.92]),
    ("tells_time", [-1.05, -0.99, -0.96, 1.23, 1.39, 1.34]),
    ("words", [1.51, 1.62, 2.02, 0.06, 0.56, 0.88]),
    ("words_after", [0.95, 0.98, 2.16, -0.08, -0.26, 0.40]),
    ("words_before", [-0.62, -0.38, 0.01, 0.46, 0.62, 1.33]),
    ("words_long", [1.41, 1.54, 2.79, -0.43, -0.34, 0.13]),
    ("words_session", [-0.52, -0.09, 0.03, 1.41, 2.38, 2.64]),
    ("words_window", [0.19, 0.22, -0.22, 1.56, 1.71, 2.72]),
];
