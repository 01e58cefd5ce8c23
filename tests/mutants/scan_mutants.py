#!/usr/bin/env python3
"""Mutants of the scan's definition, before its hand-made numbers and its laws."""

import sys

import runner

S = "reference/mamba3_scan.cc"
T = "reference/mamba3_token.cc"
E = "reference/elementary.cc"
R = "reference/runs.cc"
GAMMA = "const float gamma = lambda * dt;"
BETA = "const float beta = ((1.0f - lambda) * dt) * alpha;"
PREVIOUS = "AddTimes(beta * state.k[r][n], state.x[r], p_.head_dim, h);"
CURRENT = "AddTimes(gamma * k[r][n], x[r], p_.head_dim, h);"
DECAY = "h[c] = alpha * h[c];"

# name, source, text, replacement
MUTANTS = (
    ("gamma_without_step", T, GAMMA, "const float gamma = lambda;"),
    ("gamma_decayed", T, GAMMA, "const float gamma = lambda * dt * alpha;"),
    ("beta_not_decayed", T, BETA,
     "const float beta = (1.0f - lambda) * dt;"),
    ("beta_by_lambda", T, BETA,
     "const float beta = (lambda * dt) * alpha;"),
    ("beta_lost", T, PREVIOUS, ""),
    ("beta_without_first_rank", T, PREVIOUS, "if (r > 0) " + PREVIOUS),
    ("previous_after_current", T, PREVIOUS + "\n        " + CURRENT,
     CURRENT + PREVIOUS),
    ("decay_twice", T, DECAY, "h[c] = alpha * alpha * h[c];"),
    ("decay_lost", T, DECAY, "h[c] = 1.0f * h[c];"),
    ("ranks_decay_again", T, PREVIOUS,
     "for (int64_t c = 0; r > 0 && c < p_.head_dim; ++c) h[c] *= alpha;" + PREVIOUS),
    ("first_token_renormalised", T, GAMMA,
     "const float gamma = at.t == 0 && !p_.carry_in ? dt : lambda * dt;"),
    ("rate_without_step", T, "(Rate(at, s) * dt) * 0.5f", "Rate(at, s) * 0.5f"),
    ("rate_without_tanh", T, "TanhCore(in_.vartheta.Float(",
     "(in_.vartheta.Float("),
    ("full_turn_for_half", T, "(Rate(at, s) * dt) * 0.5f", "Rate(at, s) * dt"),
    ("angle_not_reduced", T, "theta - std::floor(theta)", "theta"),
    ("turn_of_one", T, "reduced == 1.0f ? 0.0f : reduced", "reduced"),
    ("angle_of_head_zero", T,
     "in_.vartheta.Float(at.b, at.t, at.h, s)",
     "in_.vartheta.Float(at.b, at.t, 0, s)"),
    ("conjugate", T, "std::fma(u, turn.cos, -(w * turn.sin))",
     "std::fma(u, turn.cos, w * turn.sin)"),
    ("pairing_of_siso", T, "p_.mimo() ? s : 2 * s,", "2 * s,"),
    ("pairing_of_mimo", T, "s + p_.state_dim / 2 : 2 * s + 1",
     "2 * s + 1 : s + p_.state_dim / 2"),
    ("bias_lost", T, "if (p_.bias) y[r][n] = y[r][n] + bias(at.h, r, n);", ""),
    ("bias_of_group", T, "bias(at.h, r, n)", "bias(group, r, n)"),
    ("group_modulo", T, "at.h / p_.group()", "at.h % p_.groups"),
    ("group_zero", T, "at.h / p_.group()", "0"),
    ("skip_of_v", T, "AddTimes(in_.d(at.h), x[r],",
     "AddTimes(in_.d(at.h), v.data(),"),
    ("skip_of_head_zero", T, "in_.d(at.h)", "in_.d(0)"),
    ("rank_reads_itself", T, "AddTimes(q[r][n], state.h[n],",
     "AddTimes(q[0][n], state.h[n],"),
    ("gate_sigmoid", S, "y = y * Silu(", "y = y * Sigmoid("),
    ("gate_without_zeta", S, "p_.mimo() ? in_.zeta(at.h, r, c) * z : z", "z"),
    ("last_rank_only", S, "sum = std::fma(in_.phi(at.h, r, c), y, sum);",
     "sum = in_.phi(at.h, r, c) * y;"),
    ("minus_zero", E, "CanonicalNaN(x + 0.0f)", "CanonicalNaN(x)"),
    ("any_nan", E, "CanonicalNaN(x + 0.0f)", "x + 0.0f"),
    ("norm_lost", S, "Normalise(head, o[r]);", ""),
    ("norm_of_sum", T, "/ static_cast<float>(p_.head_dim)", ""),
    ("carry_ignored", T, "if (p_.carry_in) LoadCarry(run, head, state);",
     ""),
    ("carry_of_first_run", T, "LoadCarry(run, head, state)",
     "LoadCarry(0, head, state)"),
    ("carried_angle_lost", T,
     "state.theta[s] = in_.carry.theta(run, head, s);",
     "state.theta[s] = 0.0f;"),
    ("carried_v_unprojected", T,
     "state.x = UpProjected(state.v, head);",
     "for (int64_t c = 0; c < p_.head_dim; ++c) state.x[0][c] = state.v[c];"),
    ("exported_v_of_start", T, "state.v = v;", ""),
    ("exported_v_projected", T, "state.v = v;",
     "for (int64_t c = 0; c < p_.head_dim; ++c) state.v[c] = x[0][c];"),
    ("previous_k_lost", T, "state.k = k;", ""),
    ("previous_x_lost", T, "state.x = x;", ""),
    ("step_from_zeros", S, "scan.RunHead({row, 0, 1}, row, head);",
     "scan.RunHead({row, 0, 1}, 0, head);"),
    ("equal_ids_join", R,
     "id(b, t) != id(b, t - 1)", "id(b, t) > id(b, t - 1)"),
    ("row_does_not_end_a_run", R, "t == 0 ||",
     "(t == 0 && (b == 0 || !segments)) ||"),
    ("empty_runs_dropped", R, "runs.push_back({0,",
     "if (inputs.cu_seqlens[i - 1] < inputs.cu_seqlens[i]) runs.push_back({0,"),
)

if __name__ == "__main__":
    sys.exit(runner.main("scan", MUTANTS))
