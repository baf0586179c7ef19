"""Which settings come nearest to published figures? A study of Optuna's over a scenario with claims.

    pip install optuna
    python examples/fit.py --trials 60        # a minute for each

Each figure is an objective: the logarithm of the factor between the measured and the published value. What is printed are the settings
that no other one beats, the nearest first; do not count a figure that was a target as evidence.
"""

import argparse
import math

import optuna
import pagemill

#: What the paper leaves open: a list has the values to choose from, a pair the ends of a range and its unit.
KEYS = {
    "machine.gmmu.transactions.round_trip": (100, 1000, "ns"),
    "machine.gmmu.transactions.units_in_flight": [1, 2, 3, 4, 6, 8, 12, 16, 32, 2048],
    "machine.gmmu.fault_overhead": (0, 2000, "ns"),
    "machine.gmmu.merge": ["gpu", "partition", "sm"],
    "machine.gmmu.validity": ["at-arrival", "at-request"],
    "machine.gmmu.after_full_buffer": ["looks-up-again", "moves"],
    "machine.gmmu.buffer_entries": [128, 11],
    "machine.gmmu.stall": ["requester", "sm"],
    "machine.gmmu.cpu_return": ["valid", "whole-page"],
    "machine.host.placement": ["own-page", "packed"],
    "machine.host.programmer_copies": ["everything", "inputs"],
    "machine.host.reads_between_launches": ["nothing", "everything"],
}


def setting(trial: optuna.Trial) -> dict[str, object]:
    """A value for each key."""

    def value(key: str) -> object:
        match KEYS[key]:
            case tuple((low, high, unit)):
                return f"{trial.suggest_int(key, low, high)} {unit}"
            case values:
                return trial.suggest_categorical(key, values)

    return {key: value(key) for key in KEYS}


def distances(result: pagemill.Result) -> dict[str, float]:
    """How far each published figure is, by the id of its claim: the logarithm of a factor, always positive."""
    judged = [claim for claim in result.claims if claim["published"] and claim["measured"]]
    return {claim["id"]: abs(math.log(claim["measured"] / claim["published"])) for claim in judged}


def main() -> None:
    parser = argparse.ArgumentParser(description="Searches settings that come nearest to published figures.")
    parser.add_argument("--scenario", default="ppm-fit")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    claims = [claim["id"] for claim in pagemill.run(given.scenario).claims if claim["published"]]

    def objective(trial: optuna.Trial) -> list[float]:
        try:
            found = distances(pagemill.run(given.scenario, setting(trial)))
            return [found[claim] for claim in claims]
        except (pagemill.InputError, pagemill.RunError, KeyError) as error:
            raise optuna.TrialPruned(str(error)) from error

    study = optuna.create_study(directions=["minimize"] * len(claims), sampler=optuna.samplers.TPESampler(seed=given.seed))
    study.optimize(objective, n_trials=given.trials)
    for best in sorted(study.best_trials, key=lambda best: math.hypot(*best.values)):
        off = ", ".join(f"{claim} {math.exp(distance):.2f}x" for claim, distance in zip(claims, best.values))
        print(f"#{best.number}: {best.params}\n    off by {off}")


if __name__ == "__main__":
    main()
