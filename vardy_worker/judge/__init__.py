"""The judge: one model behind `classify` and `ai` inside programs, with a cache and a budget.

    ask ─▶ cache ─▶ what the budget covers ─▶ ╭ calls, all at once ─▶ answers ─▶ cache ╮ ─▶ answers
                                              ╰───── what could not be used, smaller ◀─╯

Whatever a text says and whatever a model answers: one label for each text comes back, out of
the labels that were asked for and `unknown`.
"""

from vardy_worker.judge.judge import ModelJudge

__all__ = ["ModelJudge"]
