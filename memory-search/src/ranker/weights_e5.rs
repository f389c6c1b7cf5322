//! The weights of the ranker for multilingual-e5-small, as `cargo xtask eval --fit --embedding-model NAME` writes them;
//! read them before they are committed.
//!
//! With vectors of tokens, R@10 with conversations held out, asked of one conversation and of all:
//! locomo 86.1, 85.0 (519 questions).
//! beam100k 59.0, 55.6 (106 questions).
//! qmsum 57.7, 46.3 (36 questions).
//! beam500k 63.1, 64.1 (18 questions).
//! qmsum-b 66.6, 51.7 (83 questions).
//! beam500k-b 54.8, 51.5 (36 questions).
//! Relevance: expected calibration error 0.022; best hit of moved questions 0.088 (90th percentile),
//! of answered ones 0.454 (median); among ten messages 0.230 and 0.324.
//! With vectors, R@10 with conversations held out, asked of one conversation and of all:
//! locomo 85.7, 84.9 (519 questions).
//! beam100k 60.8, 56.7 (106 questions).
//! qmsum 56.6, 46.3 (36 questions).
//! beam500k 66.3, 66.9 (18 questions).
//! qmsum-b 66.3, 50.3 (83 questions).
//! beam500k-b 53.9, 52.3 (36 questions).
//! Relevance: expected calibration error 0.023; best hit of moved questions 0.089 (90th percentile),
//! of answered ones 0.451 (median); among ten messages 0.231 and 0.262.
//! By words alone, R@10 with conversations held out, asked of one conversation and of all:
//! locomo 84.8, 82.8 (519 questions).
//! beam100k 57.5, 53.2 (106 questions).
//! qmsum 53.9, 44.4 (36 questions).
//! beam500k 61.2, 55.5 (18 questions).
//! qmsum-b 65.6, 50.9 (83 questions).
//! beam500k-b 53.2, 51.8 (36 questions).
//! Relevance: expected calibration error 0.023; best hit of moved questions 0.077 (90th percentile),
//! of answered ones 0.420 (median); among ten messages 0.147 and 0.188.

