//! The weights of the ranker for multilingual-e5-small, as `cargo xtask eval --fit` writes them; read them before they are committed.
//!
//! The weights were fitted when `words_near`, `words_around` and those of the cosine left out the node itself.
//!
//! With vectors of tokens, R@10 with conversations held out, asked of one conversation and of all:
//! locomo 88.3, 87.6 (519 questions).
//! beam100k 61.7, 59.2 (106 questions).
//! qmsum 57.5, 48.2 (36 questions).
//! beam500k 70.6, 72.3 (18 questions).
//! qmsum-b 66.0, 51.6 (83 questions).
//! beam500k-b 59.8, 58.8 (36 questions).
//! With vectors, R@10 with conversations held out, asked of one conversation and of all:
//! locomo 85.8, 85.7 (519 questions).
//! beam100k 61.0, 57.9 (106 questions).
//! qmsum 56.8, 47.4 (36 questions).
//! beam500k 71.0, 70.2 (18 questions).
//! qmsum-b 64.8, 51.0 (83 questions).
//! beam500k-b 61.7, 60.3 (36 questions).
//! By words alone, R@10 with conversations held out, asked of one conversation and of all:
//! locomo 84.9, 83.1 (519 questions).
//! beam100k 57.7, 52.6 (106 questions).
//! qmsum 53.9, 40.1 (36 questions).
//! beam500k 61.2, 57.3 (18 questions).
//! qmsum-b 65.5, 51.0 (83 questions).
//! beam500k-b 49.8, 52.1 (36 questions).

