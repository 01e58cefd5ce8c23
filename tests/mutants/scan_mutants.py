#!/usr/bin/env python3
"""Mutants of the scan's definition, before its hand-made numbers and its laws."""

import sys

import runner

GAMMA = "const float gamma = lambda * dt;"
BETA = "const float beta = ((1.0f - lambda) * dt) * alpha;"
PREVIOUS = "AddTimes(beta * state.k[r][n], state.x[r], p_.head_dim, h);"
CURRENT = "AddTimes(gamma * k[r][n], x[r], p_.head_dim, h);"
DECAY = "h[c] = alpha * h[c];"

# name, text, replacement
MUTANTS = (
    ("gamma_without_step", GAMMA, "const float gamma = lambda;"),
    ("gamma_decayed", GAMMA, "const float gamma = lambda * dt * alpha;"),
    ("beta_not_decayed", BETA, "const float beta = (1.0f - lambda) * dt;"),
    ("beta_by_lambda", BETA, "const float beta = (lambda * dt) * alpha;"),
    ("beta_lost", PREVIOUS, ""),
    ("beta_without_first_rank", PREVIOUS, "if (r > 0) " + PREVIOUS),
    ("previous_after_current", PREVIOUS + "\n        " + CURRENT, CURRENT + PREVIOUS),
    ("decay_twice", DECAY, "h[c] = alpha * alpha * h[c];"),
    ("decay_lost", DECAY, "h[c] = 1.0f * h[c];"),
    ("ranks_decay_again", PREVIOUS,
     "for (int64_t c = 0; r > 0 && c < p_.head_dim; ++c) h[c] *= alpha;" + PREVIOUS),
    ("first_token_renormalised", GAMMA,
     "const float gamma = at.t == 0 && !p_.carry_in ? dt : lambda * dt;"),
    ("rate_without_step", "(Rate(at, s) * dt) * 0.5f", "Rate(at, s) * 0.5f"),
    ("rate_without_tanh", "TanhCore(in_.vartheta.Float(", "(in_.vartheta.Float("),
    ("full_turn_for_half", "(Rate(at, s) * dt) * 0.5f", "Rate(at, s) * dt"),
    ("angle_not_reduced", "theta - std::floor(theta)", "theta"),
    ("turn_of_one", "reduced == 1.0f ? 0.0f : reduced", "reduced"),
    ("angle_of_head_zero", "in_.vartheta.Float(at.b, at.t, at.h, s)",
     "in_.vartheta.Float(at.b, at.t, 0, s)"),
    ("conjugate", "std::fma(u, turn.cos, -(w * turn.sin))",
     "std::fma(u, turn.cos, w * turn.sin)"),
    ("pairing_of_siso", "p_.mimo() ? s : 2 * s,", "2 * s,"),
    ("pairing_of_mimo", "s + p_.state_dim / 2 : 2 * s + 1", "2 * s + 1 : s + p_.state_dim / 2",
     "reference/"),
    ("bias_lost", "if (p_.bias) y[r][n] = y[r][n] + bias(at.h, r, n);", ""),
    ("bias_of_group", "bias(at.h, r, n)", "bias(group, r, n)"),
    ("group_modulo", "at.h / p_.group()", "at.h % p_.groups"),
    ("group_zero", "at.h / p_.group()", "0"),
    ("skip_of_v", "AddTimes(in_.d(at.h), x[r],", "AddTimes(in_.d(at.h), v.data(),"),
    ("skip_of_head_zero", "in_.d(at.h)", "in_.d(0)"),
    ("rank_reads_itself", "AddTimes(q[r][n], state.h[n],", "AddTimes(q[0][n], state.h[n],"),
    ("gate_sigmoid", "y = y * Silu(", "y = y * Sigmoid(", "mamba3_scan.cc"),
    ("gate_without_zeta", "p_.mimo() ? in_.zeta(at.h, r, c) * z : z", "z"),
    ("last_rank_only", "sum = std::fma(in_.phi(at.h, r, c), y, sum);",
     "sum = in_.phi(at.h, r, c) * y;"),
    ("minus_zero", "CanonicalNaN(x + 0.0f)", "CanonicalNaN(x)"),
    ("any_nan", "CanonicalNaN(x + 0.0f)", "x + 0.0f"),
    ("norm_lost", "Normalise(head, o[r]);", ""),
    ("norm_of_sum", "/ static_cast<float>(p_.head_dim)", "", "mamba3_token.cc"),
    ("carry_ignored", "if (p_.carry_in) LoadCarry(run, head, state);", ""),
    ("carry_of_first_run", "LoadCarry(run, head, state)", "LoadCarry(0, head, state)"),
    ("carried_angle_lost", "state.theta[s] = in_.carry.theta(run, head, s);",
     "state.theta[s] = 0.0f;"),
    ("carried_v_unprojected", "state.x = UpProjected(state.v, head);",
     "for (int64_t c = 0; c < p_.head_dim; ++c) state.x[0][c] = state.v[c];"),
    ("exported_v_of_start", "state.v = v;", ""),
    ("exported_v_projected", "state.v = v;",
     "for (int64_t c = 0; c < p_.head_dim; ++c) state.v[c] = x[0][c];"),
    ("previous_k_lost", "state.k = k;", ""),
    ("previous_x_lost", "state.x = x;", ""),
    ("step_from_zeros", "scan.RunHead({row, 0, 1}, row, head);",
     "scan.RunHead({row, 0, 1}, 0, head);"),
    ("equal_ids_join", "id(b, t) != id(b, t - 1)", "id(b, t) > id(b, t - 1)"),
    ("row_does_not_end_a_run", "t == 0 ||", "(t == 0 && (b == 0 || !segments)) ||", "runs.cc"),
    ("empty_runs_dropped", "runs.push_back({0,",
     "if (inputs.cu_seqlens[i - 1] < inputs.cu_seqlens[i]) runs.push_back({0,"),
)

if __name__ == "__main__":
    sys.exit(runner.main("scan", MUTANTS))