/// By the names of the features: with an agent, by vectors of tokens too, by vectors and by words alone; between
/// two people, the same; among more, the same.
pub(super) const WEIGHTS: [(&str, [f32; 9]); 38] = [
    ("by_agent_asked_back", [0.19, 0.26, 0.51, 0.09, 0.13, 0.26, 0.09, 0.13, 0.26]),
    ("by_user", [1.48, 1.54, 1.20, 0.74, 0.77, 0.60, 0.74, 0.77, 0.60]),
    ("by_user_of_self", [0.57, 0.53, 0.88, 0.28, 0.27, 0.44, 0.28, 0.27, 0.44]),
    ("cosine", [2.17, 3.23, 0.00, 0.95, 2.00, 0.00, 0.13, 1.21, 0.00]),
    ("cosine_after", [-0.30, 0.30, 0.00, 0.51, 0.88, 0.00, 0.49, 0.67, 0.00]),
    ("cosine_around", [-0.15, -0.19, 0.00, -0.26, -0.28, 0.00, 0.57, 0.61, 0.00]),
    ("cosine_before", [0.18, -0.22, 0.00, 0.90, 0.82, 0.00, 0.91, 0.58, 0.00]),
    ("cosine_conversation", [1.66, 1.79, 0.00, 1.36, 1.54, 0.00, 1.55, 1.75, 0.00]),
    ("cosine_near", [0.10, 0.11, 0.00, -0.20, -0.14, 0.00, 0.68, 0.70, 0.00]),
    ("cosine_session", [1.53, 1.38, 0.00, 1.21, 1.49, 0.00, 1.50, 1.61, 0.00]),
    ("cosine_smoothed", [1.16, 1.81, 0.00, 0.69, 1.42, 0.00, -0.08, 0.51, 0.00]),
    ("coverage", [0.46, 0.89, 1.70, 0.26, 0.59, 0.83, 0.14, 0.61, 0.54]),
    ("coverage_window", [0.79, 0.84, 0.68, 1.98, 2.14, 2.09, 2.38, 2.46, 2.04]),
    ("date", [1.58, 1.57, 1.46, 3.16, 3.13, 3.05, 1.58, 1.57, 1.49]),
    ("is_preference", [0.24, 0.22, 0.16, 0.10, 0.09, 0.08, -0.40, -0.36, -0.33]),
    ("is_question", [-0.15, -0.18, -0.11, -1.20, -1.19, -1.03, 0.07, 0.09, 0.11]),
    ("is_standing", [0.72, 0.69, 1.07, 0.14, 0.09, 0.19, -0.14, -0.17, -0.08]),
    ("late", [2.29, 0.00, 0.00, 2.45, 0.00, 0.00, 2.90, 0.00, 0.00]),
    ("late_after", [1.22, 0.00, 0.00, 0.61, 0.00, 0.00, 0.44, 0.00, 0.00]),
    ("late_before", [-0.32, 0.00, 0.00, 0.29, 0.00, 0.00, -0.24, 0.00, 0.00]),
    ("late_session", [-0.45, 0.00, 0.00, 0.80, 0.00, 0.00, 0.34, 0.00, 0.00]),
    ("length", [-1.19, -0.67, -1.63, 0.80, 1.33, 0.84, 0.45, 1.33, 1.14]),
    ("length_after", [0.35, 0.55, 0.49, -0.05, 0.10, 0.07, -1.06, -0.90, -0.86]),
    ("length_before", [-0.73, -0.77, -0.63, -2.27, -2.27, -1.95, -1.40, -1.52, -1.18]),
    ("of_agent", [-0.99, -1.09, -1.02, -0.50, -0.55, -0.51, -0.50, -0.55, -0.51]),
    ("of_group", [0.34, 0.35, 0.26, 0.34, 0.35, 0.26, 0.68, 0.70, 0.52]),
    ("speaker_named", [0.90, 0.91, 1.18, 1.77, 1.80, 2.20, 0.93, 0.94, 1.34]),
    ("speaker_other", [-0.23, -0.21, -0.03, -0.79, -0.79, -0.55, 0.11, 0.15, 0.47]),
    ("tells_time", [0.21, 0.19, 0.31, 1.96, 1.98, 2.02, 0.47, 0.49, 0.51]),
    ("words", [0.80, 0.99, 1.20, 0.10, 0.25, 0.43, -0.36, -0.14, 0.16]),
    ("words_after", [0.06, 0.45, 1.17, -0.80, -0.69, -0.25, -0.39, -0.32, 0.05]),
    ("words_around", [0.05, 0.06, 0.30, 0.61, 0.66, 0.87, 2.35, 2.38, 2.52]),
    ("words_before", [-0.86, -1.00, -0.68, 0.24, 0.30, 0.80, 0.66, 0.59, 0.99]),
    ("words_conversation", [0.65, 0.63, 1.87, 0.95, 1.00, 1.81, 0.73, 0.76, 1.31]),
    ("words_long", [1.41, 1.63, 2.83, -0.01, 0.16, 0.77, -0.27, -0.05, 0.51]),
    ("words_near", [0.56, 0.55, 0.63, 1.75, 1.80, 2.03, 1.35, 1.35, 1.42]),
    ("words_session", [0.85, 0.72, 1.28, 1.48, 1.59, 2.27, 1.12, 1.14, 1.73]),
    ("words_window", [0.03, -0.10, -0.37, 0.75, 0.75, 0.94, 0.45, 0.38, 0.99]),
];

/// Weights of the logistic function of relevance by the names of the evidence, with vectors of tokens, with vectors and
/// by words alone.
pub(super) const RELEVANCE: [(&str, [f32; 3]); 10] = [
    ("coverage", [0.094, 0.487, 0.291]),
    ("coverage_window", [1.003, 0.970, 1.277]),
    ("heard", [3.353, 3.569, 3.773]),
    ("nearness", [0.246, 0.564, 0.000]),
    ("match", [2.006, 0.000, 0.000]),
    ("margin", [-0.823, -0.745, -0.576]),
    ("chance", [2.234, 2.163, 2.003]),
    ("of_agent", [-3.521, -2.714, -2.887]),
    ("of_pair", [-3.679, -2.916, -2.933]),
    ("of_group", [-1.591, -0.910, -1.269]),
];