/// By the names of the features: with an agent, by vectors of tokens too, by vectors and by words alone; between
/// two people, the same; among more, the same.
pub(super) const WEIGHTS: [(&str, [f32; 9]); 38] = [
    ("by_agent_asked_back", [0.20, 0.33, 0.53, 0.10, 0.17, 0.27, 0.10, 0.17, 0.27]),
    ("by_user", [1.76, 1.87, 1.18, 0.88, 0.93, 0.59, 0.88, 0.93, 0.59]),
    ("by_user_of_self", [0.46, 0.35, 0.95, 0.23, 0.18, 0.47, 0.23, 0.18, 0.47]),
    ("cosine", [2.04, 3.39, 0.00, 0.14, 1.52, 0.00, 0.27, 1.37, 0.00]),
    ("cosine_after", [0.29, 0.57, 0.00, 0.20, 0.55, 0.00, 0.55, 0.65, 0.00]),
    ("cosine_around", [-0.56, -0.64, 0.00, -0.28, -0.31, 0.00, 0.75, 0.82, 0.00]),
    ("cosine_before", [0.27, -0.34, 0.00, 0.59, 0.76, 0.00, 0.29, 0.34, 0.00]),
    ("cosine_conversation", [2.04, 2.09, 0.00, 1.20, 1.35, 0.00, 1.85, 2.15, 0.00]),
    ("cosine_near", [-0.19, -0.24, 0.00, 0.46, 0.63, 0.00, 0.56, 0.61, 0.00]),
    ("cosine_session", [1.43, 1.47, 0.00, 0.48, 0.98, 0.00, 1.33, 1.71, 0.00]),
    ("cosine_smoothed", [0.94, 1.68, 0.00, -0.08, 0.95, 0.00, -0.20, 0.56, 0.00]),
    ("coverage", [0.39, 1.18, 1.98, 0.09, 1.06, 1.06, 0.14, 1.06, 0.74]),
    ("coverage_window", [1.00, 1.16, 0.64, 1.78, 2.36, 2.02, 2.42, 2.68, 1.89]),
    ("date", [1.68, 1.72, 1.46, 3.19, 3.22, 3.01, 1.62, 1.64, 1.48]),
    ("is_preference", [0.13, 0.15, 0.09, 0.14, 0.18, 0.11, -0.36, -0.36, -0.41]),
    ("is_question", [-0.09, -0.09, -0.12, -1.02, -0.97, -1.00, -0.00, 0.05, 0.13]),
    ("is_standing", [1.48, 1.41, 0.90, 0.36, 0.28, 0.14, -0.03, -0.19, -0.09]),
    ("late", [3.25, 0.00, 0.00, 4.27, 0.00, 0.00, 3.48, 0.00, 0.00]),
    ("late_after", [0.48, 0.00, 0.00, 0.43, 0.00, 0.00, 0.23, 0.00, 0.00]),
    ("late_before", [-0.74, 0.00, 0.00, 0.99, 0.00, 0.00, 0.75, 0.00, 0.00]),
    ("late_session", [-0.09, 0.00, 0.00, 1.79, 0.00, 0.00, 1.57, 0.00, 0.00]),
    ("length", [-1.68, -0.84, -1.40, 0.50, 1.78, 0.92, -0.09, 1.50, 1.20]),
    ("length_after", [0.67, 0.83, 0.17, 0.26, 0.58, 0.02, -0.64, -0.51, -0.87]),
    ("length_before", [-0.94, -1.02, -0.58, -2.34, -2.30, -1.93, -1.63, -1.29, -1.21]),
    ("of_agent", [-0.12, -0.28, -0.83, -0.06, -0.14, -0.41, -0.06, -0.14, -0.41]),
    ("of_group", [0.18, 0.23, 0.23, 0.18, 0.23, 0.23, 0.36, 0.46, 0.45]),
    ("speaker_named", [0.88, 0.84, 1.14, 1.81, 1.79, 2.17, 0.84, 0.73, 1.27]),
    ("speaker_other", [-0.26, -0.32, -0.06, -0.84, -0.91, -0.60, 0.04, -0.06, 0.43]),
    ("tells_time", [0.23, 0.35, 0.33, 1.85, 2.05, 2.00, 0.49, 0.52, 0.49]),
    ("words", [0.74, 1.10, 1.23, 0.29, 0.85, 0.83, 0.01, 0.49, 0.72]),
    ("words_after", [-0.06, 0.07, 1.25, -0.60, -0.60, -0.35, -0.47, -0.53, -0.03]),
    ("words_around", [0.16, 0.19, -0.07, 0.57, 0.60, 0.74, 1.96, 1.97, 2.33]),
    ("words_before", [-0.14, -0.51, -0.76, 0.01, 0.23, 0.67, 0.39, 0.56, 0.91]),
    ("words_conversation", [1.20, 1.23, 2.17, 1.04, 1.19, 1.83, 0.97, 1.17, 1.49]),
    ("words_long", [1.33, 1.58, 2.75, 0.01, 0.28, 1.04, -0.19, -0.12, 0.84]),
    ("words_near", [0.29, 0.34, 0.84, 1.32, 1.45, 1.91, 1.09, 1.06, 1.29]),
    ("words_session", [0.72, 0.71, 1.27, 1.32, 1.80, 2.35, 0.85, 1.14, 1.84]),
    ("words_window", [-0.27, -0.33, -0.20, 0.74, 0.95, 1.27, 0.49, 0.47, 1.39]),
];

/// Weights of the logistic function of relevance by the names of the evidence, with vectors of tokens, with vectors and
/// by words alone. Fitted to locomo, beam100k, qmsum and qmsum-b: each question asked of its conversation, of all, of two
/// conversations that do not answer it, and some in conversations of ten messages. With conversations held out: expected
/// calibration error 0.021; best hit of moved questions 0.069 (90th percentile), of answered ones 0.524 (median).
pub(super) const RELEVANCE: [(&str, [f32; 3]); 10] = [
    ("coverage", [-1.462, -0.781, -0.219]),
    ("coverage_window", [1.191, 1.234, 1.183]),
    ("heard", [3.216, 3.230, 3.735]),
    ("nearness", [1.934, 2.662, 0.0]),
    ("match", [2.332, 0.0, 0.0]),
    ("margin", [-0.508, -0.530, -0.537]),
    ("chance", [1.809, 1.852, 1.908]),
    ("of_agent", [-3.569, -3.451, -2.753]),
    ("of_pair", [-3.423, -3.410, -2.710]),
    ("of_group", [-1.884, -1.810, -1.174]),
];
